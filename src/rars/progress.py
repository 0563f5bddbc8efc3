"""What long work tells whoever started it.

Owns: the two callbacks. ``Advance`` counts; ``Tell`` names the stages of a step and says what a person should
know. Ignores how it is shown: the command line draws bars, a notebook may do nothing (``SILENT``).
"""

from __future__ import annotations

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
