"""Weights by likelihood: how much each of several scores of an item counts in their sum.

Owns: the fit, for whatever adds scores up: the rule ``hybrid`` and the fusions, so that all are tuned in the
same way. Ignores where candidates and their scores come from. Needs NumPy alone.

A query has candidates d with scores x(d), one a part, and shares of relevance mu(d|q). The weights w are
those under which a softmax over the candidates gives the relevant ones what they deserve:

    L(w) = 1/n [ sum_q -sum_d mu(d|q) log p(d|q)  +  rho/2 |w - (w.e) e|^2  +  eps/2 |w|^2 ],   w >= 0,
    p(d|q) ~ exp(w . x(d))

where each part is measured in its own deviation among the candidates of a query, and e are the usual weights,
of length one. So weights shrink towards the *proportions* of the usual ones, whose common scale is free; the
small eps keeps it finite where some part puts every relevant item first. rho counts queries, those that would
speak for the usual weights, and is chosen by cross-validation. L is convex, its minimum the only one, and a
Newton method that keeps to w >= 0 finds it in a few steps: no start and no seed matter.

Scores may be shifted within a query, and a part scaled along with its usual weight: nothing changes. A query
that tells nothing (no relevant candidate, a single one, a score that is no number) is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Floats, Ints
from rars.errors import RarsError

STRENGTHS = (0.3, 3.0, 30.0, 300.0)
"""rho: those that cross-validation chooses from; the last without queries to tell."""
FOLDS = 5
FINITE = 0.01
"""eps."""
EACH = 100
"""Items that each part puts forward as candidates."""

_STEPS, _HALVES = 100, 40
_DONE = 1e-16


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of n queries, one query after the other.

    ``pointers``  (n + 1,) where the candidates of each query begin
    ``scores``    (candidates, parts) what each part says of them
    ``gains``     (candidates,) how relevant they are; 0 where they are not
    """

    pointers: Ints
    scores: Floats
    gains: Floats

    @classmethod
    def of(cls, n: int, query: Ints, scores: npt.ArrayLike, gains: npt.ArrayLike) -> Candidates:
        """From candidates in the order of their queries (candidates,), numbered from 0."""
        pointers = np.append(0, np.cumsum(np.bincount(query, minlength=n))).astype(np.int64)
        return cls(pointers, np.asarray(scores, np.float64), np.asarray(gains, np.float64))

    @classmethod
    def joined(cls, blocks: Sequence[Candidates]) -> Candidates:
        """The candidates of several blocks of queries, one block after the other."""
        lengths = np.concatenate([np.diff(one.pointers) for one in blocks])
        return cls(
            np.append(0, np.cumsum(lengths)).astype(np.int64),
            np.concatenate([one.scores for one in blocks]),
            np.concatenate([one.gains for one in blocks]),
        )

    def __len__(self) -> int:
        return len(self.pointers) - 1

    @property
    def owner(self) -> Ints:
        """(candidates,) the query of each."""
        return np.repeat(np.arange(len(self)), np.diff(self.pointers))

    def where(self, queries: Bools) -> Candidates:
        """The queries that are marked (n,)."""
        kept = queries[self.owner]
        lengths = np.diff(self.pointers)[queries]
        pointers = np.append(0, np.cumsum(lengths)).astype(np.int64)
        return Candidates(pointers, self.scores[kept], self.gains[kept])

    def telling(self) -> Candidates:
        """Without the queries that tell nothing."""
        owner, n = self.owner, len(self)
        fine = np.isfinite(self.scores).all(axis=1) & np.isfinite(self.gains) & (self.gains >= 0)
        broken = np.bincount(owner[~fine], minlength=n) > 0
        relevant = np.bincount(owner[self.gains > 0], minlength=n)
        tells = (relevant > 0) & (np.diff(self.pointers) > 1) & ~broken
        return self if tells.all() else self.where(tells)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Weights, in the order of the parts, and what they were fitted on.

    ``strength``  rho
    ``queries``   that told something; none: these are the usual weights
    ``loss``      the mean negative log-likelihood of a query, without shrinkage
    """

    weights: Floats
    strength: float
    queries: int
    loss: float


def fit(candidates: Candidates, usual: Sequence[float], *, strength: float | None = None) -> Fitted:
    """The weights of the parts; ``usual`` are those they shrink to, ``strength`` None is cross-validated.

    >>> scores = [[1.0, 0.1], [0.0, 0.9], [0.2, 0.0], [0.9, 0.3], [0.1, 0.2], [0.0, 0.4]]
    >>> two = Candidates.of(2, np.repeat([0, 1], 3), scores, [1, 0, 0, 1, 0, 0])
    >>> bool(np.diff(fit(two, [1.0, 1.0], strength=1.0).weights)[0] < 0)  # the first part knows
    True
    """
    start = np.asarray(usual, dtype=np.float64)
    _check(candidates, start, strength)
    known = candidates.telling()
    spread = _spread(known)
    speaks = spread > 0  # a part that says the same of all candidates keeps its usual share
    if not len(known) or not speaks.any() or not (start[speaks] > 0).any():
        return Fitted(start, STRENGTHS[-1] if strength is None else strength, 0, float("nan"))
    problem = _Problem.of(known, spread[speaks], speaks)
    toward = start[speaks] * spread[speaks]
    length = float(np.linalg.norm(toward))
    toward = toward / length
    rho = _chosen(problem, toward) if strength is None else strength
    found = problem.minimum(toward, rho)
    weights = start * (float(found @ toward) / length)
    weights[speaks] = found / spread[speaks]
    return Fitted(weights, rho, len(known), problem.loss(found))


def _chosen(problem: _Problem, toward: Floats) -> float:
    """The strength whose weights are likeliest on queries that they were not fitted on."""
    folds = min(FOLDS, problem.queries)
    if folds < 2:
        return STRENGTHS[-1]
    fold = np.arange(problem.queries) % folds
    lost = np.zeros(len(STRENGTHS))
    for one in range(folds):
        rest, out = problem.where(fold != one), problem.where(fold == one)
        for at, strength in enumerate(STRENGTHS):
            lost[at] += out.loss(rest.minimum(toward, strength)) * out.queries
    # Among equals (but for rounding) the stronger: it asks for less.
    equals = np.flatnonzero(lost <= lost.min() + 1e-9 * (1 + abs(lost.min())))
    return STRENGTHS[int(equals[-1])]


def _spread(candidates: Candidates) -> Floats:
    """The deviation of each part among the candidates of a query, over all queries alike."""
    if not len(candidates):
        return np.zeros(candidates.scores.shape[1])
    first, counts = candidates.pointers[:-1], np.diff(candidates.pointers)
    away = candidates.scores - _means(candidates.scores, first, counts)[candidates.owner]
    found = np.sqrt(_means(away**2, first, counts).mean(axis=0))
    # What is left of equal scores by rounding is no deviation.
    return np.asarray(np.where(found > 1e-9 * np.abs(candidates.scores).max(axis=0), found, 0.0))


def _means(values: Floats, first: Ints, counts: Ints) -> Floats:
    return np.asarray(np.add.reduceat(values, first, axis=0) / counts[:, None])


@dataclass(frozen=True, eq=False)
class _Problem:
    """The likelihood in parts of deviation one: (candidates, parts) scores, (candidates,) mu."""

    first: Ints
    counts: Ints
    scores: Floats
    share: Floats

    @classmethod
    def of(cls, candidates: Candidates, spread: Floats, speaks: Bools) -> _Problem:
        first, counts = candidates.pointers[:-1], np.diff(candidates.pointers)
        scores = candidates.scores[:, speaks] / spread
        scores = scores - _means(scores, first, counts)[candidates.owner]
        mass = np.add.reduceat(candidates.gains, first)
        return cls(first, counts, scores, candidates.gains / mass[candidates.owner])

    @property
    def queries(self) -> int:
        return len(self.first)

    @property
    def owner(self) -> Ints:
        return np.repeat(np.arange(self.queries), self.counts)

    def where(self, queries: Bools) -> _Problem:
        kept, counts = queries[self.owner], self.counts[queries]
        return _Problem(np.cumsum(counts) - counts, counts, self.scores[kept], self.share[kept])

    def loss(self, weights: Floats) -> float:
        """The mean negative log-likelihood of a query."""
        total = self.scores @ weights
        return float(-(self.share @ (total - self._normaliser(total))) / self.queries)

    def _normaliser(self, total: Floats) -> Floats:
        """The logarithm of the sum over the candidates of its query, of each candidate."""
        highest = np.maximum.reduceat(total, self.first)
        sums = np.add.reduceat(np.exp(total - np.repeat(highest, self.counts)), self.first)
        return np.repeat(highest + np.log(sums), self.counts)

    def slopes(self, weights: Floats) -> tuple[Floats, Floats]:
        """Gradient (parts,) and curvature (parts, parts) of ``loss``."""
        total = self.scores @ weights
        chance = np.exp(total - self._normaliser(total))
        expected = np.add.reduceat(chance[:, None] * self.scores, self.first, axis=0)
        gradient = expected.sum(axis=0) - self.share @ self.scores
        curved = self.scores.T @ (chance[:, None] * self.scores) - expected.T @ expected
        return gradient / self.queries, curved / self.queries

    def minimum(self, toward: Floats, strength: float) -> Floats:
        """The weights of least loss and shrinkage: Newton steps that never leave w >= 0."""
        away = strength * (np.eye(len(toward)) - np.outer(toward, toward))
        pull = (away + FINITE * np.eye(len(toward))) / self.queries

        def value(weights: Floats) -> float:
            return self.loss(weights) + 0.5 * float(weights @ pull @ weights)

        weights = toward.copy()
        reached = value(weights)
        for _ in range(_STEPS):
            gradient, curved = self.slopes(weights)
            gradient, curved = gradient + pull @ weights, curved + pull
            step = _lowest(curved, curved @ weights - gradient) - weights
            promised = float(gradient @ step)
            if promised > -_DONE:
                break
            for size in 0.5 ** np.arange(_HALVES):
                now = value(weights + size * step)
                if now <= reached + 1e-4 * size * promised:
                    break
            else:
                break  # no step is better than rounding
            weights, reached = np.maximum(weights + size * step, 0.0), now
        return weights


def _lowest(curved: Floats, slope: Floats) -> Floats:
    """The v >= 0 with the lowest v C v / 2 - slope v, C positive definite (Lawson and Hanson 1974)."""
    found, free = np.zeros_like(slope), np.zeros(len(slope), dtype=bool)
    for _ in range(3 * len(slope)):
        wanted = np.where(free, 0.0, slope - curved @ found)
        if wanted.max() <= 1e-12 * np.abs(slope).max():
            break
        free[int(np.argmax(wanted))] = True
        while True:
            best = np.zeros_like(slope)
            best[free] = np.linalg.solve(curved[np.ix_(free, free)], slope[free])
            out = free & (best <= 0)
            if not out.any():
                break
            # As far as the first of them reaches 0, which then stays there.
            share = found[out] / (found[out] - best[out])
            found = found + share.min() * (best - found)
            free[np.flatnonzero(out)[share == share.min()]] = False
            found[~free] = 0.0
        found = best
    return found


def _check(candidates: Candidates, usual: Floats, strength: float | None) -> None:
    parts = candidates.scores.shape[1]
    if usual.shape != (parts,):
        raise RarsError(f"A fit of {parts} parts got {usual.size} usual weights.")
    if not np.isfinite(usual).all() or (usual < 0).any() or not usual.any():
        raise RarsError(f"Usual weights must be 0 or more and not all 0, not {usual.tolist()}.")
    if strength is not None and not (np.isfinite(strength) and strength >= 0):
        raise RarsError(f"The strength of a fit must be 0 or more, not {strength}.")
