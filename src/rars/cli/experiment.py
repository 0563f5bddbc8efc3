"""``rars experiment``: a table of the paper, all seeds, one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rars.cli import console
from rars.cli.analyze import show_study
from rars.cli.console import Styled
from rars.errors import RarsError

if TYPE_CHECKING:
    from rars.experiments.learners import LearnerOutcome
    from rars.experiments.order import Outcome
    from rars.experiments.processes import Failure, State, Watch
    from rars.experiments.several import Outcomes


def experiment(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which one; left out, they are listed.")
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", metavar="DIR", help="The dataset folder; repeat it for several side by side."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs and results are kept.")
    ] = Path("runs/experiments"),
    size: console.Size = "tiny",
    protocol: console.Protocol = None,
    seeds: Annotated[int, typer.Option(help="How many training seeds: 0, 1, ...")] = 5,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time; the number of cores if not given.")
    ] = None,
    engine: console.Engine = "local",
    tune_seeds: Annotated[int, typer.Option(help="Seeds for choosing the learning rate.")] = 1,
    rates: Annotated[
        str | None, typer.Option(help="Learning rates to choose from, with commas.")
    ] = None,
    changes: console.Changes = None,
    systems: Annotated[
        str | None,
        typer.Option(help="Only these rows of main, nq320k or identifiers, with commas."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the numbers of finished runs there, a few kilobytes each; a run whose numbers are "
            "there is not trained again.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be run.")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Make a table of the paper: train what is missing, measure, test, write tables and a report.

    Stopped or killed, the same command goes on. --set changes a setting of every condition, or of one recipe:
    --set tiger:training.epochs=3. A row whose weights cannot be had is a dash, and the table says why.

    Example: rars experiment main --data datasets/demo --size tiny --seeds 5
    """
    from rars import experiments

    if name is None:
        _list(experiments.studies_by_title(), as_json)
        return
    if not data:
        raise RarsError(f"rars experiment {name} needs --data DIR.")
    if engine != "local" and (name == "identifiers" or experiments.is_analysis(name)):
        raise RarsError(
            f"rars experiment {name} trains no grid of runs: it has no --engine {engine}."
        )
    if name == "identifiers":
        if dry_run:
            raise RarsError("rars experiment identifiers trains no retriever and has no --dry-run.")
        rows = [one.strip() for one in systems.split(",")] if systems else []
        _identifiers(data, out, size, protocol, jobs, changes or [], rows, as_json)
        return
    if experiments.is_analysis(name):
        common: dict[str, Any] = {"out": out, "size": size, "protocol": protocol}
        common |= {"changes": changes or ()}
        _analysis(name, data, common, jobs, dry_run, as_json)
        return
    asked: dict[str, Any] = {"out": out, "size": size, "protocol": protocol, "seeds": seeds}
    asked |= {"tune_seeds": tune_seeds, "rates": _numbers(rates), "changes": changes or ()}
    asked["systems"] = [one.strip() for one in systems.split(",")] if systems else ()
    asked["keep"] = keep
    if dry_run:
        _show_plan(experiments.planned(name, data, **asked), as_json)
        return
    with watched() as watch:
        asked |= {"jobs": jobs, "engine": engine, "watch": watch, "say": console.say}
        outcome: Outcome | Outcomes = (
            experiments.experiment(name, data[0], **asked)
            if len(data) == 1
            else experiments.experiment_on_all(name, data, **asked)
        )
    payload = {**outcome.payload, "folder": str(outcome.folder)}
    console.emit(payload, as_json, lambda: _show(outcome))
    _refuse_failures(outcome.failures)


def _identifiers(
    data: list[Path],
    out: Path,
    size: str,
    protocol: str | None,
    jobs: int | None,
    changes: list[str],
    rows: list[str],
    as_json: bool,
) -> None:
    """Learners side by side: no seeds, no rate, and as many datasets as are given."""
    from rars.experiments.learners import compare_learners
    from rars.experiments.processes import usable_cores

    with watched() as watch:
        outcome = compare_learners(
            data,
            out=out,
            size=size,
            protocol=protocol,
            jobs=usable_cores() if jobs is None else jobs,
            learners=rows,
            changes=changes,
            watch=watch,
            say=console.say,
        )
    payload = {**outcome.payload, "folder": str(outcome.folder)}
    console.emit(payload, as_json, lambda: _show(outcome))
    _refuse_failures(outcome.failures)


def _refuse_failures(failures: list[Failure]) -> None:
    if failures:
        listed = "; ".join(map(str, failures))
        raise RarsError(f"{len(failures)} of the runs failed: {listed}.")


def _analysis(
    name: str,
    data: list[Path],
    asked: dict[str, Any],
    jobs: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    from rars import experiments

    if dry_run:
        _show_plan(experiments.planned_analysis(name, data, **asked), as_json)
        return
    with watched() as watch:
        made = experiments.analysis(
            name, data, **asked, jobs=jobs, watch=watch, say=console.say, tell=console.tell
        )
    console.emit(made.as_dict(), as_json, lambda: show_study(made))


def _numbers(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise RarsError(f"--rates {text!r} is not a list of numbers such as 1e-3,2e-3.") from error


def _list(titles: dict[str, str], as_json: bool) -> None:
    def show() -> None:
        columns = ("experiment", "what it shows")
        console.table(columns, titles.items(), bold=("experiment",), whole=("experiment",))
        console.show("Next: rars experiment NAME --data DIR --size tiny --seeds 5")

    console.emit({"experiments": titles}, as_json, show)


def _show_plan(payload: dict[str, Any], as_json: bool) -> None:
    def show() -> None:
        rows = ((one["step"], one["name"], one["folder"], one["state"]) for one in payload["cells"])
        title = f"{payload['experiment']}: {len(payload['cells'])} runs"
        console.table(("step", "run", "folder", "state"), rows, title=title)

    console.emit(payload, as_json, show)


def _show(outcome: Outcome | Outcomes | LearnerOutcome) -> None:
    console.report(*outcome.tables)
    for name in ("report.html", "table.md", "table.tex", "results.json"):
        console.show(outcome.folder / name)


@contextmanager
def watched() -> Iterator[Watch]:
    """A row of finished runs, with those that run now."""
    with console.tell.watching("runs") as move:

        def watch(state: State) -> None:
            failed = f"{state.failed} failed  " if state.failed else ""
            now = Styled((failed, "red"), (" | ".join(state.running), "dim"))
            move(state.done + state.failed, state.total, now)

        yield watch
