"""How a model divides probability at branching prefixes, set beside how relevance divides there.

Owns: the measures of the paper's "Prediction alignment" at every ambiguous parent, their means over queries,
the stratified sample of queries, and the regression on ambiguity. Ignores where scores come from
(``rars.search.choices``) and how results are shown (``rars.analysis.alignment``).

At a parent u with at least two relevant children, over its catalogue-legal children v:
target      t(v) = mu_l(v|u,q), grades 3/2/1
prediction  p(v) = softmax of the scores; AR: the decoder's logits, all-level: the same plus lambda F_t(v, q)
JS          (KL(t || m) + KL(p || m)) / 2 with m = (t + p) / 2, in nats
Support     sum of p(v) over the children that hold relevance
Parents of one query and depth are weighted by mu_{l-1}(u|q), normalised over those that are included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles, Ints, Longs
from rars.errors import RarsError
from rars.search.choices import Choices
from rars.tree import Ambiguity, PrefixTree, Projection

COUNTS = (1, 2, 4, 8, 16)
"""Where the strata of positive counts begin: 1, 2-3, 4-7, 8-15, 16 and more."""


@dataclass(frozen=True, eq=False)
class Parents:
    """Ambiguous parents, p in all; two systems are measured at each: ``ar`` and ``all`` levels.

    ``row``        (p,) the query's row; ``depth`` (p,) that of its children: 1 for the root
    ``mass``       (p,) mu_{l-1}(u|q)
    ``ambiguity``  (p,) entropy of the target over log |Ch(u)|
    ``relevant``   (p,) children that hold relevance; ``legal`` (p,) all of them
    ``js_ar``, ``js_all``, ``support_ar``, ``support_all``  (p,)
    """

    row: Longs
    depth: Longs
    mass: Doubles
    ambiguity: Doubles
    relevant: Longs
    legal: Longs
    js_ar: Doubles
    js_all: Doubles
    support_ar: Doubles
    support_all: Doubles

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def joined(cls, parts: Sequence[Parents]) -> Parents:
        """The parents of several depths, or of several datasets whose rows were set apart."""
        return cls(
            *(np.concatenate([getattr(one, field.name) for one in parts]) for field in fields(cls))
        )


def measured(
    tree: PrefixTree, projection: Projection, choices: Sequence[Choices], depths: int
) -> Parents:
    """The measures at every ambiguous parent of the first ``depths`` refinements.

    ``choices[l]`` are those at every relevance-bearing node of depth l, in the order of the projection.
    """
    return Parents.joined(
        [_at_depth(tree, projection, choices[depth - 1], depth) for depth in range(1, depths + 1)]
    )


def _at_depth(tree: PrefixTree, projection: Projection, found: Choices, depth: int) -> Parents:
    above = projection.levels[depth - 1]
    branching = projection.branching(depth)
    several = np.flatnonzero(branching > 1)
    target = _targets(tree, projection, found, depth)
    # Only the children of ambiguous parents stay, and parents are numbered anew.
    place = np.full(len(above.mass), -1, dtype=np.int64)
    place[several] = np.arange(len(several))
    keep = np.flatnonzero(place[found.parent] >= 0)
    owner, target = place[found.parent[keep]], target[keep]
    plain = softmax(found.model[keep], owner, len(several))
    scored = softmax(found.model[keep] + found.evidence[keep], owner, len(several))
    legal = np.bincount(owner, minlength=len(several))
    entropy = grouped(-_xlogy(target, target), owner, len(several))
    holds = target > 0
    return Parents(
        row=above.row[several].astype(np.int64),
        depth=np.full(len(several), depth, dtype=np.int64),
        mass=above.mass[several],
        ambiguity=entropy / np.log(legal),
        relevant=branching[several].astype(np.int64),
        legal=legal.astype(np.int64),
        js_ar=jensen_shannon(target, plain, owner, len(several)),
        js_all=jensen_shannon(target, scored, owner, len(several)),
        support_ar=grouped(np.where(holds, plain, 0.0), owner, len(several)),
        support_all=grouped(np.where(holds, scored, 0.0), owner, len(several)),
    )


def _targets(tree: PrefixTree, projection: Projection, found: Choices, depth: int) -> Doubles:
    """mu_l(v|u,q) of every legal child; entries and choices are both sorted by parent and node."""
    level = projection.levels[depth]
    size = tree.n_nodes(depth)
    wanted = found.parent * size + found.child
    known = level.parent.astype(np.int64) * size + level.node
    target = np.zeros(len(wanted))
    target[np.searchsorted(wanted, known)] = projection.conditional(depth)
    return target


def softmax(scores: Doubles, owner: Longs, groups: int) -> Doubles:
    """Softmax inside groups; ``owner`` (n,) says whose each score is.

    >>> softmax(np.log([1.0, 3.0, 5.0]), np.array([0, 0, 1]), 2).round(2).tolist()
    [0.25, 0.75, 1.0]
    """
    highest = np.full(groups, -np.inf)
    np.maximum.at(highest, owner, scores)
    weight = np.exp(scores - highest[owner])
    return np.asarray(weight / grouped(weight, owner, groups)[owner])


def jensen_shannon(target: Doubles, prediction: Doubles, owner: Longs, groups: int) -> Doubles:
    """JS divergence, in nats, of two distributions inside each group.

    >>> one = np.array([1.0, 0.0])
    >>> jensen_shannon(one, one[::-1], np.zeros(2, dtype=int), 1).round(4).tolist()  # log 2
    [0.6931]
    """
    middle = (target + prediction) / 2
    terms = (_xlogy(target, target) + _xlogy(prediction, prediction)) / 2 - _xlogy(middle, middle)
    # Rounding may leave equal distributions a hair below zero.
    return np.maximum(grouped(terms, owner, groups), 0.0)


def grouped(values: Doubles, owner: Ints, groups: int) -> Doubles:
    """Sums inside groups."""
    return np.bincount(owner, values, groups).astype(np.float64, copy=False)


def _xlogy(x: Doubles, y: Doubles) -> Doubles:
    """X log y, zero where x is."""
    return np.asarray(x * np.log(np.where(x > 0, y, 1.0)))


# -- means over queries ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PerQuery:
    """Query means at one depth: ``rows`` (n,) the queries with an ambiguous parent there.

    ``js``, ``support``  (n, 2): AR-only and all-level
    """

    depth: int
    rows: Longs
    js: Doubles
    support: Doubles

    @property
    def reduction(self) -> Doubles:
        """(n,) by how much all-level scoring lowers JS."""
        return np.asarray(self.js[:, 0] - self.js[:, 1])

    @property
    def gain(self) -> Doubles:
        """(n,) by how much it raises the probability of relevant children."""
        return np.asarray(self.support[:, 1] - self.support[:, 0])


def by_query(parents: Parents, depth: int) -> PerQuery:
    """Means over a query's ambiguous parents of one depth, weighted by relevance mass."""
    here = np.flatnonzero(parents.depth == depth)
    rows, owner = np.unique(parents.row[here], return_inverse=True)
    mass = parents.mass[here]
    total = grouped(mass, owner, len(rows))

    def mean(*names: str) -> Doubles:
        columns = [
            grouped(mass * getattr(parents, name)[here], owner, len(rows)) / total for name in names
        ]
        return np.stack(columns, axis=1)

    return PerQuery(depth, rows, mean("js_ar", "js_all"), mean("support_ar", "support_all"))


# -- the sample ------------------------------------------------------------------------------------


def strata(measured: Ambiguity, positives: Longs) -> Longs:
    """The stratum of each query: ambiguity (none, lower half, upper half of the rest) x positive count."""
    total = measured.entropy.sum(axis=1)
    some = total > 0
    middle = np.median(total[some]) if some.any() else 0.0
    level = some.astype(np.int64) + (total > middle)
    size = np.searchsorted(COUNTS, positives, side="right")
    return np.asarray(level * (len(COUNTS) + 1) + size)


def stratified(stratum: npt.ArrayLike, size: int, seed: int) -> Longs:
    """Sorted places of ``size`` members, drawn from every stratum in proportion (largest remainders).

    >>> drawn = stratified([0] * 30 + [1] * 10, 8, seed=1)
    >>> (drawn < 30).sum(), (drawn >= 30).sum()
    (np.int64(6), np.int64(2))
    """
    of = np.asarray(stratum)
    if len(of) <= size:
        return np.arange(len(of), dtype=np.int64)
    _, member, counts = np.unique(of, return_inverse=True, return_counts=True)
    exact = counts * (size / len(of))
    share = np.floor(exact).astype(np.int64)
    rest = np.argsort(-(exact - share), kind="stable")[: size - int(share.sum())]
    share[rest] += 1
    # Members of a stratum in a random order; the first of each are drawn.
    shuffled = np.random.default_rng(seed).permutation(len(of))
    order = shuffled[np.argsort(member[shuffled], kind="stable")]
    place = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[place < share[member[order]]])


# -- regression ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coefficient:
    """What one standard deviation of normalised ambiguity goes with, and its query-clustered interval."""

    value: float
    low: float
    high: float
    p: float


def regression(parents: Parents, locale: Ints, outcome: Doubles) -> Coefficient:
    """Ordinary least squares of an outcome at ambiguous parents on their standardised ambiguity.

    Controls: relevant children, legal children, depth and locale (the last two as categories). Residuals of
    one query may depend on each other: intervals are clustered by query (``parents.row``, distinct over
    locales).
    """
    import statsmodels.api as sm

    design = _design(parents, locale)
    clusters = len(np.unique(parents.row))
    if clusters < 3 or len(parents) <= design.shape[1]:
        raise RarsError(
            f"A regression needs more than {clusters} queries with an ambiguous parent."
        )
    fitted = sm.OLS(outcome, design).fit(cov_type="cluster", cov_kwds={"groups": parents.row})
    low, high = fitted.conf_int()[0]
    return Coefficient(float(fitted.params[0]), float(low), float(high), float(fitted.pvalues[0]))


def _design(parents: Parents, locale: Ints) -> Doubles:
    """Standardised ambiguity first, then controls and the intercept; columns that never vary are left out."""
    spread = parents.ambiguity.std()
    scaled = (parents.ambiguity - parents.ambiguity.mean()) / (spread or 1.0)
    columns = [parents.relevant.astype(np.float64), parents.legal.astype(np.float64)]
    columns = [one for one in columns if np.ptp(one) > 0]
    for label in (parents.depth, np.asarray(locale)):
        columns += [(label == one).astype(np.float64) for one in np.unique(label)[1:]]
    return np.stack([scaled, *columns, np.ones(len(parents))], axis=1)
