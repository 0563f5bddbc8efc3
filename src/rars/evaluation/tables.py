"""Tables as text: Markdown, LaTeX with booktabs in the paper's layout, terminal, HTML.

Owns: what a table is made of and how each medium shows it. Ignores where numbers come from and how they are
written (``rars.evaluation.report``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table as Printed
from rich.text import Text

from rars.evaluation.markup import escaped, pipes, plain, templates

INTERVALS = "Below each value: its 95 % bootstrap interval over queries."

LETTERS = "abcdefghijklmnoprstuvwxyz"
"""The letters with a superscript form in Unicode, for terminals: there is no q."""
_RAISED = str.maketrans(LETTERS, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")

Mark = Literal["", "best", "second"]


@dataclass(frozen=True)
class Cell:
    """One number as text.

    ``spread`` is what stands after a plus-minus sign, ``interval`` its two ends, ``letters`` the superscript.
    """

    text: str
    spread: str = ""
    interval: tuple[str, str] | None = None
    mark: Mark = ""
    letters: str = ""


@dataclass(frozen=True)
class Row:
    """Labels on the left, and cells."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """Rows under an optional title."""

    rows: tuple[Row, ...]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table; ``groups`` are (title, number of columns) over the number columns, in order."""

    key: str
    title: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    caption: str = ""
    groups: tuple[tuple[str, int], ...] = ()
    intervals: str = INTERVALS
    """What the caption adds in media that show intervals."""
    described: int = 0
    """How many of the last labels say more of a row, and do not name it."""
    stacked: bool = False
    """Whether several such tables stand one below the other: their columns are not measures."""

    @property
    def width(self) -> int:
        """All columns."""
        return len(self.labels) + len(self.columns)

    def heads(self, join: str = " ") -> list[str]:
        """One head per column; a group's title goes before its columns' own."""
        titles = [title for title, count in self.groups for _ in range(count)]
        titles += [""] * (len(self.columns) - len(titles))
        own = [f"{a}{join}{b}" if a else b for a, b in zip(titles, self.columns, strict=True)]
        return [*self.labels, *own]

    @property
    def noted(self) -> str:
        """The caption for media that show intervals."""
        shown = any(
            cell.interval for block in self.blocks for row in block.rows for cell in row.cells
        )
        return f"{self.caption} {self.intervals}".strip() if shown else self.caption

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html(self)


def together(named: Mapping[str, Table]) -> Table:
    """The same table of several datasets as one: side by side as the paper's, or one below the other.

    A row that one of them does not have is a row of dashes there. What describes a row is said for each
    dataset where it differs.
    """
    first = next(iter(named.values()))
    if len(named) == 1:
        return first
    made = _below(named) if first.stacked else _beside(named)
    captions = dict.fromkeys(one.caption for one in named.values())
    said = {name: one.caption for name, one in named.items()}
    joined = " ".join(f"{name}: {caption}" for name, caption in said.items())
    return replace(made, caption=first.caption if len(captions) == 1 else joined)


def _below(named: Mapping[str, Table]) -> Table:
    blocks = []
    for name, table in named.items():
        for block in table.blocks:
            blocks.append(replace(block, title=f"{name}: {block.title}" if block.title else name))
    return replace(next(iter(named.values())), blocks=tuple(blocks))


def _beside(named: Mapping[str, Table]) -> Table:
    first = next(iter(named.values()))
    names = len(first.labels) - first.described
    known = {name: dict(_keyed(table, names)) for name, table in named.items()}
    order = sorted(
        dict.fromkeys(key for rows in known.values() for key in rows), key=lambda key: key[0]
    )
    titles = {at: one.title for table in named.values() for at, one in enumerate(table.blocks)}
    blocks: dict[int, list[Row]] = {}
    for key in order:
        found = {name: rows.get(key) for name, rows in known.items()}
        cells: list[Cell] = []
        for name, row in found.items():
            cells += row.cells if row else [Cell("—")] * len(named[name].columns)
        said = (row.labels[names:] for row in found.values() if row)
        more = (" / ".join(dict.fromkeys(filter(None, one))) for one in zip(*said, strict=True))
        blocks.setdefault(key[0], []).append(Row((*key[1], *more), tuple(cells)))
    groups: list[tuple[str, int]] = []
    for name, table in named.items():
        own = [(f"{name}, {title}", count) for title, count in table.groups]
        groups += own or [(name, len(table.columns))]
    return replace(
        first,
        columns=tuple(column for table in named.values() for column in table.columns),
        blocks=tuple(Block(tuple(rows), titles[at]) for at, rows in blocks.items()),
        groups=tuple(groups),
    )


def _keyed(table: Table, names: int) -> Iterator[tuple[tuple[int, tuple[str, ...], int], Row]]:
    """Every row with what tells it from the others: its block, its name, and the how many-eth it is."""
    for at, block in enumerate(table.blocks):
        seen: Counter[tuple[str, ...]] = Counter()
        for row in block.rows:
            name = row.labels[:names]
            yield (at, name, seen[name]), row
            seen[name] += 1


def markdown(table: Table) -> str:
    """The table in Markdown, with the caption below."""
    align = ["---"] * len(table.labels) + ["---:"] * len(table.columns)
    lines = [f"### {plain(table.title)}", ""] if table.title else []
    lines += [pipes(map(plain, table.heads())), pipes(align)]
    for block in table.blocks:
        if block.title:
            lines.append(pipes([f"*{plain(block.title)}*", *[""] * (table.width - 1)]))
        for row in block.rows:
            labels = map(plain, row.labels)
            lines.append(pipes([*labels, *(_markdown_cell(cell) for cell in row.cells)]))
    return "\n".join([*lines, "", table.noted]).rstrip() + "\n"


def latex(table: Table) -> str:
    """The table for a paper that loads booktabs."""
    columns = "l" * len(table.labels) + "r" * len(table.columns)
    lines = [r"\begin{table}[t]", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += _latex_groups(table)
    lines += [_ampersands([*table.labels, *table.columns]), r"\midrule"]
    for at, block in enumerate(table.blocks):
        lines += [r"\midrule"] if at else []
        if block.title:
            title = rf"\emph{{{escaped(block.title)}}}"
            lines.append(rf"\multicolumn{{{table.width}}}{{l}}{{{title}}}\\")
        for row in block.rows:
            labels = map(escaped, row.labels)
            lines.append(" & ".join([*labels, *map(_latex_cell, row.cells)]) + r"\\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{escaped(table.caption)}}}"]
    return "\n".join([*lines, rf"\label{{tab:{table.key}}}", r"\end{table}"]) + "\n"


def terminal(table: Table) -> Group:
    """The table for a terminal: spread beside the mean, the interval below it; a line between blocks."""
    printed = Printed(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    heads = table.heads("\n")
    for name in heads[: len(table.labels)]:
        printed.add_column(Text(name), min_width=min(16, len(name)), overflow="fold")
    for name in heads[len(table.labels) :]:
        printed.add_column(Text(name), justify="right", no_wrap=True)
    for block in table.blocks:
        if block.title:
            printed.add_row(Text(block.title, style="italic dim"))
        for row in block.rows:
            printed.add_row(*map(Text, row.labels), *map(_terminal_cell, row.cells))
        printed.add_section()
    title = [Text(table.title, style="bold")] if table.title else []
    return Group(*title, printed, Text(table.noted, style="dim"), Text())


def html(*tables: Table) -> str:
    """Tables that stand alone, such as in a notebook: they bring their style and follow its colours."""
    return templates("rars.evaluation").get_template("alone.html").render(tables=tables)


def _markdown_cell(cell: Cell) -> str:
    text = plain(cell.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>", "": text}[cell.mark]
    if cell.letters:
        text += f"<sup>{plain(cell.letters)}</sup>"
    if cell.spread:
        text += f" ± {cell.spread}"
    return f"{text}<br><sub>[{', '.join(cell.interval)}]</sub>" if cell.interval else text


def _latex_cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.mark:
        text = rf"\{'textbf' if cell.mark == 'best' else 'underline'}{{{text}}}"
    if cell.letters:
        text += rf"\textsuperscript{{{escaped(cell.letters)}}}"
    if cell.spread:
        text += rf"\,\textpm{{}}\,{cell.spread}"
    return text


def _terminal_cell(cell: Cell) -> Text:
    style = {"best": "bold", "second": "underline", "": ""}[cell.mark]
    letters = cell.letters.translate(_RAISED)
    spread = f" ±{cell.spread}" if cell.spread else ""
    below = f"\n{'–'.join(cell.interval)}" if cell.interval else ""
    return Text.assemble((cell.text, style), (letters, "green"), (spread, "dim"), (below, "dim"))


def _latex_groups(table: Table) -> list[str]:
    if not table.groups:
        return []
    at = len(table.labels) + 1
    titles, rules = [""] * len(table.labels), []
    for title, count in table.groups:
        titles.append(rf"\multicolumn{{{count}}}{{c}}{{{escaped(title)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + count - 1}}}")
        at += count
    return [" & ".join(titles) + r"\\", "".join(rules)]


def _ampersands(cells: list[str]) -> str:
    return " & ".join(map(escaped, cells)) + r"\\"
