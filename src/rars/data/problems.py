"""Everything wrong with the input, collected and then said at once.

Owns: the list of problems with file, row and column, which of them are shown, and the one exception they
end in. Ignores how a problem is found. Rows are counted as a person counts them in that file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rars.errors import RarsError

SHOWN = 20
"""How many problems of one file are spelled out; the rest are counted."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong: where, and what. A problem of the whole file has no row, of a row no column."""

    file: str
    row: int | None
    column: str | None
    message: str

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        column = "" if self.column is None else f", column {self.column}"
        return f"{self.file}{row}{column}: {self.message}"


class Located(Protocol):
    """A table that knows from which file and row each of its records came."""

    @property
    def path(self) -> Path | str:
        """The file, or the name of a table in memory."""

    def rows(self, records: Sequence[int]) -> list[int]:
        """Row numbers in the file of these record positions."""


class ProblemsFound(RarsError):
    """Raised once for all problems; ``shown`` are the first of each file, ``count`` is all of them."""

    def __init__(self, shown: list[Problem], count: int, message: str) -> None:
        super().__init__(message)
        self.shown = shown
        self.count = count

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {"ok": False, "problems": self.count, "shown": [asdict(p) for p in self.shown]}


class Problems:
    """Collects problems file by file.

    >>> problems = Problems()
    >>> problems.add(Path("items.csv"), "duplicate id 'a'", row=3, column="id")
    >>> problems.stop("nothing was written")
    Traceback (most recent call last):
    rars.data.problems.ProblemsFound: 1 problem in items.csv; nothing was written.
    items.csv, row 3, column id: duplicate id 'a'
    """

    def __init__(self) -> None:
        self._found: dict[str, list[Problem]] = {}
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return sum(self._counts.values())

    def add(
        self, file: Path | str, message: str, *, row: int | None = None, column: str | None = None
    ) -> None:
        """Note one problem."""
        name = str(file)
        self._counts[name] = self._counts.get(name, 0) + 1
        kept = self._found.setdefault(name, [])
        kept.append(Problem(name, row, column, message))
        # Readers may meet a million bad lines; rows come in order, so a bounded list keeps the first.
        if len(kept) > 50 * SHOWN:
            self._found[name] = _first(kept)

    def add_records(
        self,
        table: Located,
        column: str,
        wrong: npt.NDArray[np.bool_],
        message: str | Callable[[int], str],
    ) -> None:
        """Note every record that ``wrong`` marks; a message may depend on the record's position."""
        positions = np.flatnonzero(wrong)
        if not len(positions):
            return
        first = [int(p) for p in positions[:SHOWN]]
        for position, row in zip(first, table.rows(first), strict=True):
            text = message if isinstance(message, str) else message(position)
            self.add(table.path, text, row=row, column=column)
        self._counts[str(table.path)] += len(positions) - len(first)

    def stop(self, consequence: str) -> None:
        """Raise if there is anything to complain about; ``consequence`` says what that means."""
        if not self._counts:
            return
        plural = "problem" if len(self) == 1 else "problems"
        lines = [f"{len(self)} {plural} in {', '.join(self._counts)}; {consequence}."]
        shown: list[Problem] = []
        for name, count in self._counts.items():
            first = _first(self._found[name])
            shown += first
            lines += [str(problem) for problem in first]
            if count > len(first):
                lines.append(f"... and {count - len(first)} more in {name}")
        raise ProblemsFound(shown, len(self), "\n".join(lines))


def quoted(value: object) -> str:
    """A value as it appears in a message: quoted, and cut where it would fill the screen."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


def some(names: Sequence[str]) -> str:
    """Names as part of a sentence; of very many, the first.

    >>> some(["id", "title"]), some(["a"] * 100)[-13:]
    ('id, title', 'a and 80 more')
    """
    rest = len(names) - SHOWN
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _first(found: list[Problem]) -> list[Problem]:
    return sorted(found, key=lambda problem: problem.row or 0)[:SHOWN]
