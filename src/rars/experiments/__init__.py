"""The paper's tables as experiments: train all conditions, test the differences, write tables and a report.

Owns: ``experiment``, which notebooks, scripts and the command ``rars experiment`` call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rars.analysis.study import Study as Analysis
    from rars.analysis.writing import Analysed
    from rars.data import Dataset
    from rars.experiments.design import Study
    from rars.experiments.order import Order, Outcome, Say
    from rars.experiments.processes import Watch
    from rars.experiments.several import Outcomes
    from rars.progress import Tell

    Given = Dataset | Path | str

__all__ = [
    "analysis",
    "experiment",
    "experiment_on_all",
    "is_analysis",
    "planned",
    "planned_analysis",
    "studies_by_title",
]


def experiment(
    name: str | Study,
    dataset: Given,
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    engine: str = "local",
    tune_seeds: int = 1,
    rates: Sequence[float] = (),
    changes: Sequence[str] = (),
    systems: Sequence[str] = (),
    keep: Path | str | None = None,
    watch: Watch | None = None,
    say: Say | None = None,
) -> Outcome:
    """Train and measure what is missing, test the differences, and write tables and a report to ``out``.

    ``name`` is one of ``rars.experiments.studies.STUDIES``, or a study of your own. ``jobs`` is how many runs
    there are at a time (the number of cores); ``changes`` are settings of every condition, such as
    ``"training.epochs=3"``, or of one recipe, ``"tiger:training.epochs=3"``; ``systems`` are the rows to
    make, of a study that has such a choice; ``keep`` is a folder where the numbers of finished runs stay, and
    are found without the run. A run that fails does not stop the others: see ``failures`` of
    the outcome.
    """
    from rars.experiments import order

    common = (out, size, protocol, seeds, jobs, engine, tune_seeds, rates, changes, systems, keep)
    [one] = _orders(name, [dataset], *common)
    return order.conduct(one, watch=watch, say=say)


def experiment_on_all(
    name: str | Study,
    datasets: Sequence[Given],
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    engine: str = "local",
    tune_seeds: int = 1,
    rates: Sequence[float] = (),
    changes: Sequence[str] = (),
    systems: Sequence[str] = (),
    keep: Path | str | None = None,
    watch: Watch | None = None,
    say: Say | None = None,
) -> Outcomes:
    """The same on several datasets, whose tables stand side by side as the paper's locales."""
    from rars.experiments import several

    common = (out, size, protocol, seeds, jobs, engine, tune_seeds, rates, changes, systems, keep)
    return several.conduct(_orders(name, datasets, *common), watch=watch, say=say)


def planned(
    name: str | Study,
    datasets: Given | Sequence[Given],
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    seeds: int = 5,
    tune_seeds: int = 1,
    rates: Sequence[float] = (),
    changes: Sequence[str] = (),
    systems: Sequence[str] = (),
    keep: Path | str | None = None,
) -> dict[str, Any]:
    """What an experiment would run, and what of it is there already; nothing is trained."""
    from rars.data import Dataset
    from rars.experiments import order, several

    common = (out, size, protocol, seeds, 1, "local", tune_seeds, rates, changes, systems, keep)
    listed = [datasets] if isinstance(datasets, str | PathLike | Dataset) else list(datasets)
    orders = _orders(name, listed, *common)
    return order.planned(orders[0]) if len(orders) == 1 else several.planned(orders)


def analysis(
    name: str | Analysis,
    datasets: Sequence[Dataset | Path | str],
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    changes: Sequence[str] = (),
    jobs: int | None = None,
    watch: Watch | None = None,
    say: Say | None = None,
    tell: Tell | None = None,
) -> Analysed:
    """Make a study of ``rars.analysis.studies`` on several datasets side by side, as the paper's locales.

    Identifiers, and trained runs where the study needs them, are made or taken from ``out``. ``changes`` are
    settings of the study (``"hierarchy.assignments=99"``) and of recipes (``"identifiers.sizes=[64, 64]"``).
    """
    from rars.experiments import analyses
    from rars.progress import SILENT

    order = analyses.order(name, datasets, out, size, protocol, changes, jobs)
    return analyses.conduct(order, watch=watch, say=say, tell=tell or SILENT)


def planned_analysis(
    name: str | Analysis,
    datasets: Sequence[Dataset | Path | str],
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    changes: Sequence[str] = (),
) -> dict[str, Any]:
    """What a study of several datasets would make first, and what of it is there already."""
    from rars.experiments import analyses

    return analyses.planned(analyses.order(name, datasets, out, size, protocol, changes, 1))


def is_analysis(name: str) -> bool:
    """Whether an experiment is a study of datasets and identifiers, which takes several datasets."""
    from rars.analysis.studies import STUDIES

    return name in STUDIES


def studies_by_title() -> dict[str, str]:
    """Every experiment that has a command, with what it shows."""
    from rars.analysis.studies import STUDIES as ANALYSES
    from rars.experiments.learners import NAME, TITLE
    from rars.experiments.studies import STUDIES

    titles = {name: study.title for name, study in STUDIES.items()} | {NAME: TITLE}
    return titles | {name: study.title for name, study in ANALYSES.items()}


def _orders(
    name: str | Study,
    datasets: Sequence[Given],
    out: Path | str,
    size: str,
    protocol: str | None,
    seeds: int,
    jobs: int | None,
    engine: str,
    tune_seeds: int,
    rates: Sequence[float],
    changes: Sequence[str],
    systems: Sequence[str],
    keep: Path | str | None,
) -> list[Order]:
    # Children import this package too, and need none of these.
    from rars.analysis.study import named
    from rars.data import Dataset
    from rars.errors import RarsError
    from rars.experiments.design import Setting
    from rars.experiments.order import Order
    from rars.experiments.studies import study
    from rars.runs import on_disk

    loaded = [one if isinstance(one, Dataset) else Dataset.load(Path(one)) for one in datasets]
    if not loaded:
        raise RarsError("An experiment needs at least one dataset.")
    if len(loaded) > 1 and any(one.folder is None for one in loaded):
        raise RarsError("Several datasets must each have a folder; save them first.")
    parts = named(loaded) if len(loaded) > 1 else [""]
    setting = Setting(size, tuple(changes), protocol=protocol, systems=tuple(systems))
    return [
        Order(
            study=study(name) if isinstance(name, str) else name,
            dataset=on_disk(one, Path(out)),
            setting=replace(setting, language=_language(one)),
            home=Path(out),
            seeds=seeds,
            jobs=_jobs(engine) if jobs is None else jobs,
            engine=engine,
            tune_seeds=tune_seeds,
            rates=tuple(rates),
            part=part,
            keep=None if keep is None else Path(keep),
        )
        for one, part in zip(loaded, parts, strict=True)
    ]


def _jobs(engine: str) -> int:
    """As many runs at a time as there are cores."""
    from rars.scale import choose
    from rars.scale.cores import usable_cores

    return usable_cores() if engine == "local" else choose(engine).workers


def _language(dataset: Dataset) -> str:
    """The language that all queries are in, as far as they say; empty where they say several or none."""
    found = {
        locale.partition("-")[0].partition("_")[0] for locale in dataset.query_locales if locale
    }
    return found.pop() if len(found) == 1 else ""
