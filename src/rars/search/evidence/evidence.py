"""A score for every item, and its exact maximum below every prefix.

Owns: f(q, d) as sparse or dense scores, F_t(u, q) = max of f over the items below u (Eq. rars-score uses it),
and weighted sums of such scores. Ignores where scores come from: the paper's compatibility, BM25 and dense
similarity all become an ``Evidence``. Needs NumPy alone.

Items are in SID order (``PrefixTree.order``), so a prefix is a range of them. Sparse evidence keeps only the
items that match something; all others share one ``baseline``. Maxima go up from the matched items, level by
level: a node's is the best of its listed children, and of the baseline if it has a child that is not listed.
That is exact for any signs, and costs the matched items, not the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Floats
from rars.arrays import Ints as Positions
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.lists import PostingList

CROWDED = 4
"""Evidence that matches more than one in so many items is kept densely."""


class Match(NamedTuple):
    """One reason for an item's score: what was looked for, and whether the item has it."""

    kind: str
    text: str
    matched: bool


@dataclass(frozen=True, eq=False)
class Reason:
    """What a query looked for, and lists of the items that have it."""

    kind: str
    text: str
    lists: tuple[PostingList, ...]

    def holds(self, place: int) -> bool:
        """Whether an item, given by its position, has it."""
        return any(one.holds(place) for one in self.lists)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The scores of one query.

    ``positions``  (matched,) sorted positions in SID order; None if every item has a score of its own
    ``scores``     (matched,) their scores, or (items,) of all
    ``baseline``   the score of every item that is not listed

    >>> from rars.tree import PrefixTree
    >>> tree = PrefixTree.build([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> evidence = Evidence.sparse(Ancestry.of(tree), [0, 2, 3], [0.5, -2.0, -3.0], baseline=-1.0)
    >>> evidence.prefix_maxima(1, [0, 1]).tolist(), evidence.prefix_maxima(2, [1, 2]).tolist()
    ([0.5, -2.0], [-1.0, -2.0])
    """

    ancestry: Ancestry
    positions: Positions | None
    scores: Floats
    baseline: float = 0.0
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def sparse(
        cls,
        ancestry: Ancestry,
        positions: npt.ArrayLike,
        scores: npt.ArrayLike,
        baseline: float = 0.0,
    ) -> Evidence:
        """Scores of some items, given by sorted distinct positions; all others have ``baseline``."""
        return cls(
            ancestry,
            np.asarray(positions, dtype=np.int32),
            np.asarray(scores, dtype=np.float64),
            baseline,
        )

    @classmethod
    def from_dense(cls, ancestry: Ancestry, scores: npt.ArrayLike) -> Evidence:
        """A score of every item, in SID order (take ``scores[tree.order]`` of catalogue order)."""
        values = np.asarray(scores)
        if values.shape != (ancestry.tree.n_items,):
            raise ValueError(f"{ancestry.tree.n_items} scores are needed, not {values.shape}.")
        return cls(ancestry, None, values)

    # -- maxima ----------------------------------------------------------------------------------

    def prefix_maxima(self, depth: int, nodes: npt.ArrayLike) -> Floats:
        """F_t(u, q) of any nodes of one depth, in any order."""
        wanted = np.asarray(nodes)
        if self.positions is None:
            return self._range_maxima(depth, wanted)
        listed, best = self._levels[depth]
        if len(wanted) * 8 > self.ancestry.tree.n_nodes(depth):
            # A table over the whole depth is cheaper than a search for each of many nodes.
            table = np.full(self.ancestry.tree.n_nodes(depth), self.baseline, dtype=best.dtype)
            table[listed] = best
            return np.asarray(table[wanted])
        return _looked_up(listed, best, wanted, self.baseline)

    @cached_property
    def _levels(self) -> tuple[tuple[Positions, Floats], ...]:
        """For each depth, the nodes that hold a listed item and their maxima."""
        assert self.positions is not None
        levels = []
        nodes, best = self.positions, self.scores
        dips = bool(len(best)) and best.min() < self.baseline
        for depth in range(self.ancestry.tree.depth, -1, -1):
            nodes = self.ancestry.up[depth][nodes]
            below = len(nodes)
            nodes, best, first = _by_run(np.maximum, nodes, best)
            if dips:
                # Below the baseline, it matters whether an unlisted child is there to win.
                children = np.diff(first, append=below)
                others = children < self.ancestry.fan_out(depth, nodes)
                best = np.where(others, np.maximum(best, self.baseline), best)
            levels.append((nodes, best))
        return tuple(levels[::-1])

    def _range_maxima(self, depth: int, nodes: Positions) -> Floats:
        """Maxima of dense scores over the nodes' item ranges."""
        tree = self.ancestry.tree
        if not len(nodes):
            return np.zeros(0, dtype=self.scores.dtype)
        low, high = tree.item_ranges(depth, nodes)
        counts = high - low
        if counts.sum() * 2 > tree.n_items:
            return self._tables(depth)[nodes]
        first = np.cumsum(counts) - counts
        every = np.repeat(low - first, counts) + np.arange(counts.sum())
        return np.asarray(np.maximum.reduceat(self.scores[every], first))

    def _tables(self, depth: int) -> Floats:
        tree = self.ancestry.tree
        starts, _ = tree.item_ranges(depth, np.arange(tree.n_nodes(depth)))
        return np.asarray(np.maximum.reduceat(self.scores, starts))

    def among(self, marks: Bools) -> Evidence:
        """The same scores over marked items alone (items,), in SID order: no other raises a maximum.

        Asked only about prefixes that hold a marked item. Others count as little as any item does, so they
        never win against one: sparse evidence leaves them out, as its baseline is no more than any score.
        """
        if self.positions is not None and self.scores.min(initial=np.inf) >= self.baseline:
            stays = marks[self.positions]
            return replace(self, positions=self.positions[stays], scores=self.scores[stays])
        every = self.dense()
        return replace(
            self, positions=None, scores=np.where(marks, every, every.min()), baseline=0.0
        )

    # -- items -----------------------------------------------------------------------------------

    def at(self, positions: npt.ArrayLike) -> Floats:
        """f(q, d) of items given by their positions in SID order."""
        wanted = np.asarray(positions)
        if self.positions is None:
            return np.asarray(self.scores[wanted])
        return _looked_up(self.positions, self.scores, wanted, self.baseline)

    def of(self, items: npt.ArrayLike) -> Floats:
        """f(q, d) of items given by their catalogue rows."""
        return self.at(self.ancestry.tree.positions[np.asarray(items)])

    def dense(self) -> Floats:
        """f(q, d) of all items, in SID order."""
        if self.positions is None:
            return self.scores
        every = np.full(self.ancestry.tree.n_items, self.baseline, dtype=self.scores.dtype)
        every[self.positions] = self.scores
        return every

    def explain(self, item: int) -> list[Match]:
        """What the query looked for, and which of it the item (a catalogue row) has."""
        place = int(self.ancestry.tree.positions[item])
        return [Match(r.kind, r.text, r.holds(place)) for r in self.reasons]


def combine(parts: Sequence[tuple[float, Evidence]]) -> Evidence:
    """The weighted sum of the scores, as evidence; sparse unless a part is dense or it gets crowded.

    >>> from rars.tree import PrefixTree
    >>> ancestry = Ancestry.of(PrefixTree.build([[0], [1], [2]]))
    >>> some = Evidence.sparse(ancestry, [1], [1.0], baseline=-0.2)
    >>> combine([(2.0, some), (1.0, Evidence.from_dense(ancestry, [0.0, 0.5, 1.0]))]).scores.tolist()
    [-0.4, 2.5, 0.6]
    """
    if not parts:
        raise ValueError("There is no evidence to combine.")
    ancestry = parts[0][1].ancestry
    sparse = [(weight, part) for weight, part in parts if part.positions is not None]
    total = summed(
        ancestry,
        [(part.positions, weight * (part.scores - part.baseline)) for weight, part in sparse],
        sum(weight * part.baseline for weight, part in sparse),
    )
    dense = [(weight, part) for weight, part in parts if part.positions is None]
    if dense:
        scores = total.dense()
        for weight, part in dense:
            scores = scores + weight * part.scores
        total = Evidence.from_dense(ancestry, scores)
    return replace(total, reasons=tuple(r for _, part in parts for r in part.reasons))


def summed(
    ancestry: Ancestry, lists: Sequence[tuple[Positions | None, Floats]], baseline: float = 0.0
) -> Evidence:
    """``baseline`` plus, for every item, the sum of its values in the lists (sorted distinct positions)."""
    given = [(places, values) for places, values in lists if places is not None and len(places)]
    if not given:
        return Evidence.sparse(ancestry, [], [], baseline)
    places = np.concatenate([places for places, _ in given])
    values = np.concatenate([values for _, values in given])
    if len(places) * CROWDED > ancestry.tree.n_items:
        total = np.bincount(places, values, ancestry.tree.n_items)
        return Evidence.from_dense(ancestry, total + baseline)
    if len(given) > 1:
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
        places, values, _ = _by_run(np.add, places, values)
    return Evidence.sparse(ancestry, places, values + baseline, baseline)


def beam_maxima(
    evidences: Sequence[Evidence | None], depth: int, query: npt.ArrayLike, nodes: npt.ArrayLike
) -> Floats:
    """F_t of the nodes of one beam step of several queries: ``query`` (sorted) says whose each node is.

    The nodes of a query without evidence get 0.
    """
    owner, wanted = np.asarray(query), np.asarray(nodes)
    bounds = np.searchsorted(owner, np.arange(len(evidences) + 1))
    parts = [
        np.zeros(bounds[at + 1] - bounds[at])
        if evidence is None
        else evidence.prefix_maxima(depth, wanted[bounds[at] : bounds[at + 1]])
        for at, evidence in enumerate(evidences)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _by_run(
    ufunc: np.ufunc, numbers: Positions, values: Floats
) -> tuple[Positions, Floats, Positions]:
    """Of sorted numbers: each distinct one, the ``ufunc`` of its values, and where its run begins."""
    begins = np.empty(len(numbers), dtype=bool)
    begins[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    extra = len(numbers) - len(first)
    if not extra:
        return numbers, values, first
    if extra * 8 > len(numbers):
        return numbers[first], ufunc.reduceat(values, first), first
    # Most runs are of one value: work on the others alone.
    best, rest = values[first], np.flatnonzero(~begins)
    ufunc.at(best, np.searchsorted(first, rest, side="right") - 1, values[rest])
    return numbers[first], best, first


def _looked_up(listed: Positions, values: Floats, wanted: Positions, otherwise: float) -> Floats:
    """The value of each wanted number, where the sorted ``listed`` has it."""
    if not len(listed):
        return np.full(wanted.shape, otherwise, dtype=values.dtype)
    at = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
    return np.where(listed[at] == wanted, values[at], otherwise)
