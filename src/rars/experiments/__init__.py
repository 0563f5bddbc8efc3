"""The paper's tables as experiments: train all conditions, test the differences, write tables and a report.

Owns: ``experiment``, which notebooks, scripts and the command ``rars experiment`` call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rars.analysis.study import Study as Analysis
    from rars.analysis.writing import Analysed
    from rars.data import Dataset
    from rars.experiments.design import Study
    from rars.experiments.order import Order, Outcome, Say
    from rars.experiments.processes import Watch
    from rars.progress import Tell

__all__ = [
    "analysis",
    "experiment",
    "is_analysis",
    "planned",
    "planned_analysis",
    "studies_by_title",
]


def experiment(
    name: str | Study,
    dataset: Dataset | Path | str,
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    tune_seeds: int = 1,
    rates: Sequence[float] = (),
    changes: Sequence[str] = (),
    watch: Watch | None = None,
    say: Say | None = None,
) -> Outcome:
    """Train and measure what is missing, test the differences, and write tables and a report to ``out``.

    ``name`` is one of ``rars.experiments.studies.STUDIES``, or a study of your own. ``jobs`` is how many runs
    there are at a time (the number of cores); ``changes`` are settings of every condition, such as
    ``"training.epochs=3"``. A run that fails does not stop the others: see ``failures`` of the outcome.
    """
    from rars.experiments.order import conduct

    order = _order(name, dataset, out, size, protocol, seeds, jobs, tune_seeds, rates, changes)
    return conduct(order, watch=watch, say=say)


def planned(
    name: str | Study,
    dataset: Dataset | Path | str,
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    seeds: int = 5,
    tune_seeds: int = 1,
    rates: Sequence[float] = (),
    changes: Sequence[str] = (),
) -> dict[str, Any]:
    """What an experiment would run, and what of it is there already; nothing is trained."""
    from rars.experiments import order

    return order.planned(
        _order(name, dataset, out, size, protocol, seeds, 1, tune_seeds, rates, changes)
    )


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
    from rars.experiments.studies import STUDIES

    titles = {name: study.title for name, study in STUDIES.items()}
    return titles | {name: study.title for name, study in ANALYSES.items()}


def _order(
    name: str | Study,
    dataset: Dataset | Path | str,
    out: Path | str,
    size: str,
    protocol: str | None,
    seeds: int,
    jobs: int | None,
    tune_seeds: int,
    rates: Sequence[float],
    changes: Sequence[str],
) -> Order:
    # Children import this package too, and need none of these.
    from rars.data import Dataset
    from rars.experiments.design import Setting
    from rars.experiments.order import Order
    from rars.experiments.processes import usable_cores
    from rars.experiments.studies import study
    from rars.runs import on_disk

    given = dataset if isinstance(dataset, Dataset) else Dataset.load(Path(dataset))
    return Order(
        study=study(name) if isinstance(name, str) else name,
        dataset=on_disk(given, Path(out)),
        setting=Setting(size, tuple(changes), protocol=protocol),
        home=Path(out),
        seeds=seeds,
        jobs=usable_cores() if jobs is None else jobs,
        tune_seeds=tune_seeds,
        rates=tuple(rates),
    )
