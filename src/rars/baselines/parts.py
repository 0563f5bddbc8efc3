"""What a comparison system is: a part of a recipe that learns into a folder and is opened from it.

Owns: the shape of a system as recipes name it. A system is a file: its settings, ``learn`` and ``open``, put
together as a ``SystemPart``; one line in ``rars.baselines.SYSTEMS`` gives it a name. Ignores run folders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rars.config import Section
from rars.data import Dataset
from rars.progress import Advance
from rars.systems import Searcher

if TYPE_CHECKING:  # it brings torch with it
    from rars.identifiers.towers import Held

Own = Mapping[str, Any]
"""The settings of a system and of the systems it is made of, by name (``Recipe.own``)."""
Facts = dict[str, Any]
"""What opening a system again needs to know beside its files; plain JSON values."""


class Learn(Protocol):
    """Learns a system into an empty folder."""

    def __call__(
        self,
        own: Own,
        dataset: Dataset,
        folder: Path,
        held: Held | None,
        *,
        seed: int = 0,
        advance: Advance | None = None,
    ) -> Facts:
        """``held`` are the validation queries to choose on; None only for a system that does not."""


def learns_nothing(own: Own, dataset: Dataset, folder: Path, held: Any, **rest: Any) -> Facts:
    """A ``Learn`` for a system that is made of the catalogue alone."""
    return {}


class Open(Protocol):
    """Opens what was learned into a folder, over the whole catalogue."""

    def __call__(
        self,
        own: Own,
        dataset: Dataset,
        folder: Path,
        facts: Mapping[str, Any],
        *,
        advance: Advance | None = None,
    ) -> Searcher:
        """The system, ready for texts."""


@dataclass(frozen=True)
class SystemPart:
    """A comparison system as recipes name it.

    ``about``     one line; ``settings`` its own table of a recipe
    ``uses``      the systems whose tables it reads, itself among them
    ``chooses``   whether something is chosen on validation queries
    ``trains``    what is fine-tuned, for people; empty where nothing is, and then no seed matters
    """

    about: str
    settings: type[Section]
    uses: tuple[str, ...]
    learn: Learn
    open: Open
    chooses: Callable[[Own], bool] = lambda own: False
    trains: Callable[[Own], str] = lambda own: ""
