"""``rars catalog``: items come and go without training again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from rars.cli import console
from rars.cli.identify import RunFolder

if TYPE_CHECKING:
    from rars.search.catalog import Changed

app = typer.Typer(
    name="catalog",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Add, remove and update the items of a trained run; go back to an earlier version.",
)

Items = Annotated[
    Path, typer.Argument(metavar="FILE", help="Items: CSV, TSV, JSON lines or Parquet, also .gz.")
]


@app.command()
def add(folder: RunFolder, file: Items, as_json: console.Json = False) -> None:
    """Add items; they are found at once.

    Example: rars catalog add runs/demo new.csv
    """
    from rars.runs import Run
    from rars.search.catalog import add_items

    with console.progress("adding") as advance:
        changed = add_items(Run.open(folder, generative=True), file, advance=advance)
    _emit(changed, as_json)


@app.command()
def remove(
    folder: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table with a column id.")],
    as_json: console.Json = False,
) -> None:
    """Remove items; they are never found again, unless you roll back.

    Example: rars catalog remove runs/demo sold-out.csv
    """
    from rars.runs import Run
    from rars.search.catalog import remove_items

    with console.progress("removing") as advance:
        changed = remove_items(Run.open(folder, generative=True), file, advance=advance)
    _emit(changed, as_json)


@app.command()
def update(folder: RunFolder, file: Items, as_json: console.Json = False) -> None:
    """Replace items by those of the same ids.

    Example: rars catalog update runs/demo corrected.jsonl
    """
    from rars.runs import Run
    from rars.search.catalog import update_items

    with console.progress("updating") as advance:
        changed = update_items(Run.open(folder, generative=True), file, advance=advance)
    _emit(changed, as_json)


@app.command()
def rollback(
    folder: RunFolder,
    version: Annotated[
        str | None, typer.Argument(metavar="VERSION", help="Such as v000001; the one before.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Search an earlier version again; later ones are kept.

    Example: rars catalog rollback runs/demo v000001
    """
    from rars.runs import Run
    from rars.search.catalog import roll_back

    _emit(roll_back(Run.open(folder, generative=True), version), as_json)


@app.command()
def log(folder: RunFolder, as_json: console.Json = False) -> None:
    """Show what happened to a catalogue.

    Example: rars catalog log runs/demo
    """
    from rars.runs import Run
    from rars.search.index import pointer

    found = pointer(Run.open(folder, generative=True))

    def show() -> None:
        table = Table(box=box.SIMPLE_HEAD, caption=f"searched now: {found['current']}")
        for name in ("when (UTC)", "what", "version", "from"):
            table.add_column(name)
        for name in ("added", "removed", "items"):
            table.add_column(name, justify="right")
        for event in found["log"]:
            counts = (f"{event.get(name, 0):,}" for name in ("added", "removed", "items"))
            parent = event["parent"] or ""
            when = event["at"][:16].replace("T", " ")  # to the minute, UTC
            table.add_row(when, event["action"], event["version"], parent, *counts)
        console.out.print(table)

    console.emit(found, as_json, show)


def _emit(changed: Changed, as_json: bool) -> None:
    console.emit(
        asdict(changed),
        as_json,
        lambda: console.out.print(
            f"{changed.version}: {changed.items:,} items "
            f"({changed.added:,} added, {changed.removed:,} removed)."
        ),
    )
