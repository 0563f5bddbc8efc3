"""Which runs an experiment needs, where they are, and what is still to do.

Owns: the folder of every run (named by the digest of data and resolved recipe, so experiments share runs),
the folder of every set of identifiers, and the commands that make them. Ignores who executes the commands.

SIDs and splits are fixed, the model's seed varies: identifiers are learned once per dataset and settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import artifacts
from rars.config import Recipe
from rars.data import Dataset
from rars.experiments.design import PLAIN, Condition
from rars.experiments.running import Task

SHORT = 12
"""Digits of a digest in a folder's name."""


@dataclass(frozen=True)
class Cell:
    """A condition with one seed: one run folder."""

    condition: Condition
    seed: int
    recipe: Recipe
    folder: Path
    identifiers: Path | None

    @property
    def name(self) -> str:
        """What a person reads while it runs."""
        seed = f", seed {self.seed}" if self.condition.seeded else ""
        return f"{self.condition.label}{seed}"

    @property
    def trained(self) -> bool:
        """Whether the run's manifest says that everything a search needs is there."""
        known = self.steps()
        return "index" in known if self.identifiers is not None else bool(known)

    @property
    def missing(self) -> list[str]:
        """The rules this run is not measured under yet."""
        return [
            rule
            for rule in self.condition.rules
            if results_of(self.folder, self.condition.split, rule) is None
        ]

    def steps(self) -> dict[str, Any]:
        """What the run's manifest records."""
        path = self.folder / "manifest.json"
        found: dict[str, Any] = artifacts.read_json(path)["steps"] if path.exists() else {}
        return found


@dataclass(frozen=True)
class Grid:
    """All cells of an experiment on one dataset; ``home`` is where runs are kept."""

    home: Path
    dataset: Dataset
    size: str
    cells: tuple[Cell, ...]

    @classmethod
    def of(
        cls,
        home: Path,
        dataset: Dataset,
        size: str,
        conditions: Iterable[Condition],
        seeds: Iterable[int],
    ) -> Grid:
        """Conditions times seeds."""
        listed = list(seeds)
        cells = [
            _cell(home, dataset, condition, seed)
            for condition in conditions
            for seed in (listed if condition.seeded else [0])
        ]
        return cls(home, dataset, size, tuple(cells))

    def unfinished(self) -> list[Cell]:
        """Cells with something left to train or to measure."""
        return [cell for cell in self.cells if not cell.trained or cell.missing]

    def tasks(self) -> list[Task]:
        """What is left to do: identifiers first, then one task for each run that lacks something."""
        left: dict[Path, list[Cell]] = {}
        for cell in self.unfinished():
            left.setdefault(cell.folder, []).append(cell)
        learned = {
            cells[0].identifiers: cells[0]
            for cells in left.values()
            if cells[0].identifiers is not None and not cells[0].trained
        }
        first = [
            self._identify(folder, cell)
            for folder, cell in learned.items()
            if folder is not None and not _identified(folder)
        ]
        return [*first, *(self._train(cells) for cells in left.values())]

    def _identify(self, folder: Path, cell: Cell) -> Task:
        def commands() -> Iterator[list[str]]:
            if not _identified(folder):
                recipe = self._recipe_file(folder, cell.recipe)
                words = ["--data", self.dataset.folder, "--out", folder, "--size", self.size]
                yield _rars("identify", "--recipe", recipe, *words)

        learner = cell.recipe.identifiers.learner
        sizes = " x ".join(map(str, cell.recipe.identifiers.sizes))
        return Task(f"identifiers, {learner} {sizes}".strip(), folder, commands)

    def _train(self, cells: list[Cell]) -> Task:
        cell = cells[0]

        def commands() -> Iterator[list[str]]:
            if not cell.trained:
                recipe = self._recipe_file(cell.folder, cell.recipe)
                words = ["--data", self.dataset.folder, "--out", cell.folder, "--size", self.size]
                if cell.identifiers is not None:
                    words += ["--identifiers", cell.identifiers]
                yield _rars("train", recipe, *words)
            for split in dict.fromkeys(one.condition.split for one in cells):
                rules = dict.fromkeys(
                    rule for one in cells if one.condition.split == split for rule in one.missing
                )
                if rules:
                    named = [] if PLAIN in rules else ["--rule", ",".join(rules)]
                    yield _rars("evaluate", cell.folder, *named, "--split", split)

        needs = () if cell.identifiers is None else (cell.identifiers,)
        return Task(cell.name, cell.folder, commands, needs)

    def _recipe_file(self, folder: Path, recipe: Recipe) -> Path:
        path = folder.with_name(f"{folder.name}.toml")
        artifacts.write_text(path, recipe.to_toml())
        return path


def seeded(recipe: Recipe, seed: int) -> Recipe:
    """The same recipe with another model seed."""
    training = recipe.training.model_copy(update={"seed": seed})
    return recipe.model_copy(update={"training": training})


def digest(dataset: Dataset, settings: object) -> str:
    """What a folder's name says: the data and the settings it was made from."""
    return artifacts.digest_json([dataset.digest, settings])


def results_of(folder: Path, split: str, rule: str) -> Path | None:
    """The numbers of a run under a rule, or None; a plain system has one file whatever its rule is called."""
    results = folder / "results"
    if rule != PLAIN:
        path = results / f"{split}-{rule}.json"
        return path if path.exists() else None
    found = sorted(results.glob(f"{split}-*.json"))
    return found[0] if found else None


def _cell(home: Path, dataset: Dataset, condition: Condition, seed: int) -> Cell:
    recipe = seeded(condition.recipe, seed)
    name = f"{recipe.name}-{digest(dataset, recipe.model_dump(mode='json'))[:SHORT]}"
    identifiers = None
    if condition.rules != (PLAIN,):
        known = digest(dataset, recipe.identifiers.model_dump(mode="json"))
        identifiers = home / f"identifiers-{known[:SHORT]}"
    return Cell(condition, seed, recipe, home / "runs" / name, identifiers)


def _identified(folder: Path) -> bool:
    path = folder / "manifest.json"
    return path.exists() and "identifiers" in artifacts.read_json(path)["steps"]


def _rars(*words: object) -> list[str]:
    return [sys.executable, "-m", "rars", *map(str, words), "--json"]
