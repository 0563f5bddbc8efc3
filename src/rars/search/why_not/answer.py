"""What is answered when somebody asks why an item is not shown.

Owns: the answer and its parts, and the item it is about. Ignores how the reason is found.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rars.arrays import Floats, Ints
from rars.systems import Query, System

Reason = Literal["found", "unknown", "filtered", "routed", "pruned", "below", "unscored"]

SHOWN = 3
"""Rivals that are named, beside the last one that was kept."""


@dataclass(frozen=True)
class Clause:
    """A restriction that leaves the item out: which, how it was said, and what the item has there."""

    kind: str
    text: str
    values: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class PathStep:
    """One code of the item's own path.

    ``model``, ``evidence``  what each added here; ``score`` of the prefix, all terms so far
    ``rank``                 of the prefix among the ``candidates`` of this step; None if its parent was gone
    ``kept``                 whether it stayed in the beam; ``cutoff`` the lowest score that did
    """

    name: str
    code: int
    model: float
    evidence: float
    score: float
    kept: bool
    rank: int | None = None
    candidates: int | None = None
    cutoff: float | None = None


@dataclass(frozen=True)
class Rival:
    """What stands before the item: an item, or a prefix with the first item below it."""

    rank: int
    score: float
    item_id: str
    title: str
    prefix: str = ""


@dataclass(frozen=True)
class Choice:
    """A category with the model's probability, and its place among all."""

    path: str
    probability: float
    rank: int


@dataclass(frozen=True)
class WhyNot:
    """Why an item is not among the first k of a query.

    ``reason``   ``found`` (it is), ``unknown`` (not in the catalogue), ``filtered``, ``routed``, ``pruned``
                 (its prefix fell out of the beam at code ``depth``), ``below`` (its ``rank`` is beyond k),
                 ``unscored`` (the system gives it no score)
    ``because``  of what is pruned or below: whether the ``model`` or the ``evidence`` spoke more against it,
                 compared with the last one kept; ``order`` where the scores are the same
    ``score``    the item's, or its prefix's where it was lost; ``needed`` what it would have had to exceed
    ``shares``   how many other items have the same identifier
    """

    item_id: str
    title: str | None
    query: str
    rule: str
    k: int
    reason: Reason
    sentence: str
    because: str | None = None
    rank: int | None = None
    depth: int | None = None
    score: float | None = None
    needed: float | None = None
    width: int | None = None
    shares: int | None = None
    clauses: tuple[Clause, ...] = ()
    category: Choice | None = None
    categories: tuple[Choice, ...] = ()
    steps: tuple[PathStep, ...] = ()
    beaten_by: tuple[Rival, ...] = ()

    def __str__(self) -> str:
        return self.sentence

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Item:
    """An item that somebody asks about, and where."""

    system: System
    query: Query
    rule: str
    k: int
    row: int
    item_id: str
    title: str

    def says(self, reason: Reason, sentence: str, **facts: Any) -> WhyNot:
        """An answer about it; the sentence goes on after its title."""
        return WhyNot(
            self.item_id,
            self.title,
            self.query.text,
            self.rule,
            self.k,
            reason,
            f"{self.title} ({self.item_id}) {sentence}",
            **facts,
        )


def shown_before(system: System, items: Ints, scores: Floats, k: int) -> tuple[Rival, ...]:
    """Of the k items that are shown, the first few and the last."""
    chosen = [*range(min(SHOWN, k))] + ([k - 1] if k > SHOWN else [])
    return tuple(
        Rival(one + 1, float(scores[one]), its["id"], its["title"])
        for one, its in zip(chosen, system.catalogue.take(items[chosen]), strict=True)
    )


def ordinal(number: int) -> str:
    """Such as 1st, 22nd, 113th.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112, 1003)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '112th', '1,003rd']
    """
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if 10 <= number % 100 <= 20 else ends.get(number % 10, "th")
    return f"{number:,}{end}"
