"""Two answers to one query, side by side: which items moved, which came, which went.

Owns: the marks of a comparison. Ignores what the two sides are: rules, systems or versions of a catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rars.serving.schemas import Hit, SearchResponse

Change = Literal["same", "up", "down", "only"]


@dataclass(frozen=True)
class Placed:
    """A hit of one side; ``there`` is its rank on the other side, None where it is not shown there.

    What changed is told on the right side; the left tells where each item goes.
    """

    hit: Hit
    there: int | None
    change: Change
    after: bool

    @property
    def said(self) -> str:
        """The change, for those who do not see it."""
        if self.there is None:
            return "only on this side"
        if self.change == "same":
            return "the same rank on both sides"
        places = abs(self.there - self.hit.rank)
        return f"{places} {'higher' if self.change == 'up' else 'lower'} than on the other side"

    @property
    def mark(self) -> str:
        """The change as a sign."""
        if self.there is None:
            return "new" if self.after else "gone"
        if not self.after:
            return f"→ {self.there}"
        if self.change == "same":
            return "="
        return f"{'▲' if self.change == 'up' else '▼'} {abs(self.there - self.hit.rank)}"


@dataclass(frozen=True)
class Measured:
    """A measure of the query on both sides."""

    name: str
    left: float
    right: float

    @property
    def difference(self) -> float:
        """Right minus left."""
        return self.right - self.left


@dataclass(frozen=True)
class Beside:
    """Both answers; ``shared`` items are shown on both sides."""

    left: tuple[Placed, ...]
    right: tuple[Placed, ...]
    shared: int
    measures: tuple[Measured, ...]

    @property
    def alike(self) -> bool:
        """Whether both sides show the same items in the same order."""
        ids = [[one.hit.item_id for one in side] for side in (self.left, self.right)]
        return ids[0] == ids[1]


def beside(left: SearchResponse, right: SearchResponse) -> Beside:
    """Compare two answers."""
    ranks = [{one.item_id: one.rank for one in side.hits} for side in (left, right)]
    measures: tuple[Measured, ...] = ()
    if left.measures is not None and right.measures is not None:
        measures = tuple(
            Measured(name, left.measures[name], right.measures[name])
            for name in left.measures
            if name in right.measures
        )
    return Beside(
        tuple(_placed(one, ranks[1].get(one.item_id), after=False) for one in left.hits),
        tuple(_placed(one, ranks[0].get(one.item_id), after=True) for one in right.hits),
        len(ranks[0].keys() & ranks[1].keys()),
        measures,
    )


def _placed(hit: Hit, there: int | None, *, after: bool) -> Placed:
    if there is None:
        return Placed(hit, None, "only", after)
    change: Change = "same" if there == hit.rank else "up" if hit.rank < there else "down"
    return Placed(hit, there, change, after)
