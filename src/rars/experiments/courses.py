"""How trainings went: what a run measured of itself on validation queries, epoch by epoch.

Owns: reading a course from a run's journal (``training.evaluations``). Ignores how it is drawn, and where
numbers outlive their runs (``rars.experiments.kept``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars.training import journal

MEASURED = {"Recall@100": "validation", "nDCG@10": "validation_ndcg"}
"""What is measured on the way, and what the journal calls it."""


@dataclass(frozen=True)
class Course:
    """Measures (fractions of 1) at epochs, in order."""

    epochs: tuple[float, ...]
    values: Mapping[str, tuple[float, ...]]

    @classmethod
    def read(cls, path: Path) -> Course | None:
        """The course that a journal tells of; None where nothing was measured."""
        lines = [
            line for line in journal.read(path) if all(key in line for key in MEASURED.values())
        ]
        if not lines:
            return None
        epochs = tuple(float(line["epoch"]) for line in lines)
        values = {name: tuple(float(line[key]) for line in lines) for name, key in MEASURED.items()}
        return cls(epochs, values)

    def best(self, name: str) -> tuple[float, float]:
        """The epoch at which a measure was highest for the first time, and its value there."""
        value = max(self.values[name])
        return self.epochs[self.values[name].index(value)], value

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"epochs": list(self.epochs)} | {
            name: list(values) for name, values in self.values.items()
        }

    @classmethod
    def of_dict(cls, known: Mapping[str, Any]) -> Course:
        """From what ``as_dict`` wrote."""
        values = {name: tuple(map(float, known[name])) for name in MEASURED}
        epochs = tuple(map(float, known["epochs"]))
        if not epochs or any(len(one) != len(epochs) for one in values.values()):
            raise ValueError("a measure is missing at some epochs")
        return cls(epochs, values)
