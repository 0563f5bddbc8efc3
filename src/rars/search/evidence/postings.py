"""Which items have which feature: postings over the items in SID order, as flat arrays.

Owns: building postings block by block, and reading the list of one feature. Ignores what features are.
A posting list holds positions in ``PrefixTree.order``, so the items below a prefix are a range of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Ints
from rars.artifacts import Artifact, Draft
from rars.search.evidence.lists import GONE, Counts, Moves, Positions, PostingList, Run
from rars.search.evidence.terms import MISSING, Terms
from rars.tree.sorting import lower_bounds, run_starts, stable_order

FILES = ("text", "ends", "starts", "positions", "counts")
"""The arrays that postings are kept in."""

_MOST = 255
_BLOCK = 2**18
"""Postings that are carried over at once."""


@dataclass(frozen=True, eq=False)
class Postings:
    """For each term, the sorted positions of the items that have it.

    ``starts``     (terms + 1,) where each term's list begins
    ``positions``  (postings,)
    ``counts``     (postings,) how often the item has the term, at most 255
    """

    terms: Terms
    starts: npt.NDArray[np.int64]
    positions: Positions
    counts: Counts

    def find(self, term: str) -> PostingList | None:
        """The items that have a term; None where none has it."""
        number = self.terms.find(term)
        run = None if number == MISSING else self.run(number)
        return PostingList((run,)) if run is not None and run.size else None

    def run(self, number: int) -> Run:
        """The list of a term, given by its number."""
        here = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return Run(
            np.asarray(self.positions[here]), np.asarray(self.counts[here]), here.stop - here.start
        )

    def items(self, term: str) -> int:
        """Document frequency: how many items have a term."""
        number = self.terms.find(term)
        return 0 if number == MISSING else int(self.starts[number + 1] - self.starts[number])

    def first(self, prefix: str) -> str | None:
        """The first term that begins with ``prefix``."""
        return self.terms.first(prefix)

    def save(self, draft: Draft, name: str) -> None:
        """Write the arrays as ``NAME-*.npy``."""
        arrays: tuple[npt.NDArray[Any], ...] = (
            *(self.terms.text, self.terms.ends),
            *(self.starts, self.positions, self.counts),
        )
        for part, values in zip(FILES, arrays, strict=True):
            draft.save_array(f"{name}-{part}", values)

    @classmethod
    def load(cls, artifact: Artifact, name: str, *, mmap: bool = True) -> Postings:
        """Open what ``save`` wrote."""
        text, ends, starts, positions, counts = (
            artifact.array(f"{name}-{part}", mmap=mmap) for part in FILES
        )
        return cls(Terms(text, ends), starts, positions, counts)

    def changed(self, moves: Moves, new: Postings) -> Postings:
        """The postings of a changed catalogue, as if they had been made anew.

        ``new`` are the postings of new items. What it costs is one pass over the postings: where items that
        stay keep their order, nothing is sorted.
        """
        ours = self if moves.all_stay else self._of(moves.to != GONE)
        if moves.rises:
            return ours._woven(moves.to, new)
        return ours._moved(moves.to)._woven(np.arange(moves.items, dtype=np.int32), new)

    def left(self, moves: Moves) -> Ints | None:
        """(terms,) how many items of each list are still there; None where all are."""
        if moves.all_stay:
            return None
        return self._sizes(moves.to != GONE)[1]

    def _of(self, stays: npt.NDArray[np.bool_]) -> Postings:
        """The postings of some items; terms that none of them has are forgotten."""
        kept, sizes = self._sizes(stays)
        terms = Terms.of(self.terms.array().filter(pa.array(sizes > 0)))
        return Postings(
            terms, _starts(sizes[sizes > 0]), self.positions[kept], np.asarray(self.counts)[kept]
        )

    def _sizes(self, stays: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Which postings are of items that stay, and how many each term has of them."""
        kept = stays[self.positions]
        sizes = np.diff(self.starts)
        some = np.flatnonzero(sizes)
        sizes[some] = np.add.reduceat(kept, self.starts[some], dtype=np.int64)
        return kept, sizes

    def _moved(self, to: Positions) -> Postings:
        """The same of items that stand in another order now."""
        positions, sizes = to[self.positions], np.diff(self.starts)
        order = stable_order(np.repeat(np.arange(len(sizes)), sizes), positions)
        return replace(self, positions=positions[order], counts=np.asarray(self.counts)[order])

    def _woven(self, to: Positions, new: Postings) -> Postings:
        """These with those of new items; ``to`` rises over the items that are named here."""
        terms, old_number, new_number = _merged(self.terms.array(), new.terms.array())
        begins, old_sizes, new_sizes = np.zeros((3, len(terms)), dtype=np.int64)
        begins[old_number], old_sizes[old_number] = self.starts[:-1], np.diff(self.starts)
        new_sizes[new_number] = np.diff(new.starts)
        starts = _starts(old_sizes + new_sizes)
        # A new posting stands behind the old ones before it and the new ones before it.
        number = np.repeat(new_number, np.diff(new.starts))
        low, stays = begins[number], np.flatnonzero(to >= 0)
        bound = np.append(stays, len(to))[np.searchsorted(to[stays], new.positions)]
        before = lower_bounds(self.positions, low, low + old_sizes[number], bound) - low
        among = np.arange(len(number)) - np.repeat(new.starts[:-1], np.diff(new.starts))
        place = starts[number] + before + among
        positions = np.empty(int(starts[-1]), dtype=np.int32)
        counts = np.empty(len(positions), dtype=np.uint8)
        # A block at a time: what is between reading and writing stays in the processor's cache.
        for start in range(0, len(positions), _BLOCK):
            stop = min(start + _BLOCK, len(positions))
            first, last = np.searchsorted(place, (start, stop))
            own = slice(start - first, stop - last)
            old = np.ones(stop - start, dtype=bool)
            old[place[first:last] - start] = False
            positions[start:stop][old] = to.take(self.positions[own], mode="clip")  # twice as fast
            counts[start:stop][old] = self.counts[own]
        positions[place], counts[place] = new.positions, new.counts
        return Postings(terms, starts, positions, counts)

    def fits(self, items: int) -> bool:
        """Whether stored arrays fit together and name none but these items."""
        ends, arrays = self.terms.ends, (self.starts, self.positions, self.terms.ends)
        return (
            all(array.ndim == 1 and array.dtype.kind == "i" for array in arrays)
            and self.counts.shape == self.positions.shape
            and self.counts.dtype == self.terms.text.dtype == np.uint8
            and _rises(self.starts, len(self.positions))
            and _rises(ends, len(self.terms.text))
            and len(ends) == len(self.starts)
            and int(self.positions.min(initial=0)) >= 0
            and int(self.positions.max(initial=-1)) < items
        )


def _merged(ours: pa.Array, theirs: pa.Array) -> tuple[Terms, Ints, Ints]:
    """The terms of two dictionaries, and the number that each term of either has among them."""
    places = pc.index_in(theirs, ours)
    fresh = theirs.filter(pc.is_null(places))
    every = pa.concat_arrays([ours, fresh])
    rank = np.empty(len(every), dtype=np.int64)
    rank[pc.sort_indices(every).to_numpy()] = np.arange(len(every))
    number = rank[pc.fill_null(places, 0).to_numpy(zero_copy_only=False)]
    number[pc.is_null(places).to_numpy(zero_copy_only=False)] = rank[len(ours) :]
    return Terms.of(every), rank[: len(ours)], number


def _starts(sizes: Ints) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64, copy=False)


def _rises(ends: npt.NDArray[np.int64], last: int) -> bool:
    return bool(len(ends) and ends[0] == 0 and ends[-1] == last and (ends[1:] >= ends[:-1]).all())


@dataclass
class PostingsBuilder:
    """Collects (row, term) finds block by block; ``finish`` sorts them once, in linear memory."""

    _terms: list[pa.Array] = field(default_factory=list)
    _codes: list[npt.NDArray[np.int32]] = field(default_factory=list)
    _rows: list[npt.NDArray[np.int32]] = field(default_factory=list)
    _counts: list[Counts] = field(default_factory=list)

    def add(
        self, terms: Sequence[str], code: npt.NDArray[np.int32], row: npt.NDArray[np.int32]
    ) -> None:
        """Add finds: ``code`` points into ``terms``, ``row`` is the item's row in the catalogue."""
        # Finds of the same pair become one posting with a count.
        pairs = np.sort(row.astype(np.int64) << 32 | code)
        first = run_starts(pairs)
        self._terms.append(pa.array(terms, pa.large_string()))
        self._codes.append((pairs[first] & 0xFFFFFFFF).astype(np.int32))
        self._rows.append((pairs[first] >> 32).astype(np.int32))
        counts = np.diff(np.append(first, len(pairs)))
        self._counts.append(np.minimum(counts, _MOST).astype(np.uint8))

    def finish(self, positions: Positions) -> Postings:
        """The postings; ``positions`` says where each catalogue row stands in SID order."""
        terms = Terms.of(pa.chunked_array(self._terms, pa.large_string()))
        known = terms.array()
        # One 64-bit number a posting (term, position, count): a single sort puts all in place.
        bits = 8 + int(positions.max(initial=1)).bit_length()
        keys = np.empty(sum(map(len, self._codes)), dtype=np.int64)
        low = 0
        for names, code, row, count in zip(
            self._terms, self._codes, self._rows, self._counts, strict=True
        ):
            number = pc.index_in(names, known).to_numpy(zero_copy_only=False).astype(np.int64)
            part = keys[low : low + len(code)]
            np.left_shift(number[code], bits, out=part)
            part |= positions[row].astype(np.int64) << 8
            part |= count
            low += len(code)
        keys.sort()
        starts = np.searchsorted(keys, np.arange(len(terms) + 1, dtype=np.int64) << bits)
        return Postings(
            terms,
            starts.astype(np.int64),
            (keys >> 8 & (1 << bits - 8) - 1).astype(np.int32),
            (keys & _MOST).astype(np.uint8),
        )
