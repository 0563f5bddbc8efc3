"""How the commands speak: results on stdout, everything else on stderr.

Owns: the two consoles, the progress bar, ``--json``. Ignores what is shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")
]

Advance = Callable[[int, int], None]
"""Long work calls it with (done, total)."""


def emit(payload: dict[str, Any], as_json: bool, show: Callable[[], None]) -> None:
    """Print a command's result once: as JSON, or by ``show`` for a person."""
    if as_json:
        sys.stdout.write(json.dumps(payload, ensure_ascii=False) + "\n")
    else:
        show()


def say(text: str) -> None:
    """Tell the person something that is not the result."""
    err.print(text, soft_wrap=True)


@contextmanager
def progress(description: str) -> Iterator[Advance]:
    """A progress bar on stderr while the block runs (only drawn on a terminal)."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(description, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
