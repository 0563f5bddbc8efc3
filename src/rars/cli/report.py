"""``rars report``: everything known about a run on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rars.cli import console


def report(
    folder: console.RunFolder,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page; results/report.html.")
    ] = None,
    split: console.Split = "test",
    as_json: console.Json = False,
) -> None:
    """Put everything known about a run on one page: identifiers, training, measures, studies, cases.

    The page needs no network. It says which commands would add what is missing.

    Example: rars report runs/demo --out report.html
    """
    from rars import pipeline

    made = pipeline.report(folder, out=out, split=split)

    def show() -> None:
        console.show(f"Page: {made.page}", f"It has: {', '.join(made.parts)}.")
        if made.missing:
            console.show("What would add more:")
            for title, command in made.missing.items():
                console.show(f"  {command}", f"    {title}")

    console.emit(made.as_dict(), as_json, show)
