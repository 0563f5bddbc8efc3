"""How the commands speak: results on stdout, everything else on stderr.

Owns: the one way to either stream, the bars that a step's progress is drawn with, ``--json``, and the options
that several commands share. Ignores what is shown.

Titles, queries, paths and ids are other people's words. Every function here takes them as plain text and
shows their control characters as escapes (``clean``), so no word can move the cursor, set a colour, write to
the clipboard or turn the direction of a line; colours are given beside a text, never inside it. The other
modules of ``rars.cli`` reach neither Rich nor the streams (a test keeps it so).
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from rars.errors import RarsError
from rars.progress import Advance, Forecast
from rars.scale import memory

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.tree import Tree

    from rars.evaluation.tables import Cell, Table

# Words come as Text, which knows neither markup nor the names of emoji.
_out = Console(highlight=False, markup=False, emoji=False)
_err = Console(stderr=True, highlight=False, markup=False, emoji=False)

_LONG = 5.0
"""Seconds of the processor that are worth a word about what was needed."""

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
    typer.Option(help="Settings laid over the recipe: paper, faithful, or a .toml file."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; repeat."),
]
Engine = Annotated[
    str,
    typer.Option(help="Who works: local (this machine), or ray (a cluster; see docs/scale.md)."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Processes at a time; if not given, as many as pay on the free cores, with ray every core."
    ),
]
Split = Annotated[str, typer.Option(help="train, validation or test queries.")]


# -- words -----------------------------------------------------------------------------------------

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0 and C1 controls: escapes, bells, carriage returns
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of a line
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff]"  # halves of characters, such as bytes that are not UTF-8
)
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def clean(text: object) -> str:
    r"""A text with its control characters as visible escapes; the letters of every script stay.

    >>> print(clean("caf\u00e9 \x1b[31mred\r"), clean("a\u202eb"), clean("\udcff"))
    café \x1b[31mred\r a\u202eb \xff
    """
    return _HIDDEN.sub(lambda found: _escape(found[0]), str(text))


def _escape(character: str) -> str:
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # how Python holds a byte that is not UTF-8
        number -= 0xDC00
    return _NAMED.get(character) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


Part = str | tuple[str, str]
"""A text, or a text and the style it is shown in."""


class Styled:
    """Text in several styles; a plain string does wherever this does."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts


Words = str | Path | Styled


def _text(words: Words, style: str = "") -> Text:
    parts = words.parts if isinstance(words, Styled) else (str(words),)
    found = Text(style=style)
    for part in parts:
        word, own = (part, "") if isinstance(part, str) else part
        found.append(clean(word), own or None)
    return found


# -- speaking --------------------------------------------------------------------------------------


def emit(payload: Mapping[str, Any], as_json: bool, show: Callable[[], None]) -> None:
    """Print a command's result once: as a line of JSON, or by ``show`` for a person.

    It has the peak of memory; a person is told it where there was much to do.
    """
    peak = memory.peak()
    if not as_json:
        show()
        if sum(os.times()[:4]) > _LONG:
            say(f"Peak memory: {memory.shown(peak)}.", style="dim")
        return
    # ASCII alone survives every stdout; DEL is the one control character that JSON lets through.
    told = {**payload, "peak_memory": peak}
    line = json.dumps(_finite(told), ensure_ascii=True, allow_nan=False)
    with written("stdout"):
        sys.stdout.write(line.replace("\x7f", r"\u007f") + "\n")


@contextmanager
def written(name: str) -> Iterator[None]:
    """A full disk behind a stream is a mistake that can be named; a reader who went away is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RarsError(f"{name} cannot be written: {error.strerror}.") from error


def _print(*shapes: Any, wrap: bool = True) -> None:
    with written("stdout"):
        _out.print(*shapes, soft_wrap=not wrap)


def _finite(value: Any) -> Any:
    """The value with null for what JSON has no number for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def show(*lines: Words) -> None:
    """Print lines of the result as they are, however long."""
    for line in lines:
        _print(_text(line), wrap=False)


def prose(words: Words) -> None:
    """Print a sentence of the result; a terminal breaks it between words, a file gets one line."""
    _print(_text(words), wrap=_out.is_terminal)


def say(*lines: Words, style: str = "") -> None:
    """Tell the person something that is not the result."""
    for line in lines:
        _err.print(_text(line, style), soft_wrap=True)


def complain(words: object, style: str = "red") -> None:
    """Say ``rars: ...``; a further line that could pass for another message is set in."""
    first, *more = str(words).split("\n")
    said = (f"  {line}" if line.startswith("rars:") else line for line in more)
    say(f"rars: {first}", *said, style=style)


# -- shapes ----------------------------------------------------------------------------------------


def table(
    columns: Iterable[str],
    rows: Iterable[Sequence[Words]],
    *,
    title: str = "",
    caption: str = "",
    right: Collection[str] = (),
    bold: Collection[str] = (),
    whole: Collection[str] = (),
) -> None:
    """Print a table; ``right`` names its columns of numbers, ``whole`` those that are not broken."""
    from rich import box
    from rich.table import Table as Printed

    if title:
        _print(_text(title, "bold"))
    printed = Printed(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        printed.add_column(
            _text(name),
            justify="right" if name in right else "left",
            style="bold" if name in bold else "",
            no_wrap=name in right or name in whole,
            overflow="fold",
        )
    for row in rows:
        printed.add_row(*map(_text, row))
    _print(printed)
    if caption:
        _print(_text(caption, "dim"))


def counts(title: Words, rows: Iterable[tuple[str, str]]) -> None:
    """Print names and numbers in a box, under a line that may be as long as a path is."""
    from rich.table import Table as Printed

    show(title)
    printed = Printed(show_header=False)
    printed.add_column(overflow="fold")
    printed.add_column(justify="right", no_wrap=True)
    for name, value in rows:
        printed.add_row(_text(name), _text(value))
    _print(printed)


def report(*tables: Table) -> None:
    """Print tables of an evaluation."""
    from rars.pipeline.showing import terminal

    for one in tables:
        for part in _fitting(_cleaned(one), _out.width):
            _print(terminal(part))


def _fitting(table: Table, width: int) -> Iterator[Table]:
    """The table in parts of as many columns as there is room for: no number is cut off."""
    rows = [row for block in table.blocks for row in block.rows]
    heads = table.heads("\n")[len(table.labels) :]
    widths = [2 + _width(head, *(row.cells[at] for row in rows)) for at, head in enumerate(heads)]
    # Labels break at sixteen letters.
    labels = [[name, *(row.labels[at] for row in rows)] for at, name in enumerate(table.labels)]
    room = width - 2 - sum(2 + min(16, max(map(cell_len, names))) for names in labels)
    cuts, used = [0], 0
    for at, needed in enumerate(widths):
        used += needed
        if used > room and at > cuts[-1]:
            cuts.append(at)
            used = needed
    titles = [(title, 1) for title, count in table.groups for _ in range(count)]
    for start, end in zip(cuts, [*cuts[1:], len(heads)], strict=True):
        blocks = (
            replace(b, rows=tuple(replace(r, cells=r.cells[start:end]) for r in b.rows))
            for b in table.blocks
        )
        yield replace(
            table,
            title=table.title if start == 0 else "",
            columns=table.columns[start:end],
            blocks=tuple(blocks),
            groups=tuple(titles[start:end]),
            caption=table.caption if end == len(heads) else "",
            intervals=table.intervals if end == len(heads) else "",
        )


def _width(head: str, *cells: Cell) -> int:
    lines = head.split("\n")
    for cell in cells:
        spread = f" ±{cell.spread}" if cell.spread else ""
        lines += [cell.text + cell.letters + spread, "–".join(cell.interval or ())]
    return max(map(cell_len, lines))


_Kind = TypeVar("_Kind")


def _cleaned(value: _Kind) -> _Kind:
    """The same dataclass, with every text in it cleaned."""
    found: Any = value
    if isinstance(value, str):
        found = clean(value)
    elif isinstance(value, tuple):
        found = tuple(map(_cleaned, value))
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(value, **{f.name: _cleaned(getattr(value, f.name)) for f in fields(value)})
    return found  # type: ignore[no-any-return]


@dataclass
class Node:
    """A line of a tree, and what hangs below it."""

    words: Words
    below: list[Node]

    def add(self, words: Words) -> Node:
        """Hang a line below this one."""
        self.below.append(Node(words, []))
        return self.below[-1]


def node(words: Words) -> Node:
    """The root of a tree."""
    return Node(words, [])


def draw(root: Node) -> None:
    """Print a tree and an empty line."""
    from rich.tree import Tree

    def hang(at: Tree, nodes: list[Node]) -> None:
        for one in nodes:
            hang(at.add(_text(one.words)), one.below)

    tree = Tree(_text(root.words))
    hang(tree, root.below)
    _print(tree, "")


def title(name: str, what: str) -> None:
    """Print an empty line and the head of a chapter, with a line to the edge of the terminal."""
    from rich.rule import Rule

    _print("", Rule(_text(Styled((name, "bold"), "  ", (what, "dim"))), align="left"))


# -- progress --------------------------------------------------------------------------------------

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

Move = Callable[[int, int, Styled], None]
"""Long work calls it with (done, total, what is going on)."""


class Terminal:
    """Progress of a step on stderr: sentences, and bars where it is a terminal.

    Two live displays cannot share a terminal: whatever runs inside something else is a further row of its
    display.
    """

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._training: tuple[str, TaskID] | None = None

    def say(self, text: str) -> None:
        """A sentence."""
        say(text)

    @contextmanager
    def stage(self, name: str) -> Iterator[Advance]:
        """A row while the block runs."""
        with self.watching(name) as move:
            yield lambda done, total: move(done, total, Styled())

    @contextmanager
    def watching(self, name: str) -> Iterator[Move]:
        """A row while the block runs, which also says what is going on."""
        with self._display() as bars:
            row = bars.add_task(clean(name), total=None, count="", now=Text())
            before: list[int | None] = [None]
            forecast = Forecast()

            def move(done: int, total: int, now: Styled) -> None:
                if bars.disable and (left := forecast.left(done, total)) is not None:
                    from rars.scale.cost import duration

                    self.say(f"{name}: about {duration(left)} more.")
                if before[0] not in (None, total):  # another stretch: its speed is its own
                    bars.reset(row)
                before[0] = total
                text = f"{done:,}/{total:,}"
                bars.update(row, completed=done, total=total, count=text, now=_text(now))

            try:
                yield move
            finally:
                bars.remove_task(row)

    @contextmanager
    def training(self) -> Iterator[None]:
        """One display for all that the block does: a training and the stages around it."""
        with self._display():
            try:
                yield
            finally:
                self._training = None

    def note(self, name: str, values: dict[str, float]) -> None:
        """Move the row of a training: every loss term and the speed."""
        if self._bars is None:
            return
        if self._training is None or self._training[0] != name:
            if self._training is not None:
                self._bars.remove_task(self._training[1])
            row = self._bars.add_task(clean(name), total=1.0, count="", now=Text())
            self._training = (name, row)
        shown = [f"{key} {value:.3f}" for key, value in values.items() if key not in _NOT_TERMS]
        speed = f"{values['pairs_per_second']:,.0f} pairs/s"
        done = values["progress"]
        self._bars.update(
            self._training[1],
            completed=done,
            count=f"{100 * done:.0f} %",
            now=_text(" ".join([*shown, speed])),
        )

    @contextmanager
    def _display(self) -> Iterator[Progress]:
        if self._bars is not None:
            yield self._bars
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        class Now(TextColumn):
            """What is going on, as far as there is room for it."""

            def render(self, task: Any) -> Text:
                now: Text = task.fields["now"]
                return now

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}", markup=False, justify="right"),
            TimeRemainingColumn(compact=True),
            Now("", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        )
        with Progress(
            *columns,
            console=_err,
            transient=True,
            expand=True,
            disable=not _err.is_terminal or _err.is_dumb_terminal,
            # Steps may take minutes: the last 30 s would say nothing about the time left.
            speed_estimate_period=86_400,
        ) as bars:
            self._bars = bars
            try:
                yield bars
            finally:
                self._bars = None


tell = Terminal()


@contextmanager
def training() -> Iterator[Terminal]:
    """What a training reports to."""
    with tell.training():
        yield tell
