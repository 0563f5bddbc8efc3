"""``rars experiment``: a table of the paper, all seeds, one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rars.cli import console
from rars.errors import RarsError

if TYPE_CHECKING:
    from rars.experiments.order import Outcome
    from rars.experiments.processes import State, Watch


def experiment(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which one; left out, they are listed.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The dataset folder.")
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
    tune_seeds: Annotated[int, typer.Option(help="Seeds for choosing the learning rate.")] = 1,
    rates: Annotated[
        str | None, typer.Option(help="Learning rates to choose from, with commas.")
    ] = None,
    changes: console.Changes = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be run.")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Make a table of the paper: train what is missing, measure, test, write tables and a report.

    Stopped or killed, the same command goes on. --set changes a setting of every condition.

    Example: rars experiment main --data datasets/demo --size tiny --seeds 5
    """
    from rars import experiments

    if name is None:
        _list(experiments.studies_by_title(), as_json)
        return
    if data is None:
        raise RarsError(f"rars experiment {name} needs --data DIR.")
    asked: dict[str, Any] = {"out": out, "size": size, "protocol": protocol, "seeds": seeds}
    asked |= {"tune_seeds": tune_seeds, "rates": _numbers(rates), "changes": changes or ()}
    if dry_run:
        _show_plan(experiments.planned(name, data, **asked), as_json)
        return
    with watched() as watch:
        outcome = experiments.experiment(
            name, data, **asked, jobs=jobs, watch=watch, say=console.say
        )
    payload = {**outcome.payload, "folder": str(outcome.folder)}
    console.emit(payload, as_json, lambda: _show(outcome))
    if outcome.failures:
        listed = "; ".join(map(str, outcome.failures))
        raise RarsError(f"{len(outcome.failures)} of the runs failed: {listed}.")


def _numbers(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise RarsError(f"--rates {text!r} is not a list of numbers such as 1e-3,2e-3.") from error


def _list(titles: dict[str, str], as_json: bool) -> None:
    def show() -> None:
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("experiment", style="bold")
        table.add_column("what it shows")
        for name, title in titles.items():
            table.add_row(name, title)
        console.out.print(table)
        console.show("Next: rars experiment NAME --data DIR --size tiny --seeds 5")

    console.emit({"experiments": titles}, as_json, show)


def _show_plan(payload: dict[str, Any], as_json: bool) -> None:
    def show() -> None:
        title = f"{payload['experiment']}: {len(payload['cells'])} runs"
        table = Table(title=title, box=box.SIMPLE_HEAD)
        for column in ("step", "run", "folder", "state"):
            table.add_column(column, overflow="fold")
        for one in payload["cells"]:
            table.add_row(one["step"], one["name"], one["folder"], one["state"])
        console.out.print(table)

    console.emit(payload, as_json, show)


def _show(outcome: Outcome) -> None:
    from rars.pipeline.showing import terminal

    for table in outcome.tables:
        console.out.print(terminal(table))
    for name in ("report.html", "table.md", "table.tex", "results.json"):
        console.show(f"{outcome.folder / name}")


@contextmanager
def watched() -> Iterator[Watch]:
    """A bar of finished runs, with those that run now; on a terminal only."""
    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    quiet = not console.err.is_terminal
    with Progress(
        *columns,
        console=console.err,
        transient=True,
        disable=quiet,
        speed_estimate_period=86_400,  # runs take minutes: the last 30 s say nothing about time left
    ) as bar:
        tasks: dict[str, Any] = {}

        def watch(state: State) -> None:
            task = tasks.get("now")
            if task is None or bar.tasks[-1].total != state.total or bar.tasks[-1].finished:
                if task is not None:
                    bar.remove_task(task)
                task = tasks["now"] = bar.add_task("", total=state.total)
            failed = f"  [red]{state.failed} failed[/red]" if state.failed else ""
            now = "[dim]" + " | ".join(state.running) + "[/dim]" + failed
            bar.update(task, completed=state.done + state.failed, description=now)

        yield watch
