"""Why an item was found: every branch decision on its path, and what spoke for it.

Owns: the explanation of one hit. Ignores how it is shown. The terms of the steps add up to the hit's score.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rars.arrays import Bools, Floats
from rars.search.evidence import Match
from rars.search.evidence.parts import Weighed
from rars.search.store import ItemStore
from rars.tree import PrefixTree, code_name


@dataclass(frozen=True)
class Step:
    """One code of the path.

    ``name``         the code as people read it: ``a57``
    ``model``        what the model added to the score here: a log-probability, or a raw logit
    ``probability``  the model's, of this code given the ones before; None where raw logits are added up
    ``evidence``     what evidence added to the score here (lambda included)
    ``best``         the item below this prefix with the most evidence: its id and title, what each part of
                     the evidence says of it, and which constraints and words it has
    """

    name: str
    code: int
    model: float
    probability: float | None
    evidence: float
    best_id: str
    best_title: str
    parts: dict[str, float]
    reasons: tuple[Match, ...]

    @property
    def term(self) -> float:
        """What the step adds to the score."""
        return self.model + self.evidence

    def __str__(self) -> str:
        """Such as: model 33.8 %  evidence +5.04  = +3.96."""
        own = (
            f"{self.model:+.2f}" if self.probability is None else f"{100 * self.probability:5.1f} %"
        )
        return f"model {own}  evidence {self.evidence:+.2f}  = {self.term:+.2f}"


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
        lines = [f"{step.name:>6}  {step}" for step in self.steps]
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
    """What the beam noted about one identifier: its leaf, and (depth,) terms of model and evidence.

    ``score``  what the model's terms are: log-``probability``, or ``logit``
    """

    leaf: int
    model: Floats
    evidence: Floats
    score: str = "probability"


def best_below(
    tree: PrefixTree, weighed: Weighed, trace: PathTrace, marks: Bools | None = None
) -> list[int]:
    """For each depth of a path, the item (catalogue row) below its prefix with the most evidence.

    ``marks`` (items,) in SID order are those that may be found.
    """
    found = []
    node = trace.leaf
    for depth in range(tree.depth, 0, -1):
        low, high = tree.item_ranges(depth, node)
        places = np.arange(int(low), int(high))
        if marks is not None:
            places = places[marks[low:high]]
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
    marks: Bools | None = None,
) -> Explanation:
    """The explanation of one hit, an item (catalogue row) that was found by this path."""
    codes = tree.paths(tree.depth, np.array([trace.leaf]))[0].tolist()
    best = best_below(tree, weighed, trace, marks)
    steps = tuple(
        Step(
            name=code_name(depth, codes[depth]),
            code=codes[depth],
            model=float(trace.model[depth]),
            probability=float(np.exp(trace.model[depth])) if trace.score == "probability" else None,
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
