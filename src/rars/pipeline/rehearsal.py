"""A training that is begun to see how fast it is, and then forgotten.

Owns: when enough was seen. Ignores what is done with the time (``rars.pipeline.tuning``).
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from rars import disk
from rars.config import Recipe
from rars.data import Dataset
from rars.pipeline.training import train
from rars.progress import Advance, Tell

ENOUGH = 20.0
"""Seconds of training that say how long the whole takes."""


def rehearsed(
    dataset: Dataset, recipe: Recipe, home: Path, *, identifiers: Path | None, tell: Tell
) -> float:
    """Seconds of a whole training, from its first steps in the folder ``home``, which is gone afterwards."""
    watch = _Watch(tell)
    disk.discard(home)  # a killed one has begun somewhere
    with suppress(_Enough):
        train(dataset, recipe, home, identifiers=identifiers, tell=watch)
    disk.discard(home)
    return watch.seconds


class Quiet:
    """Shows progress and says nothing: trials are runs that a person need not know of."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def say(self, text: str) -> None:
        """Nothing."""

    def stage(self, name: str) -> AbstractContextManager[Advance]:
        """As the other one."""
        return self._tell.stage(name)

    def note(self, name: str, values: dict[str, float]) -> None:
        """As the other one."""
        self._tell.note(name, values)


class _Enough(Exception):
    """A training that was only watched has shown how fast it is."""


class _Watch(Quiet):
    """Stops a training as soon as its speed is known."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(tell)
        self._first: tuple[float, float] | None = None
        self.seconds = 0.0
        """Of the whole training, as it seems."""

    def stage(self, name: str) -> AbstractContextManager[Advance]:
        """What comes behind the last step need not be done."""
        if self._first is not None:
            raise _Enough
        return super().stage(name)

    def note(self, name: str, values: dict[str, float]) -> None:
        """Watch the time."""
        now, progress = time.perf_counter(), values["progress"]
        if self._first is None:
            self._first = (now, progress)
            return
        start, before = self._first
        self.seconds = (now - start) / max(progress - before, 1e-9)
        if now - start >= ENOUGH:
            raise _Enough
