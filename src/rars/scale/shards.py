"""Pieces of a piece of work, each done once and kept: a kill loses the pieces in hand and no other.

Owns: which pieces there are, which are done, and joining arrays of rows. Each is a folder with a manifest
(``rars.artifacts``), whole or absent. The folder of all is named by a digest of everything the work depends
on, so what is found there is of this work. Ignores who does them (``rars.scale.engine``).

How work is cut depends on the work alone, never on who does it: the result is the same for any number of
workers, to the bit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from rars import artifacts
from rars.errors import RarsError
from rars.progress import Advance
from rars.scale.engine import INLINE, Engine


def spans(count: int, size: int) -> list[tuple[int, int]]:
    """Ranges of at most ``size`` that cover ``count`` rows.

    >>> spans(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, count)) for start in range(0, count, size)]


@dataclass(frozen=True)
class Shards:
    """The pieces of one piece of work, numbered from 0; ``kind`` is what their manifests call them."""

    folder: Path
    kind: str
    count: int

    def writing(self, number: int) -> AbstractContextManager[artifacts.Draft]:
        """Write a piece, whole or not at all."""
        return artifacts.writing(self._place(number), kind=self.kind)

    def open(self, number: int, *, verify: bool = False) -> artifacts.Artifact:
        """A piece that is done."""
        return artifacts.opening(self._place(number), kind=self.kind, verify=verify)

    def missing(self) -> list[int]:
        """What is not done, or damaged."""
        return [number for number in range(self.count) if not self._sound(number)]

    def complete(
        self,
        function: Callable[..., Any],
        call: Callable[[int], Mapping[str, Any]],
        *,
        engine: Engine = INLINE,
        advance: Advance | None = None,
    ) -> None:
        """Do what is missing: ``function(shards=, number=, **call(number))`` writes one piece."""
        missing = self.missing()
        done = self.count - len(missing)
        calls = ({"shards": self, "number": number, **call(number)} for number in missing)
        for _ in engine.map(function, calls, len(missing)):
            done += 1
            if advance:
                advance(done, self.count)

    def join(self, name: str, target: npt.NDArray[Any]) -> None:
        """The array ``name`` of every piece, one after the other, into ``target``."""
        start = 0
        for number in range(self.count):
            part = self.open(number).array(name)
            target[start : start + len(part)] = part
            start += len(part)
        assert start == len(target)

    def __iter__(self) -> Iterator[artifacts.Artifact]:
        """The pieces, opened one at a time."""
        return (self.open(number) for number in range(self.count))

    def discard(self) -> None:
        """Remove them all: what they were for is there."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:06d}"

    def _sound(self, number: int) -> bool:
        if not self._place(number).exists():
            return False
        try:
            self.open(number, verify=True)
        except RarsError:
            return False
        return True
