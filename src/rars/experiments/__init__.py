"""The paper's tables as experiments: train all conditions, test the differences, write tables and a report.

Owns: ``experiment``, which notebooks, scripts and the command ``rars experiment`` call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rars.data import Dataset
    from rars.experiments.design import Study
    from rars.experiments.order import Order, Outcome, Say
    from rars.experiments.processes import Watch

__all__ = ["experiment", "planned", "studies_by_title"]


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


def studies_by_title() -> dict[str, str]:
    """Every experiment that has a command, with what it shows."""
    from rars.experiments.learners import NAME, TITLE
    from rars.experiments.studies import STUDIES

    return {**{name: study.title for name, study in STUDIES.items()}, NAME: TITLE}


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
