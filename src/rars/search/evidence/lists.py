"""The items that have a term, as a list that is stored once and stays right when the catalogue changes.

Owns: lists of positions with counts, read where they are stored, and where their items stand by now. Ignores
terms, and what having one is worth.

A position is a place in SID order, and every item that comes or goes moves those behind it. Items that stay
keep their order, so a stored list stays sorted: it is read through ``Moves``, and nothing of it is written
anew. What an item's place was is looked up the other way round, so a few items are found in a list of
millions without passing over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rars.arrays import Ints

Positions = npt.NDArray[np.int32]
Counts = npt.NDArray[np.uint8]

GONE = -1


@dataclass(frozen=True, eq=False)
class Moves:
    """Where the items of a catalogue stand after it has changed.

    ``to``     (items before,) the position of each now, or ``GONE``
    ``items``  how many there are now
    """

    to: Positions
    items: int

    @cached_property
    def back(self) -> Positions:
        """(items,) the position of each before, or ``GONE`` for a new one."""
        found = np.full(self.items, GONE, dtype=np.int32)
        stays = np.flatnonzero(self.to != GONE)
        found[self.to[stays]] = stays
        return found

    @cached_property
    def stays(self) -> int:
        """How many items of before are still there."""
        return int(np.count_nonzero(self.to != GONE))

    @property
    def all_stay(self) -> bool:
        """Whether nothing is gone."""
        return self.stays == len(self.to)

    @cached_property
    def rises(self) -> bool:
        """Whether the items that stay keep their order."""
        to = self.to if self.all_stay else self.to[self.to != GONE]
        return bool((to[1:] > to[:-1]).all())

    def then(self, after: Moves) -> Moves:
        """These moves and another change behind them."""
        to = np.array(self.to)
        stays = to != GONE
        to[stays] = after.to[to[stays]]
        return Moves(to, after.items)

    def fits(self, before: int, items: int) -> bool:
        """Whether stored moves can be those of so many items before and now."""
        return (
            self.to.shape == (before,)
            and self.to.dtype == np.int32
            and int(self.to.min(initial=GONE)) >= GONE
            and int(self.to.max(initial=GONE)) < items
            and self.rises
        )


@dataclass(frozen=True, eq=False)
class Run:
    """A stretch of a list as it is stored: sorted ``positions`` with ``counts``.

    ``size``   how many of its items are still there
    ``moves``  of the items since it was stored; None for one that stands as it is
    """

    positions: Positions
    counts: Counts
    size: int
    moves: Moves | None = None

    def now(self) -> tuple[Positions, Counts]:
        """Positions as they are now, and counts."""
        if self.moves is None:
            return self.positions, self.counts
        places = self.moves.to[self.positions]
        if self.size == len(places):
            return places, self.counts
        stays = places != GONE
        return places[stays], self.counts[stays]

    def at(self, places: Ints) -> tuple[Ints, Counts]:
        """Which of some items are listed, and the count of each of those."""
        wanted = places if self.moves is None else self.moves.back[places]
        if not len(self.positions):
            return np.zeros(0, dtype=np.intp), self.counts[:0]
        index = np.minimum(np.searchsorted(self.positions, wanted), len(self.positions) - 1)
        held = np.flatnonzero(self.positions[index] == wanted)
        return held, self.counts[index[held]]


@dataclass(frozen=True, eq=False)
class PostingList:
    """The items that have a term, in runs that share none of them; its length is their number."""

    runs: tuple[Run, ...]

    @classmethod
    def of(cls, positions: Positions, counts: Counts | None = None) -> PostingList:
        """A list of sorted positions that stand as they are; each counts once if not said.

        >>> some = PostingList.of(np.array([2, 5], dtype=np.int32))
        >>> len(some), some.holds(5), some.holds(4)
        (2, True, False)
        """
        given = np.ones(len(positions), dtype=np.uint8) if counts is None else counts
        return cls((Run(positions, given, len(positions)),))

    def __len__(self) -> int:
        return sum(run.size for run in self.runs)

    def now(self) -> tuple[Positions, Counts]:
        """Sorted positions of all items, and how often each has the term."""
        if len(self.runs) == 1:
            return self.runs[0].now()
        parts = [run.now() for run in self.runs]
        positions = np.concatenate([places for places, _ in parts])
        order = np.argsort(positions, kind="stable")  # merges runs that are sorted
        return positions[order], np.concatenate([counts for _, counts in parts])[order]

    @property
    def positions(self) -> Positions:
        """Sorted positions of all items."""
        return self.now()[0]

    def at(self, places: Ints) -> tuple[Ints, Counts]:
        """Which of some items (given by distinct positions) are listed, and the count of each of those."""
        if len(self.runs) == 1:
            return self.runs[0].at(places)
        parts = [run.at(places) for run in self.runs]
        held, counts = (np.concatenate(both) for both in zip(*parts, strict=True))
        return held, counts

    def holds(self, place: int) -> bool:
        """Whether an item, given by its position, is listed."""
        return bool(len(self.at(np.array([place]))[0]))
