"""A dictionary of strings as two flat arrays: sorted, searched by bisection, never read into memory.

Owns: finding a term, and those that begin with a text. Ignores what terms stand for. Opening one
costs nothing however large it is, and it can be memory-mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MISSING = -1


@dataclass(frozen=True, eq=False)
class Terms:
    """Distinct strings in code point order.

    ``text``  (bytes,) all terms behind one another in UTF-8
    ``ends``  (terms + 1,) where each begins and the last one ends

    >>> terms = Terms.of(["sony ericsson", "acme", "sony"])
    >>> terms.find("sony"), terms.find("son"), terms.first("sony "), terms[0]
    (1, -1, 'sony ericsson', 'acme')
    """

    text: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, strings: Sequence[str] | pa.Array | pa.ChunkedArray) -> Terms:
        """Sort distinct strings into a dictionary."""
        array = strings if isinstance(strings, pa.Array | pa.ChunkedArray) else pa.array(strings)
        array = pc.unique(array.cast(pa.large_string()))
        array = array.take(pc.sort_indices(array))
        if not len(array):
            return cls(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
        _, ends, text = array.buffers()
        places = np.frombuffer(ends, dtype=np.int64)[: len(array) + 1]
        return cls(np.frombuffer(text, dtype=np.uint8)[: places[-1]], places)

    def array(self) -> pa.Array:
        """The terms as Arrow strings, without a copy."""
        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.text)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, number: int) -> str:
        return self._at(number).decode()

    def find(self, term: str) -> int:
        """The number of a term, or ``MISSING``."""
        wanted = term.encode("utf-8", "replace")
        place = self._place(wanted)
        return place if place < len(self) and self._at(place) == wanted else MISSING

    def first(self, prefix: str) -> str | None:
        """The first term that begins with ``prefix``."""
        return next(self.beginning(prefix), (MISSING, None))[1]

    def beginning(self, prefix: str) -> Iterator[tuple[int, str]]:
        """The terms that begin with ``prefix``, with their numbers."""
        wanted = prefix.encode("utf-8", "replace")
        place = self._place(wanted)
        while place < len(self) and (term := self._at(place)).startswith(wanted):
            yield place, term.decode()
            place += 1

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        # A memory view reads one number several times faster than an array does.
        return self.text.data, self.ends.data

    def _at(self, number: int) -> bytes:
        text, ends = self._views
        return bytes(text[ends[number] : ends[number + 1]])

    def _place(self, wanted: bytes) -> int:
        """The first term that is not before ``wanted``."""
        text, ends = self._views
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) // 2
            if bytes(text[ends[middle] : ends[middle + 1]]) < wanted:
                low = middle + 1
            else:
                high = middle
        return low
