"""How the commands speak: results on stdout, everything else on stderr.

Owns: the two consoles, the bars that a step's progress is drawn with, ``--json``, and the options that
several commands share. Ignores what is shown.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from rars.errors import RarsWarning
from rars.progress import Advance

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

# -- options ---------------------------------------------------------------------------------------

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on stdout, and nothing else there.")
]
Data = Annotated[Path, typer.Option("--data", metavar="DIR", help="The dataset folder.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="The run folder to write or go on in.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Size = Annotated[str, typer.Option(help="tiny, small or paper.")]
Protocol = Annotated[
    str | None,
    typer.Option(help="Settings laid over the recipe: paper, or a .toml file."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; repeat."),
]
Split = Annotated[str, typer.Option(help="train, validation or test queries.")]


# -- speaking --------------------------------------------------------------------------------------


def emit(payload: dict[str, Any], as_json: bool, show: Callable[[], None]) -> None:
    """Print a command's result once: as JSON, or by ``show`` for a person."""
    if as_json:
        sys.stdout.write(json.dumps(payload, ensure_ascii=False) + "\n")
    else:
        show()


def show(text: str) -> None:
    """Print a line of the result as it is."""
    out.print(text, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Tell the person something that is not the result."""
    err.print(text, markup=False, soft_wrap=True)


def show_warnings() -> None:
    """From now on a warning of ours is one line, said once; those of libraries are as they were."""
    before = warnings.showwarning

    def shown(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, RarsWarning):
            say(f"rars: {message}")
        else:
            before(message, category, *place, **more)

    warnings.simplefilter("once", RarsWarning)
    warnings.showwarning = shown


class Terminal:
    """Progress of a step on stderr: sentences, and bars where it is a terminal."""

    def say(self, text: str) -> None:
        """A sentence."""
        say(text)

    @contextmanager
    def stage(self, name: str) -> Iterator[Advance]:
        """A bar while the block runs."""
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with _bar(*columns) as bar:
            task = bar.add_task(name, total=None)

            def advance(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            yield advance

    def note(self, name: str, values: dict[str, float]) -> None:
        """Nothing; ``training`` draws a bar of it."""


class TrainingTerminal(Terminal):
    """The same, with a bar of training that shows every loss term and the speed."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._name = ""

    def note(self, name: str, values: dict[str, float]) -> None:
        """Move the bar."""
        if self._task is None or name != self._name:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task, self._name = self._bar.add_task(name, total=1.0, terms=""), name
        shown = [f"{key} {value:.3f}" for key, value in values.items() if key not in _NOT_TERMS]
        speed = f"{values['pairs_per_second']:,.0f} pairs/s"
        self._bar.update(self._task, completed=values["progress"], terms=" ".join([*shown, speed]))

    @contextmanager
    def stage(self, name: str) -> Iterator[Advance]:
        """A further row of the same display: two live displays cannot share a terminal."""
        task = self._bar.add_task(name, total=None, terms="")
        try:
            yield lambda done, total: self._bar.update(task, completed=done, total=total)
        finally:
            self._bar.remove_task(task)


_NOT_TERMS = frozenset(
    [
        "loss",
        "step",
        "epoch",
        "progress",
        "pairs_per_second",
        "memory_mb",
        "learning_rate",
        "gradient_norm",
    ]
)


@contextmanager
def training() -> Iterator[TrainingTerminal]:
    """What a training reports to."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[terms]}", markup=False),
    )
    with _bar(*columns) as bar:
        yield TrainingTerminal(bar)


def _bar(*columns: Any, **options: Any) -> Progress:
    quiet = not err.is_terminal
    return Progress(*columns, console=err, transient=True, disable=quiet, **options)


tell = Terminal()
