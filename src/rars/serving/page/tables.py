"""The numbers behind an explanation, one row a step.

Owns: which figures are shown, and how each is written. Ignores where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import exp
from typing import Any, NamedTuple

from rars.search.retriever import Retriever
from rars.serving.page.sentences import PARTS, percent
from rars.serving.schemas import Branch
from rars.serving.systems import Opened


class StepRow(NamedTuple):
    """A step of an item's path; ``place`` and ``cutoff`` where the beam was watched, ``best`` where not."""

    name: str
    chance: str
    evidence: str
    score: str
    kept: bool | None = None
    place: str = ""
    cutoff: str = ""
    best: str = ""


def steps(
    explained: Mapping[str, Any] | None, facts: Mapping[str, Any], opened: Opened
) -> list[StepRow]:
    """The path of an item that was found (``explained``), or of one that was not."""
    if explained is not None:
        found = explained["steps"]
        scores = accumulate(one["model"] + one["evidence"] for one in found)
        return [
            StepRow(
                one["name"],
                _share(one["model"], one["probability"]),
                f"{one['evidence']:+.2f}",
                f"{score:.2f}",
                best=one["best_title"],
            )
            for one, score in zip(found, scores, strict=True)
        ]
    system = opened.system
    normal = isinstance(system, Retriever) and system.settings.score == "probability"
    return [
        StepRow(
            one["name"],
            _share(one["model"], exp(one["model"]) if normal else None),
            f"{one['evidence']:+.2f}",
            f"{one['score']:.2f}",
            one["kept"],
            "–" if one["rank"] is None else f"{one['rank']:,} of {one['candidates']:,}",
            "–" if one["cutoff"] is None else f"{one['cutoff']:.2f}",
        )
        for one in facts["steps"]
    ]


def parts(explained: Mapping[str, Any] | None) -> list[tuple[str, float]]:
    """What each kind of evidence says of the item."""
    found = {} if explained is None else explained["parts"]
    return [(PARTS.get(name, name), value) for name, value in found.items()]


def chance(branch: Branch) -> str:
    """How probable the model finds a branch; what it adds, where that is no probability."""
    return _share(branch.model, branch.probability)


def _share(model: float, probability: float | None) -> str:
    return f"{model:+.2f}" if probability is None else percent(probability)
