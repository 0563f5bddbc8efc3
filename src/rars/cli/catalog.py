"""``rars catalog``: items come and go without training again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console

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
def add(folder: console.RunFolder, file: Items, as_json: console.Json = False) -> None:
    """Add items; they are found at once.

    Example: rars catalog add runs/demo new.csv
    """
    from rars import pipeline

    _emit(pipeline.add(folder, file, tell=console.tell), as_json)


@app.command()
def remove(
    folder: console.RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table with a column id.")],
    as_json: console.Json = False,
) -> None:
    """Remove items; they are never found again, unless you roll back.

    Example: rars catalog remove runs/demo sold-out.csv
    """
    from rars import pipeline

    _emit(pipeline.remove(folder, file, tell=console.tell), as_json)


@app.command()
def update(folder: console.RunFolder, file: Items, as_json: console.Json = False) -> None:
    """Replace items by those of the same ids.

    Example: rars catalog update runs/demo corrected.jsonl
    """
    from rars import pipeline

    _emit(pipeline.update(folder, file, tell=console.tell), as_json)


@app.command()
def rollback(
    folder: console.RunFolder,
    version: Annotated[
        str | None, typer.Argument(metavar="VERSION", help="Such as v000001; the one before.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Search an earlier version again; later ones are kept.

    Example: rars catalog rollback runs/demo v000001
    """
    from rars import pipeline

    _emit(pipeline.rollback(folder, version), as_json)


@app.command()
def log(folder: console.RunFolder, as_json: console.Json = False) -> None:
    """Show what happened to a catalogue.

    Example: rars catalog log runs/demo
    """
    from rars import pipeline

    found = pipeline.log(folder)

    def show() -> None:
        numbers = ("added", "removed", "items")
        rows = (
            (
                event["at"][:16].replace("T", " "),  # to the minute, UTC
                event["action"],
                event["version"],
                event["parent"] or "",
                *(f"{event.get(name, 0):,}" for name in numbers),
            )
            for event in found["log"]
        )
        columns = ("when (UTC)", "what", "version", "from", *numbers)
        console.table(columns, rows, caption=f"searched now: {found['current']}", right=numbers)

    console.emit(found, as_json, show)


def _emit(changed: Changed, as_json: bool) -> None:
    console.emit(
        asdict(changed),
        as_json,
        lambda: console.show(
            f"{changed.version}: {changed.items:,} items "
            f"({changed.added:,} added, {changed.removed:,} removed)."
        ),
    )
