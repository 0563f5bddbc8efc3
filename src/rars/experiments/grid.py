"""Which runs an experiment needs, where they are, and what is still to do.

Owns: the folder of every run (named by the digest of data and resolved recipe, so experiments share runs),
the folder of every set of identifiers, and the tasks that make them. Ignores who executes the tasks.

SIDs and splits are fixed, the model's seed varies: identifiers are learned once per dataset and settings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import disk
from rars.config import Recipe
from rars.data import Dataset
from rars.experiments import folders
from rars.experiments.design import Condition
from rars.experiments.kept import NOWHERE, Kept, run_name
from rars.experiments.tasks import SHORT, Task


@dataclass(frozen=True)
class GridCell:
    """A condition with one seed: one run folder."""

    condition: Condition
    seed: int
    recipe: Recipe
    folder: Path
    identifiers: Path | None
    kept: Kept = NOWHERE

    @property
    def name(self) -> str:
        """How progress and failures call it."""
        seed = f", seed {self.seed}" if self.condition.seeded else ""
        return f"{self.condition.label}{seed}"

    @property
    def trained(self) -> bool:
        """Whether everything a search needs is there."""
        return folders.trained(
            self.folder, generative=self.recipe.generative, tuned=self.recipe.search.tune
        )

    @property
    def missing(self) -> list[str]:
        """The rules this run is not measured under yet."""
        split = self.condition.split
        return [
            rule
            for rule in self.condition.rules
            if folders.results_of(self.folder, split, rule) is None
            and self.kept.find(self.folder.name, split, rule) is None
        ]

    @property
    def finished(self) -> bool:
        """Whether nothing is left to train or to measure: numbers that were kept need no run."""
        return not self.missing and (bool(self.condition.rules) or self.trained)


@dataclass(frozen=True)
class Grid:
    """All cells of an experiment on one dataset; ``home`` is where runs are kept."""

    home: Path
    dataset: Dataset
    cells: tuple[GridCell, ...]

    @classmethod
    def of(
        cls,
        home: Path,
        dataset: Dataset,
        conditions: Iterable[Condition],
        seeds: Iterable[int],
        kept: Kept = NOWHERE,
    ) -> Grid:
        """Conditions times seeds; ``kept`` are numbers of runs that need not be here."""
        listed = list(seeds)
        cells = [
            _cell(home, dataset, condition, seed, kept)
            for condition in conditions
            for seed in (listed if condition.seeded else [0])
        ]
        return cls(home, dataset, tuple(cells))

    def unfinished(self) -> list[GridCell]:
        """Cells with something left to train or to measure."""
        return [cell for cell in self.cells if not cell.finished]

    def identify_tasks(self) -> list[Task]:
        """What is left to do where only identifiers are wanted, each once."""
        wanted = {cell.identifiers: cell for cell in self.cells if cell.identifiers is not None}
        return [
            self._identify(folder, cell)
            for folder, cell in wanted.items()
            if not folders.identified(folder)
        ]

    def tasks(self) -> list[Task]:
        """What is left to do: identifiers first, then one task for each run that lacks something.

        A seed at a time: whoever stops early has a whole table of fewer seeds, not half of one.
        """
        left: dict[Path, list[GridCell]] = {}
        for cell in sorted(self.unfinished(), key=lambda one: one.seed):
            left.setdefault(cell.folder, []).append(cell)
        learned = {
            cells[0].identifiers: cells[0]
            for cells in left.values()
            if cells[0].identifiers is not None and not cells[0].trained
        }
        first = [
            self._identify(folder, cell)
            for folder, cell in learned.items()
            if folder is not None and not folders.identified(folder)
        ]
        return [*first, *(self._run(cells) for cells in left.values())]

    def _identify(self, folder: Path, cell: GridCell) -> Task:
        learner = cell.recipe.identifiers.learner
        sizes = " x ".join(map(str, cell.recipe.identifiers.sizes))
        arguments = self._arguments(folder, cell)
        name = f"identifiers, {learner} {sizes}".strip()
        weights = (cell.recipe.identifiers.embedder,)
        return Task(name, "identify", arguments, folder, weights=weights)

    def _run(self, cells: list[GridCell]) -> Task:
        cell = cells[0]
        rules: dict[str, list[str]] = {}
        for one in cells:
            listed = rules.setdefault(one.condition.split, [])
            listed += [rule for rule in one.missing if rule not in listed]
        source = cell.identifiers
        arguments = {
            **self._arguments(cell.folder, cell),
            "identifiers": None if source is None else str(source),
            "rules": {split: listed for split, listed in rules.items() if listed},
        }
        needs = () if source is None else (source,)
        return Task(cell.name, "run", arguments, cell.folder, needs, loaded(cell.recipe))

    def _arguments(self, out: Path, cell: GridCell) -> dict[str, Any]:
        recipe = cell.recipe.to_toml()
        return {"data": str(self.dataset.folder), "recipe": recipe, "out": str(out)}


def seeded(recipe: Recipe, seed: int) -> Recipe:
    """The same recipe with another model seed."""
    training = recipe.training.model_copy(update={"seed": seed})
    return recipe.model_copy(update={"training": training})


def loaded(recipe: Recipe) -> tuple[str, ...]:
    """The models that a run of a recipe loads: backbone and embedder, or the embedder of a dense system."""
    if recipe.generative:
        return recipe.model.backbone, recipe.identifiers.embedder
    return tuple(one.embedder for one in recipe.own.values() if hasattr(one, "embedder"))


def digest(dataset: Dataset, settings: object) -> str:
    """The digest in a folder's name: of the data and the settings it was made from."""
    return disk.digest_json([dataset.digest, settings])


def _cell(home: Path, dataset: Dataset, condition: Condition, seed: int, kept: Kept) -> GridCell:
    recipe = seeded(condition.recipe, seed)
    name = run_name(dataset.digest, recipe)
    identifiers = None
    if recipe.generative:
        known = digest(dataset, recipe.identifiers.model_dump(mode="json"))
        identifiers = home / f"identifiers-{known[:SHORT]}"
    return GridCell(condition, seed, recipe, home / "runs" / name, identifiers, kept)
