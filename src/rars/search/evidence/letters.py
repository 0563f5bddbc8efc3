"""Likeness of letters: how many triples of letters a query shares with an item's title.

Owns: the triples of titles, kept beside what a catalogue shows, and e(q, d) of all items or of some. Ignores
how titles are stored, and what the likeness is worth.

    e(q, d) = |T(q) & T(d)| / sqrt(|T(q)| |T(d)|)

with T(x) the set of triples of neighbouring letters in the words of x, each word between two spaces. A word
that is misspelt or inflected still shares most of its triples, which BM25 does not see, and a title that says
little else than what was asked for is worth more than a long one.

A triple is a number of 16 bits, a hash: of a title with 45 of them, one in fifty or so seems to share one
with a query that it does not. Triples are kept by item, not by triple: each is in a large part of the
catalogue, so lists would be long, while the items that a search looks at are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.arrays import Floats, Ints
from rars.artifacts import Artifact, Draft
from rars.data.words import spaced
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.evidence import Evidence
from rars.tree.sorting import distinct

NUMBERS = 1 << 16

_NUMBERS, _STARTS = "letters", "letter-starts"
_BLOCK = 20_000
_MIXED = tuple(np.uint32(one) for one in (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F))


@dataclass(frozen=True, eq=False)
class Triples:
    """The distinct triples of texts: ``numbers`` (m,), those of text i from ``starts[i]`` (texts + 1,) on."""

    starts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> Triples:
        """Those of some texts; a text without words has none.

        >>> found = Triples.of(["led lamp", None, "LED-lamps"])
        >>> np.diff(found.starts).tolist(), len(np.intersect1d(*np.split(found.numbers, [8])))
        ([8, 0, 9], 7)
        """
        pieces = spaced(texts)
        letters = np.frombuffer("".join(pieces).encode("utf-32-le", "replace"), dtype=np.uint32)
        owner = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
        inside = np.flatnonzero(owner[2:] == owner[:-2])
        mixed = (
            letters[inside] * _MIXED[0]
            ^ letters[inside + 1] * _MIXED[1]
            ^ letters[inside + 2] * _MIXED[2]
        )
        mixed = (mixed ^ mixed >> np.uint32(15)) * _MIXED[3] >> np.uint32(16)
        keys = distinct(owner[inside] << 16 | mixed.astype(np.int64))
        starts = np.searchsorted(keys, np.arange(len(pieces) + 1) << 16)
        return cls(starts.astype(np.int64), (keys & NUMBERS - 1).astype(np.uint16))

    @classmethod
    def joined(cls, blocks: Iterable[Triples]) -> Triples:
        """Those of several blocks of texts, one after the other."""
        parts = [cls(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint16)), *blocks]
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        return cls(starts, np.concatenate([part.numbers for part in parts]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def shared(self, wanted: npt.NDArray[np.bool_], rows: Ints | None) -> tuple[Ints, Ints]:
        """How many of the ``wanted`` (numbers,) some texts have (None: all), and how many in all."""
        first = self.starts[:-1] if rows is None else self.starts[rows]
        counts = (self.starts[1:] if rows is None else self.starts[rows + 1]) - first
        own = self.numbers
        if rows is not None:
            begins = np.cumsum(counts) - counts
            own = self.numbers[np.repeat(first - begins, counts) + np.arange(int(counts.sum()))]
            first = begins
        some = np.flatnonzero(counts)
        found = np.zeros(len(counts), dtype=np.int64)
        if len(some):
            found[some] = np.add.reduceat(wanted[own], first[some], dtype=np.int64)
        return found, counts

    def fits(self, texts: int) -> bool:
        """Whether stored triples can be those of so many texts."""
        starts, numbers = self.starts, self.numbers
        return (
            starts.shape == (texts + 1,)
            and starts.dtype == np.int64
            and numbers.ndim == 1
            and numbers.dtype == np.uint16
            and int(starts[0]) == 0
            and int(starts[-1]) == len(numbers)
            and bool((starts[1:] >= starts[:-1]).all())
        )


@dataclass(frozen=True, eq=False)
class Letters:
    """The triples of all titles: ``segments``, and which of their rows are items, in order (None: all)."""

    segments: tuple[Triples, ...]
    rows: Ints | None = None

    @classmethod
    def of(cls, titles: Iterable[Sequence[str | None]]) -> Letters:
        """Of titles, given in blocks."""
        return cls((Triples.joined(map(Triples.of, titles)),))

    def __len__(self) -> int:
        return sum(map(len, self.segments)) if self.rows is None else len(self.rows)

    def likeness(self, text: str, items: Ints | None = None) -> Floats:
        """e(q, d) of some items (catalogue rows), or of all in catalogue order."""
        asked = Triples.of([text]).numbers
        wanted = np.zeros(NUMBERS, dtype=bool)
        wanted[asked] = True
        rows = self.rows if items is None else items if self.rows is None else self.rows[items]
        shared, counts = self._shared(wanted, rows)
        return np.asarray(shared / np.sqrt(np.maximum(counts, 1) * max(1, len(asked))))

    def _shared(self, wanted: npt.NDArray[np.bool_], rows: Ints | None) -> tuple[Ints, Ints]:
        if rows is None:
            parts = [segment.shared(wanted, None) for segment in self.segments]
            return tuple(np.concatenate(both) for both in zip(*parts, strict=True))  # type: ignore[return-value]
        shared, counts = np.zeros((2, len(rows)), dtype=np.int64)
        start = 0
        for segment in self.segments:
            own = np.flatnonzero((rows >= start) & (rows < start + len(segment)))
            shared[own], counts[own] = segment.shared(wanted, rows[own] - start)
            start += len(segment)
        return shared, counts

    def fits(self, sizes: Sequence[int]) -> bool:
        """Whether the segments can be those of so many titles each."""
        pairs = zip(self.segments, sizes, strict=True)
        return len(self.segments) == len(sizes) and all(one.fits(size) for one, size in pairs)


@dataclass(frozen=True, eq=False)
class Likeness:
    """The likeness of one query to titles, worked out for all items or for those that are looked at."""

    ancestry: Ancestry
    letters: Letters
    text: str

    def whole(self) -> Evidence:
        """That of every item."""
        return Evidence.from_dense(
            self.ancestry, self.letters.likeness(self.text)[self.ancestry.tree.order]
        )

    def at(self, places: Ints) -> Evidence:
        """That of some items, given by sorted distinct positions; all others have none."""
        items = np.asarray(self.ancestry.tree.order[places])
        return Evidence.sparse(self.ancestry, places, self.letters.likeness(self.text, items))

    def led(self, most: int, *, always: bool = False) -> Ints:
        """It names nobody that is worth a look: that would be a pass over all titles."""
        return np.zeros(0, dtype=np.int32)


# -- on disk ---------------------------------------------------------------------------------------


def files(end: str) -> list[str]:
    """The names of a segment's files."""
    return [f"{name}{end}.npy" for name in (_NUMBERS, _STARTS)]


def save_letters(draft: Draft, end: str, titles: Any) -> None:
    """Write the triples of titles (an Arrow column), a block at a time."""
    sizes = [np.zeros(1, dtype=np.int64)]

    def numbers() -> Iterator[npt.NDArray[np.uint16]]:
        for start in range(0, len(titles), _BLOCK):
            found = Triples.of(titles.slice(start, _BLOCK).to_pylist())
            sizes.append(np.diff(found.starts))
            yield found.numbers

    draft.stream_array(f"{_NUMBERS}{end}", np.uint16, numbers())
    draft.save_array(f"{_STARTS}{end}", np.cumsum(np.concatenate(sizes)))


def load_letters(artifact: Artifact, ends: Sequence[str], rows: Ints | None) -> Letters | None:
    """Map what ``save_letters`` wrote for some segments; None where one has none."""
    if not all((artifact.folder / name).exists() for end in ends for name in files(end)):
        return None
    segments = (
        Triples(
            np.asarray(artifact.array(f"{_STARTS}{end}")),
            np.asarray(artifact.array(f"{_NUMBERS}{end}")),
        )
        for end in ends
    )
    return Letters(tuple(segments), rows)
