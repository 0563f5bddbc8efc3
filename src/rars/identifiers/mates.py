"""Items that training queries bring together: who shares a query with whom, at which grade.

Owns: the training positives sorted so that a query's items, and those of one grade among them, are ranges;
and drawing from these ranges for a whole batch at once. Ignores what is done with the pairs (the terms
``query-mates``, ``grade-triplets``, ``query-alignment``, ``pair-contrast``; the learner
``category-clusters``).

A *place* is a row of the sorted pairs; -1 stands for none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.arrays import Ints, Longs
from rars.data import Dataset
from rars.identifiers.keys import grouped

NONE = -1


@dataclass(frozen=True, eq=False)
class Mates:
    """Training pairs sorted by query and falling grade.

    ``query``, ``item``, ``grade``  (pairs,)
    ``of_query``, ``of_grade``      (pairs, 2) where the places of a pair's query begin and end, and those of
                                    its query and grade
    ``pointers``, ``places``        the places of item i are ``places[pointers[i] : pointers[i + 1]]``
    """

    query: Ints
    item: Ints
    grade: npt.NDArray[np.float32]
    of_query: Longs
    of_grade: Longs
    pointers: Longs
    places: Longs

    @classmethod
    def of(cls, dataset: Dataset, *, split: str = "train") -> Mates:
        """The pairs of positive grade."""
        judged = dataset.judged(split)
        judged = judged.where(judged.grade > 0)
        order = np.lexsort((judged.item, -judged.grade, judged.query))
        query, item, grade = judged.query[order], judged.item[order], judged.grade[order]
        level = np.unique(grade, return_inverse=True)[1]
        falling = level.max(initial=0) - level
        steps = query.astype(np.int64) * (int(level.max(initial=0)) + 1) + falling
        places = np.argsort(item, kind="stable")
        pointers = np.searchsorted(item[places], np.arange(dataset.n_items + 1))
        return cls(query, item, grade, _ranges(query), _ranges(steps), pointers, places)

    def __len__(self) -> int:
        return len(self.query)

    @property
    def best(self) -> npt.NDArray[np.bool_]:
        """(pairs,) whether a pair has the highest grade there is: an exact match."""
        return np.asarray(self.grade == self.grade.max(initial=0))

    def exact(self) -> Mates:
        """The pairs of the highest grade alone."""
        kept = np.flatnonzero(self.best)
        query, item, grade = self.query[kept], self.item[kept], self.grade[kept]
        places = np.argsort(item, kind="stable")
        pointers = np.searchsorted(item[places], np.arange(len(self.pointers)))
        ranges = _ranges(query)
        return Mates(query, item, grade, ranges, ranges, pointers, places)

    def drawn(self, items: Ints, rng: np.random.Generator) -> Longs:
        """(items,) a place of each item, which says one of its queries; -1 where it has none."""
        first, count = self.pointers[items], np.diff(self.pointers)[items]
        pick = first + (rng.random(len(items)) * count).astype(np.int64)
        found = np.full(len(items), NONE, dtype=np.int64)
        found[count > 0] = self.places[pick[count > 0]]
        return found

    def mates(self, places: Longs, rng: np.random.Generator) -> Longs:
        """(places,) another place of the same query; -1 where there is none."""
        return _another(places, self.of_query, None, rng)

    def peers(self, places: Longs, rng: np.random.Generator) -> Longs:
        """(places,) another place of the same query and grade; -1 where there is none."""
        return _another(places, self.of_grade, None, rng)

    def others(self, places: Longs, rng: np.random.Generator) -> Longs:
        """(places,) a place of the same query and another grade; -1 where there is none."""
        return _another(places, self.of_query, self.of_grade, rng)

    def neighbours(self) -> tuple[Longs, Longs]:
        """All pairs of items that share a query, once in each direction: (item, other), sorted by item."""
        begin, end = self.of_query.T
        count = end - begin
        one = np.repeat(np.arange(len(self)), count)
        within = np.arange(len(one)) - np.repeat(np.cumsum(count) - count, count)
        pairs = np.stack([self.item[one], self.item[begin[one] + within]], axis=1)
        pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)


def _ranges(keys: Ints | Longs) -> Longs:
    """(n, 2) where the run of equal keys that each belongs to begins and ends; keys ascend."""
    groups = grouped(keys.astype(np.int64))
    begin = groups.starts[groups.member] if len(keys) else np.zeros(0, dtype=np.int64)
    count = groups.counts[groups.member] if len(keys) else np.zeros(0, dtype=np.int64)
    return np.stack([begin, begin + count], axis=1)


def _another(
    places: Longs, ranges: Longs, without: Longs | None, rng: np.random.Generator
) -> Longs:
    """A random place of each place's range that is not in its range of ``without``; -1 where all are.

    ``ranges`` and ``without`` are (pairs, 2); left out, the place itself is what is not drawn.
    """
    chance = rng.random(len(places))
    known = np.flatnonzero(places != NONE)
    own = places[known]
    found = np.full(len(places), NONE, dtype=np.int64)
    begin, end = ranges[own].T
    low, high = (own, own + 1) if without is None else without[own].T
    left = (end - begin) - (high - low)
    at = begin + (chance[known] * left).astype(np.int64)
    at = np.where(at >= low, at + (high - low), at)
    found[known[left > 0]] = at[left > 0]
    return found
