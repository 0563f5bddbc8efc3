"""An experiment from start to end: choose the learning rate, train and measure the runs, write the results.

Owns: the sequence of these steps and what ends up in ``HOME/NAME/``: ``results.json``, ``table.md``,
``table.tex``, ``figure.png`` and ``report.html``. Ignores how progress is shown.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rars import __version__, disk
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import Truth, tables
from rars.experiments import folders, learning_rate, page
from rars.experiments.design import Ints, Setting, Study
from rars.experiments.findings import findings
from rars.experiments.grid import Grid, GridCell
from rars.experiments.kept import Kept
from rars.experiments.learning_rate import Curve, RateSearch
from rars.experiments.processes import Failure, State, Watch, run_all
from rars.experiments.results import Results, collect, keep
from rars.identifiers import Identifiers
from rars.tree import PrefixTree

Say = Callable[[str], None]


@dataclass(frozen=True)
class Order:
    """What to run: a study on a dataset, with how many seeds; a wrong option is refused here.

    ``home``        the folder of runs and results
    ``jobs``        runs at a time
    ``engine``      where they run: local, or ray
    ``tune_seeds``  seeds of each learning rate that is tried
    ``rates``       the rates to choose from; empty: multiples of the size's own
    ``part``        the dataset's name, where the experiment is made on several
    ``keep``        a folder of numbers that need no run (``Kept``)
    """

    study: Study
    dataset: Dataset
    setting: Setting
    home: Path
    seeds: int = 5
    jobs: int = 1
    engine: str = "local"
    tune_seeds: int = 1
    rates: tuple[float, ...] = ()
    part: str = ""
    keep: Path | None = None

    def __post_init__(self) -> None:
        if self.seeds < 1 or self.tune_seeds < 1:
            raise RarsError("--seeds and --tune-seeds must be at least 1.")
        if self.jobs < 1:
            raise RarsError(f"--jobs {self.jobs} is less than 1.")
        for name in self.setting.systems:
            if name not in self.study.systems:
                known = ", ".join(self.study.systems)
                chosen = f"choose among {known}" if known else "it has no such choice"
                raise RarsError(f"--systems: {self.study.name} has no row {name!r}; {chosen}.")
        if any(rate <= 0 for rate in self.rates):
            raise RarsError("--rates must be positive numbers.")
        if self.setting.rate_is_given and not self.study.conditions(self.setting):
            raise RarsError(
                f"{self.study.name} chooses training.learning_rate; leave out that --set."
            )
        for split in ("test",) if self.setting.rate_is_given else ("test", "validation"):
            if not len(Truth.of(self.dataset, split)):
                raise RarsError(f"{self.dataset.where} has no {split} query with a relevant item.")
        self._check_subsets()

    def _check_subsets(self) -> None:
        """An empty part of the queries is refused now, not after hours of training."""
        asked = Truth.of(self.dataset, "test").queries
        for name, queries in (self.subsets or {}).items():
            if not np.isin(asked, queries).any():
                raise RarsError(
                    f"{self.dataset.where} has no {name} test query with a relevant item."
                )

    @property
    def subsets(self) -> dict[str, Ints] | None:
        """The parts of the test queries that the study looks at."""
        return None if self.study.subsets is None else self.study.subsets(self.dataset)

    @property
    def search(self) -> RateSearch:
        """How the learning rate is chosen."""
        return RateSearch(
            self.home, self.dataset, self.setting, self.tune_seeds, self.rates, Kept(self.keep)
        )

    @property
    def tuned(self) -> tuple[str, ...]:
        """The recipes a rate is chosen for; without a row that is trained at Base's, none."""
        if self.setting.rate_is_given:
            return ()
        conditions = self.study.conditions(self.setting)
        if conditions and not any(one.recipe.generative for one in conditions):
            return ()
        return tuple(one for one in self.study.tuned if one == "base" or self.setting.asked(one))

    @property
    def folder(self) -> Path:
        """Where the results go."""
        return self.home / self.study.name / self.part

    def grid(self, setting: Setting) -> Grid:
        """The runs of the study itself."""
        conditions = self.study.conditions(setting)
        return Grid.of(self.home, self.dataset, conditions, range(self.seeds), Kept(self.keep))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of an experiment, its tables, and the folder they were written to."""

    folder: Path
    results: Results
    tables: list[tables.Table]
    findings: list[str]
    failures: list[Failure]
    payload: dict[str, Any]

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables."""
        return tables.html(*self.tables)


def conduct(order: Order, *, watch: Watch | None = None, say: Say | None = None) -> Outcome:
    """Train and measure what is missing, and write the results; failed runs are named in the outcome."""
    started = time.perf_counter()
    writable(order.home)
    speak = say or (lambda text: None)
    failures: list[Failure] = []

    def work(grid: Grid) -> None:
        left = grid.tasks()
        if order.study.on_tree is not None:
            # Numbers that were kept need no run, but their queries are told apart by the tree.
            known = {one.folder for one in left}
            left = [*(one for one in grid.identify_tasks() if one.folder not in known), *left]
        speak(f"  {described(grid)}")
        failures.extend(run_all(left, order.jobs, _keeping(grid, watch), order.engine))

    curves: dict[str, Curve] = {}
    if order.tuned:
        speak(f"Learning rate of {' and '.join(order.tuned)}, on validation queries:")
        curves = learning_rate.choose(order.search, order.tuned, work)
        failures.clear()  # a rate that failed is in the curve, and no cell of the study
        for recipe, curve in curves.items():
            speak(f"  {recipe}: {curve.best:g}")
    setting = chosen(order, curves)
    grid = order.grid(setting)
    if grid.cells:
        speak(f"{order.study.name}: {order.study.title}.")
        work(grid)
    lacking = _lacking(grid, failures)
    failures = [one for one in failures if not one.unavailable]
    conditions, contrasts = order.study.conditions(setting), order.study.contrasts(setting)
    parts = {**(order.subsets or {}), **_parts_on_tree(order, grid)}
    results = collect(grid, setting, conditions, contrasts, order.study.measures, parts)
    if grid.cells and not results.scores:
        why = [*map(str, failures), *lacking.values()]
        raise RarsError(f"No run of {order.study.name} could be made: {why[0].rstrip('.')}.")
    results = replace(results, lacking=lacking)
    seconds = round(time.perf_counter() - started, 1)
    return _written(order, grid, results, curves, failures, seconds)


def _keeping(grid: Grid, watch: Watch | None) -> Watch:
    """Watches, and keeps the numbers of each run as it ends: who stops the others has them."""
    done = 0

    def told(state: State) -> None:
        nonlocal done
        if state.done > done:
            done = state.done
            keep(grid)
        if watch is not None:
            watch(state)

    return told


def _parts_on_tree(order: Order, grid: Grid) -> dict[str, Ints]:
    """Parts of the test queries that follow from where relevance divides; the empty ones are left out."""
    homes = [cell.identifiers for cell in grid.cells if cell.identifiers is not None]
    if order.study.on_tree is None or not homes or not folders.identified(homes[0]):
        return {}
    tree = PrefixTree.build(Identifiers.load(homes[0] / "identifiers").codes)
    asked = Truth.of(order.dataset, "test").queries
    found = order.study.on_tree(order.dataset, tree)
    return {name: queries for name, queries in found.items() if np.isin(asked, queries).any()}


def _lacking(grid: Grid, failures: list[Failure]) -> dict[str, str]:
    """Why each condition has no run whose weights cannot be had."""
    keys = {cell.name: cell.condition.key for cell in grid.cells}
    gone = {one.name: one.why for one in failures if one.unavailable}
    return {keys[name]: why for name, why in gone.items() if name in keys}


def planned(order: Order) -> dict[str, Any]:
    """What would be run: the search for a learning rate where it is not known, then the study's own runs."""
    known = {recipe: order.search.known(recipe) for recipe in order.tuned}
    curves = {recipe: curve for recipe, curve in known.items() if curve is not None}
    unknown = [recipe for recipe in order.tuned if recipe not in curves]
    search = order.search
    tried = [one for name in unknown for one in search.conditions(name, search.first_rates(name))]
    cells = [_planned("learning rate", cell) for cell in search.grid(tried).cells]
    step = "at the chosen rate" if unknown else order.study.name
    for cell in order.grid(chosen(order, curves)).cells:
        one = _planned(step, cell)
        # Which folder a run will have follows from the rate, which is not chosen yet.
        cells.append(one | {"folder": "", "state": "to do"} if unknown else one)
    return {"experiment": order.study.name, "out": str(order.home), "cells": cells}


def _planned(step: str, cell: GridCell) -> dict[str, str]:
    state = "there" if cell.finished else "to measure" if cell.trained else "to train"
    return {
        "step": step,
        "name": cell.name,
        "folder": cell.folder.name,
        "state": state,
    }


def chosen(order: Order, curves: Mapping[str, Curve]) -> Setting:
    """The setting with the rates that were chosen."""
    rates = {recipe: curve.best for recipe, curve in curves.items()}
    return replace(order.setting, rates=rates)


def described(grid: Grid) -> str:
    """How many runs a grid needs, how many are done, to train and to measure, in one line."""
    folders = {cell.folder for cell in grid.cells}
    left = {cell.folder for cell in grid.unfinished()}
    untrained = {cell.folder for cell in grid.unfinished() if not cell.trained}
    return (
        f"{len(folders)} runs: {len(folders - left)} are there, {len(untrained)} to train, "
        f"{len(left - untrained)} to measure."
    )


def writable(home: Path) -> None:
    """Refuse a folder that nothing can be written to, before hours of work."""
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RarsError(f"--out {home} cannot be made: {error.strerror}.") from error
    if not os.access(home, os.W_OK | os.X_OK):
        raise RarsError(f"--out {home} cannot be written to.")


def _written(
    order: Order,
    grid: Grid,
    results: Results,
    curves: Mapping[str, Curve],
    failures: list[Failure],
    seconds: float,
) -> Outcome:
    folder = order.folder
    made, said = order.study.tables(results), findings(results)
    shown = [*made, *([learning_rate.table(list(curves.values()))] if curves else [])]
    payload = _payload(order, grid, results, curves, failures, seconds) | {"findings": said}
    disk.write_json(folder / "results.json", payload)
    text = [f"# {order.study.title}", "", *(tables.markdown(table) + "\n" for table in shown)]
    disk.write_text(folder / "table.md", "\n".join(text))
    disk.write_text(folder / "table.tex", "\n".join(map(tables.latex, shown)))
    pictures = []
    if order.study.draw is not None:
        order.study.draw(results, folder / "figure.png")
        pictures.append(folder / "figure.png")
    tuning = None
    if curves:
        tuning = folder / ("learning-rate.png" if grid.cells else "figure.png")
        learning_rate.draw(list(curves.values()), tuning)
    missing = [*map(str, failures), *results.lacking_sentences]
    html = page.report(payload, made, pictures, list(curves.values()), tuning, missing)
    disk.write_text(folder / "report.html", html)
    return Outcome(folder, results, shown, said, failures, payload)


def _payload(
    order: Order,
    grid: Grid,
    results: Results,
    curves: Mapping[str, Curve],
    failures: list[Failure],
    seconds: float,
) -> dict[str, Any]:
    dataset = order.dataset
    return {
        "experiment": order.study.name,
        "title": order.study.title,
        "rars": __version__,
        "data": {"name": dataset.name, "digest": dataset.digest, "items": dataset.n_items},
        "size": results.setting.size,
        "changes": list(results.setting.changes),
        "systems": list(results.setting.systems),
        "seeds": order.seeds,
        "learning_rate": {name: curve.as_dict() for name, curve in curves.items()},
        "learning_rate_given": order.setting.rate_is_given,
        **results.as_dict(),
        "runs": [_run(cell) for cell in grid.cells],
        "failures": [str(one) for one in failures],
        "seconds": seconds,
    }


def _run(cell: GridCell) -> dict[str, Any]:
    """What was run for one cell."""
    model = folders.steps(cell.folder).get("model", {})
    return {
        "condition": cell.condition.key,
        "label": cell.condition.label,
        "seed": cell.seed if cell.condition.seeded else None,
        "rules": list(cell.condition.rules),
        "run": cell.folder.name,
        "recipe": cell.recipe.name,
        "recipe_digest": disk.digest_json(cell.recipe.model_dump(mode="json")),
        "learning_rate": cell.recipe.training.learning_rate if cell.identifiers else None,
        "identifiers": cell.identifiers.name if cell.identifiers else None,
        "seconds": model.get("seconds"),
        "steps": model.get("steps"),
        "finished": cell.finished,
    }
