"""Many changes of a catalogue at once, each with a word on what became of it.

Owns: telling good rows from bad ones, and applying the good ones (or, if asked, all or nothing) as one new
version. Ignores what a change does to the index: ``rars.search.catalog``'s.

A row is an item as ``rars.data`` reads it: it is added, or takes the place of the item with its id, whole
(what it does not say is empty). A row with ``"delete": true`` removes its item. An id that occurs twice is
refused the second time: rows have no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars import locks
from rars.data.importing import items_of
from rars.data.jsonlines import parsed
from rars.data.memory import source_of
from rars.data.problems import Located, Problems, quoted
from rars.errors import RarsError
from rars.progress import Advance
from rars.runs import Run
from rars.search.catalog import changed
from rars.search.index import IndexVersion
from rars.search.store import conformed

Status = Literal["added", "updated", "removed", "refused", "not applied"]

DELETE = "delete"


@dataclass(frozen=True)
class Unreadable:
    """A row that could not even be read, and why."""

    problem: str


Row = Mapping[str, Any] | Unreadable


@dataclass(frozen=True)
class RowStatus:
    """What became of one row (counted from 1); ``problem`` says why it was refused."""

    row: int
    id: str | None
    status: Status
    problem: str | None = None


@dataclass(frozen=True)
class Applied:
    """What became of many rows; ``version`` is the new one, None where nothing was changed."""

    version: str | None
    items: int
    rows: tuple[RowStatus, ...]

    def count(self, status: Status) -> int:
        """How many rows ended so."""
        return sum(row.status == status for row in self.rows)

    @property
    def added(self) -> int:
        """Rows that became new items."""
        return self.count("added")

    @property
    def updated(self) -> int:
        """Rows that took the place of an item."""
        return self.count("updated")

    @property
    def removed(self) -> int:
        """Rows that removed an item."""
        return self.count("removed")

    @property
    def refused(self) -> int:
        """Rows that could not be used."""
        return self.count("refused")

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        names = ("added", "updated", "removed", "refused")
        return {
            "version": self.version,
            "items": self.items,
            **{name: getattr(self, name) for name in names},
            "rows": [asdict(row) for row in self.rows],
        }


def apply_rows(
    run: Run, rows: Iterable[Row], *, whole: bool = False, advance: Advance | None = None
) -> Applied:
    """Apply the good rows as one new version; with ``whole``, only if all of them are good."""
    given = list(rows)
    with locks.held(run.folder):
        old = IndexVersion.load(run)
        batch = _Batch.of(given, old)
        refused = any(one.status == "refused" for one in batch.rows)
        if (whole and refused) or not batch.changes:
            return Applied(None, len(old.items), batch.not_applied() if refused else batch.rows)
        done = changed(run, old, "apply", batch.gone, batch.new, advance)
        return Applied(done.version, done.items, batch.rows)


def read_lines(lines: Iterable[str | bytes]) -> list[Row]:
    """JSON lines as rows; one that is no object is a row that is refused. Blank lines are no rows.

    >>> read_lines(['{"id": "a", "title": "Mug"}', "", '[1]'])
    [{'id': 'a', 'title': 'Mug'}, Unreadable(problem='expected an object, not a list')]
    """
    found: list[Row] = []
    for line in lines:
        try:
            text = line.decode("utf-8") if isinstance(line, bytes) else line
            if not text.strip():
                continue
            value = parsed(text)
        except UnicodeDecodeError:
            found.append(Unreadable("broken encoding: not UTF-8"))
        except ValueError as error:
            found.append(Unreadable(f"not JSON: {error}"))
        else:
            kind = {list: "a list", str: "a text", bool: "a truth", type(None): "nothing"}
            named = kind.get(type(value), "a number")
            problem = Unreadable(f"expected an object, not {named}")
            found.append(value if isinstance(value, dict) else problem)
    return found


def read_file(path: Path) -> list[Row]:
    """The rows of a file of JSON lines."""
    if not path.is_file():
        raise RarsError(f"{path} does not exist.")
    try:
        with path.open("rb") as stream:
            return read_lines(stream)
    except OSError as error:
        raise RarsError(f"{path} cannot be read: {error.strerror}.") from error


# -- good rows and bad ones ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Batch:
    """Rows with their status, and what the good ones amount to: ids that go, and items that come."""

    rows: tuple[RowStatus, ...]
    gone: pa.Array | None
    new: pa.Table | None

    @property
    def changes(self) -> bool:
        return self.gone is not None or self.new is not None

    def not_applied(self) -> tuple[RowStatus, ...]:
        """The same rows, where one that is refused refuses all."""
        return tuple(
            one if one.status == "refused" else RowStatus(one.row, one.id, "not applied")
            for one in self.rows
        )

    @classmethod
    def of(cls, rows: Sequence[Row], old: IndexVersion) -> _Batch:
        problems: dict[int, str] = {}
        ids = [_id(at, row, problems) for at, row in enumerate(rows)]
        _refuse_twice(ids, problems)
        known = dict(zip([one for one in ids if one], _known(ids, old), strict=True))
        comes, goes = [], []
        for at, row in enumerate(rows):
            name = ids[at]
            if at in problems or name is None:
                continue
            assert isinstance(row, Mapping)
            if not _deletes(at, row, problems):
                if at not in problems:
                    comes.append(at)
            elif known[name]:
                goes.append(at)
            else:
                problems[at] = f"there is no item {quoted(name)} to remove"
        assert old.items.source is not None
        schema = old.items.source.types
        tables = _read([(at, rows[at]) for at in comes], schema, problems)
        comes = [at for at in comes if at not in problems]
        statuses = []
        for at, name in enumerate(ids):
            status: Status = "refused"
            if at not in problems:
                status = "removed" if at in set(goes) else "added"
                if status == "added" and name is not None and known[name]:
                    status = "updated"
            statuses.append(RowStatus(at + 1, name, status, problems.get(at)))
        replaced = [one.id for one in statuses if one.status in ("updated", "removed")]
        return cls(
            tuple(statuses),
            pa.array(replaced, pa.string()) if replaced else None,
            pa.concat_tables(tables) if comes else None,
        )


def _id(at: int, row: object, problems: dict[int, str]) -> str | None:
    if isinstance(row, Unreadable):
        problems[at] = row.problem
        return None
    if not isinstance(row, Mapping):
        problems[at] = f"expected an object, not {type(row).__name__}"
        return None
    found = row.get("id")
    if isinstance(found, int) and not isinstance(found, bool):
        found = str(found)
    if not isinstance(found, str) or not found.strip():
        problems[at] = (
            "empty id" if found in (None, "") or isinstance(found, str) else "id is not text"
        )
        return None
    try:
        found.encode("utf-8")
    except UnicodeEncodeError:
        problems[at] = "id: broken encoding: not UTF-8"
        return None
    return found


def _refuse_twice(ids: list[str | None], problems: dict[int, str]) -> None:
    first: dict[str, int] = {}
    for at, name in enumerate(ids):
        if name is not None and name in first:
            problems[at] = f"duplicate id {quoted(name)} (first in row {first[name] + 1})"
        elif name is not None:
            first[name] = at


def _known(ids: list[str | None], old: IndexVersion) -> list[bool]:
    found = old.items.find([one for one in ids if one])
    return [bool(row >= 0) for row in found]


def _deletes(at: int, row: Mapping[str, Any], problems: dict[int, str]) -> bool:
    wish = row.get(DELETE, False)
    if not isinstance(wish, bool):
        problems[at] = f"{DELETE} must be true or false, not {quoted(wish)}"
        return False
    return wish


def _read(
    rows: Sequence[tuple[int, Row]], schema: pa.Schema, problems: dict[int, str]
) -> list[pa.Table]:
    """Items in the columns of the catalogue; a row that cannot be one is noted.

    All at once, which is fast. Where a value does not fit its column, each row is read alone: what is wrong
    with one is then said of it, and the others are not mixed up with it.
    """
    if not rows:
        return []
    noted: dict[int, str] = {}
    table = _together(rows, schema, noted)
    if table is None or noted:
        made = []
        for one in rows:
            # Its own: what is wrong with other rows says nothing about this one.
            own: dict[int, str] = {}
            alone = _together([one], schema, own)
            if alone is not None and not own:
                made.append(alone)
            problems |= own
        return made
    return [table]


def _together(
    rows: Sequence[tuple[int, Row]], schema: pa.Schema, noted: dict[int, str]
) -> pa.Table | None:
    """Rows as items; None where that fails, and why is noted at the first of them or at each."""
    found = _EachRow([at for at, _ in rows], noted)
    plain = [
        {name: value for name, value in row.items() if name != DELETE}
        for _, row in rows
        if isinstance(row, Mapping)
    ]
    try:
        source = source_of(plain, "rows", found)
        items = None if source is None else items_of(source, found)
        if items is None or noted:
            noted.setdefault(rows[0][0], "the row cannot be read")
            return None
        return conformed(items, schema)
    except RarsError as error:
        noted[rows[0][0]] = str(error).rstrip(".")
        return None


class _EachRow(Problems):
    """Problems by the row they are of; the first of a row is kept."""

    def __init__(self, numbers: list[int], noted: dict[int, str]) -> None:
        super().__init__()
        self._numbers, self._noted = numbers, noted

    def add(
        self, file: Path | str, message: str, *, row: int | None = None, column: str | None = None
    ) -> None:
        """Note a problem; one of no row is of all."""
        said = f"{column}: {message}" if column else message
        for number in self._numbers if row is None else [self._numbers[row - 1]]:
            self._noted.setdefault(number, said)
        super().add(file, message, row=row, column=column)

    def add_records(
        self,
        table: Located,
        column: str,
        wrong: npt.NDArray[np.bool_],
        message: str | Callable[[int], str],
    ) -> None:
        """Note every record, not the first few alone."""
        for position in np.flatnonzero(wrong).tolist():
            text = message if isinstance(message, str) else message(position)
            self.add(table.path, text, row=position + 1, column=column)
