"""Loss curves of a run, from its journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rars.analysis import figures
from rars.errors import RarsError
from rars.training import journal

NAMES = {
    "leaf": "identifier likelihood",
    "tree": "branch allocation",
    "cls": "category class",
    "con": "category contrast",
}


def draw(source: Path, path: Path) -> dict[str, Any]:
    """Every loss term over the epochs, smoothed, and the learning rate with the gradient norm."""
    lines = [line for line in journal.read(source) if "loss" in line]
    if not lines:
        raise RarsError(f"{source} has no training steps to draw.")
    measured = [line for line in journal.read(source) if "validation" in line]
    epoch = np.array([line["epoch"] for line in lines])
    present = [name for name in NAMES if name in lines[0]]
    with figures.figure(path, panels=len(present) + 1, width=3.2) as axes:
        for axis, name in zip(axes, present, strict=False):
            values = np.array([line[name] for line in lines])
            axis.plot(epoch, values, color=figures.BLUE, alpha=0.25, lw=0.8)
            axis.plot(*_smooth(epoch, values), color=figures.BLUE, lw=1.6)
            axis.set(xlabel="epoch", title=NAMES[name], ylim=(0, None))
        rest = axes[-1]
        rest.plot(epoch, [line["learning_rate"] for line in lines], color=figures.ORANGE)
        rest.set(xlabel="epoch", title="learning rate")
        if measured:
            rest.set(title="learning rate, validation recall")
            other = rest.twinx()
            other.plot(
                [m["epoch"] for m in measured],
                [100 * m["validation"] for m in measured],
                "o-",
                color=figures.GREEN,
                ms=4,
            )
            other.set(ylabel="recall@100 (%)")
    return {"plot": str(path), "steps": lines[-1]["step"], "last": lines[-1]}


def _smooth(epoch: Any, values: Any) -> tuple[Any, Any]:
    width = max(1, len(values) // 40)
    usable = len(values) // width * width
    shape = (-1, width)
    return epoch[:usable].reshape(shape).mean(1), values[:usable].reshape(shape).mean(1)
