"""What long work tells whoever started it.

Owns: the two callbacks, and how long a count goes on. ``Advance`` counts; ``Tell`` names the stages of a step
and says what a person should know. Ignores how it is shown: the command line draws bars, a notebook may do
nothing (``SILENT``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int, int], None]
"""Long work calls it with (done, total)."""


class Tell(Protocol):
    """What a step of the pipeline reports to."""

    def say(self, text: str) -> None:
        """Something a person should know: what will be done, what was found done already."""

    def stage(self, name: str) -> AbstractContextManager[Advance]:
        """A stretch of work with a name, and what counts its progress."""

    def note(self, name: str, values: dict[str, float]) -> None:
        """Numbers of a training step: ``progress`` from 0 to 1, the losses, the speed."""


class Silent:
    """Tells nobody."""

    def say(self, text: str) -> None:
        """Nothing."""

    @contextmanager
    def stage(self, name: str) -> Iterator[Advance]:
        """Counts for nobody."""
        yield lambda done, total: None

    def note(self, name: str, values: dict[str, float]) -> None:
        """Nothing."""


SILENT = Silent()


class Forecast:
    """How long a stage goes on, told once: when its first seconds have shown that it will be minutes.

    left = seconds so far / done so far * to come
    """

    SHOWN, LONG = 5.0, 60.0
    """Seconds that show it, and those that are worth a word."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.monotonic
        self._total: int | None = None
        self._begun, self._before, self._told = 0.0, 0, False

    def left(self, done: int, total: int) -> float | None:
        """Take a count; the seconds that are left, where they are to be told now."""
        now = self._clock()
        if total != self._total:  # another stretch: its speed is its own
            self._total, self._begun, self._before, self._told = total, now, done, False
        made, taken = done - self._before, now - self._begun
        if self._told or made <= 0 or taken < self.SHOWN:
            return None
        self._told = True
        found = taken / made * (total - done)
        return found if found >= self.LONG else None
