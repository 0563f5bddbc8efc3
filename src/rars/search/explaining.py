"""Why an item was found: every branch decision on its path, and what spoke for it.

Owns: the explanation of one hit. Ignores how it is shown. The terms of the steps add up to the hit's score.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.search.evidence import Match
from rars.search.rules import Weighed
from rars.search.store import ItemStore
from rars.tree import PrefixTree

Floats = npt.NDArray[np.floating[Any]]


def named(depth: int, code: int) -> str:
    """A code as people read it.

    >>> named(0, 57), named(3, 154)
    ('a57', 'd154')
    """
    return f"{'abcdefgh'[depth] if depth < 8 else depth}{code}"


@dataclass(frozen=True)
class Step:
    """One code of the path.

    ``probability``  the model's, of this code given the ones before
    ``evidence``     what evidence added to the score here (lambda included)
    ``best``         the item below this prefix with the most evidence: its id and title, what each part of
                     the evidence says of it, and which constraints and words it has
    """

    code: int
    probability: float
    evidence: float
    best_id: str
    best_title: str
    parts: dict[str, float]
    reasons: tuple[Match, ...]

    @property
    def term(self) -> float:
        """What the step adds to the score."""
        return math.log(self.probability) + self.evidence if self.probability > 0 else -math.inf


@dataclass(frozen=True)
class Explanation:
    """The steps of a hit's path, the item's own reasons, and the categories that the query admitted.

    ``categories`` are paths with the model's probability; empty where everything was searched.
    """

    steps: tuple[Step, ...]
    parts: dict[str, float]
    reasons: tuple[Match, ...]
    categories: tuple[tuple[str, float], ...] = field(default=())

    def __str__(self) -> str:
        """A line a code, then what the item itself has (+) and lacks (-) of what was looked for."""
        lines = [
            f"{named(depth, step.code):>6}  model {100 * step.probability:5.1f} %  "
            f"evidence {step.evidence:+.2f}  = {step.term:+.2f}"
            for depth, step in enumerate(self.steps)
        ]
        found = {match.text: "+" if match.matched else "-" for match in reversed(self.reasons)}
        words = [mark + text for text, mark in reversed(found.items())]
        parts = [f"{name} {value:.2f}" for name, value in self.parts.items()]
        return "\n".join([*lines, " ".join([*words, *parts])])

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        steps = [
            asdict(step) | {"reasons": [match._asdict() for match in step.reasons]}
            for step in self.steps
        ]
        return {
            "categories": [{"path": path, "probability": p} for path, p in self.categories],
            "steps": steps,
            "parts": dict(self.parts),
            "reasons": [match._asdict() for match in self.reasons],
        }


@dataclass(frozen=True, eq=False)
class PathTrace:
    """What the beam noted about one identifier: its leaf, and (depth,) terms of model and evidence."""

    leaf: int
    model: Floats
    evidence: Floats


def best_below(tree: PrefixTree, weighed: Weighed, trace: PathTrace) -> list[int]:
    """For each depth of a path, the item (catalogue row) below its prefix with the most evidence."""
    found = []
    node = trace.leaf
    for depth in range(tree.depth, 0, -1):
        low, high = tree.item_ranges(depth, node)
        places = np.arange(int(low), int(high))
        found.append(int(tree.order[places[int(np.argmax(weighed.evidence.at(places)))]]))
        node = int(tree.parents(depth, np.array([node]))[0])
    return found[::-1]


def explain(
    tree: PrefixTree,
    items: ItemStore,
    weighed: Weighed,
    trace: PathTrace,
    item: int,
    categories: tuple[tuple[str, float], ...],
) -> Explanation:
    """The explanation of one hit, an item (catalogue row) that was found by this path."""
    codes = tree.paths(tree.depth, np.array([trace.leaf]))[0].tolist()
    best = best_below(tree, weighed, trace)
    steps = tuple(
        Step(
            code=codes[depth],
            probability=float(np.exp(trace.model[depth])),
            evidence=float(trace.evidence[depth]),
            best_id=shown["id"],
            best_title=shown["title"],
            parts=weighed.of_item(best[depth]),
            reasons=_told_once(weighed, best[depth]),
        )
        for depth, shown in enumerate(items.take(np.array(best)))
    )
    return Explanation(steps, weighed.of_item(item), _told_once(weighed, item), categories)


def _told_once(weighed: Weighed, item: int) -> tuple[Match, ...]:
    """Reasons, leaving out a word that BM25 shares with a constraint or rare word."""
    every = weighed.evidence.explain(item)
    named = {match.text for match in every if match.kind != "bm25"}
    return tuple(m for m in every if m.kind != "bm25" or m.text not in named)
