"""A study of relevance on a tree, on several datasets side by side.

Owns: which identifiers and trained runs such a study needs, that they are made where they are missing, and
that its results go to ``HOME/NAME``. Ignores what is studied (``rars.analysis``).

Identifiers and runs are those of the other experiments in the same home: same data and settings, same folder.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rars import locks
from rars.analysis.studies import study
from rars.analysis.study import Scene, Study, StudySettings, named
from rars.analysis.writing import Analysed, write
from rars.data import Dataset
from rars.errors import RarsError
from rars.experiments import folders
from rars.experiments.design import Condition, Setting
from rars.experiments.grid import Grid, GridCell
from rars.experiments.learning_rate import RateSearch
from rars.experiments.order import Say, writable
from rars.experiments.processes import Watch, run_all, usable_cores
from rars.experiments.tasks import Task
from rars.pipeline.studies import tree_of
from rars.progress import SILENT, Tell
from rars.runs import Run, on_disk


@dataclass(frozen=True)
class Order:
    """What to make: a study on datasets; a wrong option is refused here.

    ``home``  the folder of runs, identifiers and results
    """

    study: Study
    settings: StudySettings
    datasets: tuple[Dataset, ...]
    setting: Setting
    home: Path
    jobs: int

    def grids(self) -> Iterator[Grid]:
        """The runs of each dataset: those the study needs trained, or the one that has the identifiers."""
        for dataset in self.datasets:
            setting = self._with_rate(dataset)
            recipes = self.study.trains or ("rars",)
            conditions = [Condition(name, name, setting.recipe(name), rules=()) for name in recipes]
            yield Grid.of(self.home, dataset, conditions, [0])

    def _with_rate(self, dataset: Dataset) -> Setting:
        """At the rate that the other experiments chose, where one was chosen and none is given."""
        if not self.study.trains or self.setting.rate_is_given:
            return self.setting
        known = RateSearch(self.home, dataset, self.setting, 1, ()).known("base")
        return self.setting if known is None else replace(self.setting, rates={"base": known.best})

    def tasks(self, grid: Grid) -> list[Task]:
        """What is missing of a dataset's runs."""
        left = grid.tasks()
        return left if self.study.trains else [one for one in left if one.kind == "identify"]


def order(
    name: str | Study,
    datasets: Sequence[Dataset | Path | str],
    out: Path | str,
    size: str,
    protocol: str | None,
    changes: Sequence[str],
    jobs: int | None,
) -> Order:
    """An order as a person gives it: settings of the study begin with its name, others are a recipe's."""
    chosen = study(name) if isinstance(name, str) else name
    if isinstance(datasets, str | Path | Dataset) or not datasets:
        raise RarsError(f"The study {chosen.name} needs a list of at least one dataset.")
    loaded = [one if isinstance(one, Dataset) else Dataset.load(Path(one)) for one in datasets]
    if len(loaded) > 1 and any(one.folder is None for one in loaded):
        raise RarsError("Several datasets must each have a folder; save them first.")
    named(loaded)
    mine = f"{chosen.name}."
    own = [text.strip().removeprefix(mine) for text in changes if text.strip().startswith(mine)]
    rest = tuple(text for text in changes if not text.strip().startswith(mine))
    if jobs is not None and jobs < 1:
        raise RarsError(f"--jobs {jobs} is less than 1.")
    made = Order(
        chosen,
        chosen.asked(own),
        tuple(on_disk(one, Path(out)) for one in loaded),
        Setting(size, rest, protocol=protocol),
        Path(out),
        usable_cores() if jobs is None else jobs,
    )
    list(made.grids())  # a wrong setting of a recipe is refused now
    return made


def conduct(
    order: Order, *, watch: Watch | None = None, say: Say | None = None, tell: Tell = SILENT
) -> Analysed:
    """Make what is missing, study all datasets together, and write the results."""
    writable(order.home)
    grids = list(order.grids())
    tasks = [task for grid in grids for task in order.tasks(grid)]
    if tasks:
        if say is not None:
            say(f"{order.study.name}: {len(tasks)} to make first.")
        if failures := run_all(tasks, order.jobs, watch):
            raise RarsError(f"What {order.study.name} needs could not be made: {failures[0]}.")
    names = named([grid.dataset for grid in grids])
    scenes = [order_scene(name, grid) for name, grid in zip(names, grids, strict=True)]
    began = time.perf_counter()
    result = order.study.run(scenes, order.settings, tell)
    seconds = time.perf_counter() - began
    folder = order.home / order.study.name
    made = Analysed(order.study, order.settings, scenes, result, seconds, folder)
    with locks.held(folder):
        write(made)
    return made


def order_scene(name: str, grid: Grid) -> Scene:
    """The dataset of a grid, with its tree and its runs."""
    found = [Run.open(_folder(cell)) for cell in grid.cells]
    other = found[1] if len(found) > 1 else None
    return Scene(name, grid.dataset, tree_of(found[0]), found[0], other)


def planned(order: Order) -> dict[str, Any]:
    """What would be made first, and what is there."""
    cells = []
    for grid in order.grids():
        for cell in grid.cells:
            there = cell.trained if order.study.trains else folders.identified(_folder(cell))
            cells.append(
                {
                    "step": "train" if order.study.trains else "identify",
                    "name": f"{grid.dataset.name}, {cell.name}",
                    "folder": _folder(cell).name,
                    "state": "there" if there else "to do",
                }
            )
    return {"experiment": order.study.name, "out": str(order.home), "cells": cells}


def _folder(cell: GridCell) -> Path:
    """The trained run, or else the folder that has the identifiers."""
    if cell.trained or cell.identifiers is None:
        return cell.folder
    return cell.identifiers
