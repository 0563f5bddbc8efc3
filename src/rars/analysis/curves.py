"""Loss curves of a run: every term of its recipe, gradient norm, learning rate and validation recall.

Owns: the figure of ``rars plot``, drawn from ``journal.jsonl``. Ignores how the journal is written
(``rars.training.journal``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rars.analysis import figures
from rars.config import Recipe
from rars.errors import RarsError
from rars.objectives import TERMS
from rars.training import journal


def titles(recipe: Recipe) -> dict[str, str]:
    """The name of every term of a recipe, and what a figure calls it."""
    listed = [one for phase in recipe.phases for one in phase.terms]
    return {
        one.name: TERMS[one.term].title + (f" ({one.name})" if one.name != one.term else "")
        for one in listed
    }


def draw(source: Path, path: Path, terms: Mapping[str, str]) -> dict[str, Any]:
    """Every loss term over the epochs, smoothed; the gradient's norm, and in how many steps it was clipped;
    the learning rate with validation recall.
    """
    every = journal.read(source)
    lines = [line for line in every if "loss" in line]
    if not lines:
        raise RarsError(f"{source} has no training steps to draw.")
    measured = [line for line in every if "validation" in line]
    present = [name for name in terms if any(name in line for line in lines)]
    norms = [line for line in lines if "gradient_norm" in line]
    panels = len(present) + 1 + bool(norms)
    with figures.figure(path, panels=panels, width=3.2) as axes:
        for axis, name in zip(axes, present, strict=False):
            own = [line for line in lines if name in line]
            epoch = np.array([line["epoch"] for line in own])
            values = np.array([line[name] for line in own])
            axis.plot(epoch, values, color=figures.BLUE, alpha=0.25, lw=0.8)
            axis.plot(*_smooth(epoch, values), color=figures.BLUE, lw=1.6)
            axis.set(xlabel="epoch", title=terms[name], ylim=(min(0.0, values.min()), None))
        if norms:
            _norms(axes[len(present)], norms)
        _rates(axes[-1], lines, measured)
    found = {"plot": str(path), "steps": lines[-1]["step"], "last": lines[-1]}
    return found | {"clipped": clipped_share(lines)}


def clipped_share(lines: list[dict[str, Any]]) -> float | None:
    """The share of steps whose gradient was clipped; None if the journal does not say."""
    known = [line["clipped"] for line in lines if "clipped" in line]
    return float(np.mean(known)) if known else None


def _norms(axis: Any, lines: list[dict[str, Any]]) -> None:
    epoch = np.array([line["epoch"] for line in lines])
    values = np.array([line["gradient_norm"] for line in lines])
    axis.plot(epoch, values, color=figures.BLUE, alpha=0.25, lw=0.8)
    axis.plot(*_smooth(epoch, values), color=figures.BLUE, lw=1.6)
    share = clipped_share(lines)
    clipped = "" if share is None else f" ({100 * share:.0f} % clipped)"
    axis.set(xlabel="epoch", title=f"gradient norm{clipped}", yscale="log")


def _rates(axis: Any, lines: list[dict[str, Any]], measured: list[dict[str, Any]]) -> None:
    epoch = [line["epoch"] for line in lines]
    axis.plot(epoch, [line["learning_rate"] for line in lines], color=figures.ORANGE)
    axis.set(xlabel="epoch", title="learning rate")
    if measured:
        axis.set(title="rate, validation recall")
        other = axis.twinx()
        recall = [100 * one["validation"] for one in measured]
        other.plot([one["epoch"] for one in measured], recall, "o-", color=figures.GREEN, ms=4)
        other.set(ylabel="recall@100 (%)")


def _smooth(epoch: Any, values: Any) -> tuple[Any, Any]:
    width = max(1, len(values) // 40)
    usable = len(values) // width * width
    shape = (-1, width)
    return epoch[:usable].reshape(shape).mean(1), values[:usable].reshape(shape).mean(1)
