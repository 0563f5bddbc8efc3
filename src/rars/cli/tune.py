"""``rars tune``: from a dataset folder to a run that is ready; every choice is made on validation queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console

if TYPE_CHECKING:
    from rars.pipeline import Tuned


def tune(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The dataset folder.")],
    out: console.Out,
    minutes: Annotated[
        float, typer.Option(help="About how long it may take, on this machine as it is.")
    ] = 30,
    recipe: Annotated[str, typer.Option(help="Recipe name or .toml file.")] = "practical",
    size: console.Size = "tiny",
    changes: console.Changes = None,
    as_json: console.Json = False,
) -> None:
    """Make the best run for a catalogue in the time there is: embedder, identifiers, training, weights.

    Every choice is made on validation queries, and printed with the numbers that made it. Killed or stopped,
    the same command goes on. What --set says is not chosen any more.

    Example: rars tune datasets/mine --out runs/mine --minutes 30
    """
    from rars import Dataset, pipeline

    with console.training() as tell:
        found = pipeline.tune_catalogue(
            Dataset.load(data),
            out,
            minutes=minutes,
            recipe=recipe,
            size=size,
            changes=changes or [],
            tell=tell,
        )
    console.emit(found.as_dict(), as_json, lambda: _show(found))


def _show(found: Tuned) -> None:
    choices, run = found.choices, found.run.folder
    columns = ("", "chosen", "why", "minutes")
    console.table(
        columns,
        choices.rows(),
        title="What was chosen",
        caption=choices.caption,
        right=("minutes",),
        whole=("",),
    )
    console.report(*found.tables()[1:])
    following = {
        f'rars search {run} "..."': "ask it",
        f"rars evaluate {run} --rule ar,hybrid": "how good it is, on test queries",
        f"rars compare {run} bm25 fusion-tuned --rule hybrid": "beside what one would use instead",
        f"rars serve {run}": "API and page",
        f"rars report {run}": "everything known about it, on one page",
    }
    width = max(map(len, following))
    console.show("Next:", *(f"  {words:{width}}   {what}" for words, what in following.items()))
