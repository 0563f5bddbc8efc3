"""Recall, nDCG and reciprocal rank, per query first and for all queries at once.

Owns: the definitions of the paper's "Retrieval metrics". Works on items, or on identifiers when both ranking
and truth are given at that level. Ignores files and statistics.

Recall@K = |top K and G_q| / |G_q|                       nDCG@K = DCG@K / IDCG@K
DCG@K = sum over places j = 1..K of gain(j) / log2(j + 1)   IDCG@K: of the best possible order
MRR@K = 1 / (place of the first relevant item), 0 if none is among the first K

A query that returns fewer than K results is judged by what it returned; one that is missing from the ranking
scores 0. Only relevant items that were found are looked at, so the work grows with hits, not with K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles, Ints
from rars.errors import RarsError
from rars.evaluation.ranking import Ranking
from rars.evaluation.truth import Truth
from rars.systems import Ranked

Kind = Literal["Recall", "nDCG", "MRR"]


@dataclass(frozen=True)
class Measure:
    """A measure and the place K it is cut at.

    >>> Measure.parse("nDCG@10")
    Measure(kind='nDCG', k=10)
    """

    kind: Kind
    k: int

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.kind}@{self.k}"

    @classmethod
    def parse(cls, name: str) -> Measure:
        """Read a name such as ``Recall@100``."""
        kind, _, k = name.partition("@")
        known = {one.casefold(): one for one in get_args(Kind)}
        if kind.casefold() not in known or not k.isdecimal() or int(k) < 1:
            raise RarsError(
                f"Unknown measure {name!r}; write {', '.join(get_args(Kind))} and a place, "
                "as in Recall@100."
            )
        return cls(known[kind.casefold()], int(k))


MEASURES = (
    Measure("Recall", 5),
    Measure("Recall", 10),
    Measure("Recall", 100),
    Measure("nDCG", 10),
    Measure("nDCG", 100),
    Measure("MRR", 100),
)


@dataclass(frozen=True, eq=False)
class PerQuery:
    """Measures of every query that has something to find.

    ``queries``     (n,) row numbers of the dataset's queries
    ``values``      measure name -> (n,) values between 0 and 1
    ``left_out``    queries of the split without a relevant item: in no mean
    ``unanswered``  of the ``queries``, how many got no result at all (they count 0)
    """

    queries: npt.NDArray[np.int32]
    values: Mapping[str, Doubles]
    left_out: int = 0
    unanswered: int = 0

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def names(self) -> tuple[str, ...]:
        """The measures, in order."""
        return tuple(self.values)

    def mean(self, name: str) -> float:
        """The mean over queries."""
        return float(self.matrix([name]).mean())

    def matrix(self, names: Iterable[str] | None = None) -> Doubles:
        """Values as (n, measures)."""
        chosen = tuple(names) if names is not None else self.names
        for name in chosen:
            if name not in self.values:
                raise RarsError(f"{name} was not measured; there is {', '.join(self.names)}.")
        if not len(self):
            raise RarsError("No query has a relevant item, so there is nothing to average.")
        return np.stack([self.values[name] for name in chosen], axis=1)

    def beside(self, other: PerQuery) -> PerQuery:
        """The measures of both, for the same queries."""
        if not np.array_equal(self.queries, other.queries):
            raise RarsError("Measures of different queries cannot be put side by side.")
        values = {**self.values, **other.values}
        return PerQuery(self.queries, values, self.left_out, self.unanswered)

    def of(self, queries: Ints) -> PerQuery:
        """Only these queries (such as the unseen ones); the counts stay those of the whole split."""
        keep = np.isin(self.queries, queries)
        values = {name: column[keep] for name, column in self.values.items()}
        return PerQuery(self.queries[keep], values, self.left_out, self.unanswered)

    def as_dict(self) -> dict[str, Any]:
        """Counts and means as plain JSON values."""
        return {
            "queries": len(self),
            "left_out": self.left_out,
            "unanswered": self.unanswered,
            "means": {name: self.mean(name) for name in self.names} if len(self) else {},
        }


@dataclass(frozen=True, eq=False)
class Hits:
    """The relevant items that were found: (hits,) query row, place from 0, and gain."""

    row: Ints
    place: Ints
    gain: Doubles


def measure(
    ranking: Ranking,
    truth: Truth,
    measures: Sequence[Measure] = MEASURES,
    *,
    prefix: str = "",
) -> PerQuery:
    """Measure a ranking per query; ``prefix`` goes before each name (such as ``"SID "``).

    >>> from rars.data import Judgments
    >>> judged = Judgments.merged(np.array([0, 0]), np.array([1, 2]), np.array([3., 1.]))
    >>> ranking = Ranking.of([0], Ranked.of_lists([[5, 1]]))
    >>> found = measure(ranking, Truth.of_judgments(judged, np.array([0]), size=6))
    >>> found.mean("Recall@5"), found.mean("MRR@100")
    (0.5, 0.5)
    """
    hits, unanswered = match(ranking, truth)
    values = {prefix + one.name: _compute(one, hits, truth) for one in measures}
    return PerQuery(truth.queries, values, truth.left_out, unanswered)


def match(ranking: Ranking, truth: Truth) -> tuple[Hits, int]:
    """The relevant items that a ranking found, and how many queries of the truth got no result."""
    row = rows_in(ranking, truth)
    ranked = ranking.ranked
    shown = row[ranked.owner]
    keep = shown >= 0
    place, item = ranked.places[keep], ranked.items[keep].astype(np.int64)
    shown = shown[keep]
    if (item >= truth.size).any():
        raise RarsError(f"The ranking names item number {item.max()} of only {truth.size}.")
    at, hit = _find(truth.keys, shown * truth.size + item)
    answered = len(np.unique(shown))
    return Hits(shown[hit], place[hit], truth.gain[at[hit]]), len(truth) - answered


def rows_in(ranking: Ranking, truth: Truth) -> npt.NDArray[np.int64]:
    """For each query of the ranking its row in the truth, or -1 where it has nothing to find."""
    at, known = _find(truth.queries, ranking.queries)
    if len(truth) and not known.any():
        raise RarsError(
            f"The ranking answers none of the {len(truth)} queries that have a relevant item; "
            "is it of another split?"
        )
    return np.where(known, at, -1)


def quality(truth: Truth, queries: npt.ArrayLike, chosen: Measure) -> Callable[[Ranked], float]:
    """The mean of one measure as a function of results for these queries (for choosing settings)."""

    def mean(ranked: Ranked) -> float:
        return measure(Ranking.of(queries, ranked), truth, [chosen]).mean(chosen.name)

    return mean


def _find(
    known: npt.NDArray[Any], wanted: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """(m,) where each of ``wanted`` (m,) stands in the sorted ``known``, and (m,) whether it is there."""
    at = np.searchsorted(known, wanted)
    if not len(known):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), dtype=bool)
    at = np.minimum(at, len(known) - 1)
    return at, known[at] == wanted


def _compute(one: Measure, hits: Hits, truth: Truth) -> Doubles:
    above = hits.place < one.k
    row, place = hits.row[above], hits.place[above]
    n = len(truth)
    if one.kind == "Recall":
        return np.asarray(np.bincount(row, minlength=n) / truth.counts)
    if one.kind == "MRR":
        first = np.full(n, np.inf)
        np.minimum.at(first, row, place.astype(np.float64))
        return np.asarray(1 / (1 + first))
    reached = _discounted(row, place, hits.gain[above], n)
    ideal = _ideal(truth, one.k)
    return np.divide(reached, ideal, out=np.zeros(n), where=ideal > 0)


def _ideal(truth: Truth, k: int) -> Doubles:
    """IDCG@k: all relevant items in order of falling gain."""
    order = np.lexsort((-truth.gain, truth.row))
    row = truth.row[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    above = place < k
    return _discounted(row[above], place[above], truth.gain[order][above], len(truth))


def _discounted(row: Ints, place: Ints, gain: Doubles, n: int) -> Doubles:
    return np.bincount(row, weights=gain / np.log2(place + 2.0), minlength=n).astype(np.float64)
