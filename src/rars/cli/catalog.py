"""``rars catalog``: items come and go without training again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console

if TYPE_CHECKING:
    from rars.search.catalog import Changed
    from rars.search.difference import Difference

app = typer.Typer(
    name="catalog",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Add, remove and update the items of a trained run; compare, go back to and prune versions.",
)

_FEW = 10
"""Rows of each kind that are shown; --json has more."""

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
def apply(
    folder: console.RunFolder,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help='JSON lines: items, or {"id": ..., "delete": true} to remove one.'
        ),
    ],
    whole: Annotated[
        bool, typer.Option("--whole", help="All or nothing: one bad row, and nothing is changed.")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Add, replace and remove many items at once, with a status for every row.

    Example: rars catalog apply runs/demo changes.jsonl
    """
    from rars import pipeline

    done = pipeline.apply(folder, file, whole=whole, tell=console.tell)

    def show() -> None:
        bad = [one for one in done.rows if one.status == "refused"]
        if bad:
            rows = ((str(one.row), one.id or "", one.problem or "") for one in bad[:20])
            rest = f"and {len(bad) - 20:,} more" if len(bad) > 20 else ""
            console.table(("row", "item", "refused because"), rows, caption=rest, right=("row",))
        counts = f"{done.added:,} added, {done.updated:,} replaced, {done.removed:,} removed"
        if done.version is None:
            console.show("Nothing was changed.")
        else:
            console.show(
                f"{done.version}: {done.items:,} items ({counts}, {done.refused:,} refused)."
            )

    console.emit(done.as_dict(), as_json, show)
    if done.refused:
        raise typer.Exit(1 if done.version else 2)


@app.command()
def diff(
    folder: console.RunFolder,
    old: Annotated[
        str | None, typer.Argument(metavar="OLD", help="Such as v000001; the one before NEW.")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="NEW", help="Such as v000002; the one searched now.")
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Ask both versions these queries; compare what they find."
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many items of a ranking to compare.")] = 10,
    as_json: console.Json = False,
) -> None:
    """Show what lies between two versions: items, places in the tree, and rankings of queries.

    Example: rars catalog diff runs/demo v000001 v000002 --queries queries.txt
    """
    from rars import pipeline

    texts: list[str] = []
    if queries is not None:
        from rars.pipeline import searching

        texts = searching.read_texts(queries)[1]
    found = pipeline.difference(folder, old, new, queries=texts, k=k, tell=console.tell)
    console.emit(found.as_dict(), as_json, lambda: _show_difference(found))


def _show_difference(found: Difference) -> None:
    counts = [
        ("items", f"{found.items[0]:,} -> {found.items[1]:,}"),
        ("added", f"{found.n_added:,}"),
        ("removed", f"{found.n_removed:,}"),
        ("changed", f"{found.n_changed:,}"),
        ("moved in the tree", f"{found.n_moved:,}"),
    ]
    if found.asked:
        counts.append(("rankings changed", f"{found.n_rankings:,} of {found.asked:,} queries"))
    console.counts(f"{found.old} -> {found.new}", counts)
    rows = [("added", one.item_id, one.title, "") for one in found.added[:_FEW]]
    rows += [("removed", one.item_id, one.title, "") for one in found.removed[:_FEW]]
    rows += [
        ("changed", one.item_id, one.title, ", ".join(one.columns)) for one in found.changed[:_FEW]
    ]
    rows += [
        ("moved", one.item_id, one.title, f"{one.old} -> {one.new}") for one in found.moved[:_FEW]
    ]
    if rows:
        console.table(("", "item", "title", ""), rows)
    if found.rankings:
        ranked = (
            (one.query, f"{100 * one.overlap:.0f} %", f"+{one.entered}", f"-{one.left}")
            for one in found.rankings[:_FEW]
        )
        columns = ("query", "the same", "entered", "left")
        console.table(columns, ranked, right=columns[1:])


@app.command()
def prune(
    folder: console.RunFolder,
    keep: Annotated[
        int | None,
        typer.Option(
            help="How many versions to keep beside the one searched now; 10 if not given."
        ),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Remove old versions: the one searched now stays, and those searched most lately before it.

    Example: rars catalog prune runs/demo --keep 5
    """
    from rars import pipeline

    done = pipeline.prune(folder) if keep is None else pipeline.prune(folder, keep=keep)
    held = f" In use, and left for later: {', '.join(done.held)}." if done.held else ""
    console.emit(
        asdict(done),
        as_json,
        lambda: console.show(
            f"{len(done.removed)} removed, {len(done.kept)} kept: {', '.join(done.kept)}.{held}"
        ),
    )


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
