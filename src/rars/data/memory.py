"""Tables that a program already has, as sources: Arrow tables, pandas and polars frames, lists of dicts.

Owns: recognising them by what they can do, without importing pandas or polars. Ignores what columns mean. A
list of dicts is read as JSON lines are; everything else as a Parquet file with the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from rars.data.jsonlines import DEEPEST, SURROGATE, TOO_DEEP, table_of
from rars.data.problems import Problems, quoted
from rars.data.tables import Source, TooWide, check_width, checked_utf8, first_line, twice
from rars.errors import RarsError

ACCEPTED = "an Arrow table, a pandas or polars frame, or a list of dicts"

_BITS = 4096
_PLAIN = (str, bool, int, float, type(None))


def source_of(rows: object, name: str, problems: Problems) -> Source | None:
    """The table ``name`` (items, queries or judgments); None if nothing of it could be read."""
    before = len(problems)
    try:
        table, whole = _table(rows, name, problems)
        check_width(table.num_columns)
    except TooWide as error:
        problems.add(name, f"the table has {error}")
        return None
    again = twice(table.column_names)
    for column in again:
        problems.add(name, "the column is there twice", column=column)
    if len(problems) == before and not table.num_rows:
        problems.add(name, "empty table: it has no rows")
    if again or not table.num_rows:
        return None
    return checked_utf8(Source(name, table, whole=whole), problems)


def no_judgments() -> Source:
    """What stands for the judgments of a catalogue that nobody has judged."""
    columns = {name: pa.array([], pa.string()) for name in ("query_id", "item_id")}
    return Source("judgments", pa.table({**columns, "grade": pa.array([], pa.float64())}))


def _table(rows: object, name: str, problems: Problems) -> tuple[pa.Table, bool]:
    """The rows as a table, and whether all of them could be read."""
    if isinstance(rows, pa.Table):
        return rows, True
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows]), True
    if hasattr(rows, "to_arrow"):  # polars
        table = rows.to_arrow()
        if isinstance(table, pa.Table):
            return table, True
    elif hasattr(rows, "iloc") and hasattr(rows, "columns"):  # pandas
        return _of_pandas(rows, name), True
    elif isinstance(rows, Iterable) and not isinstance(rows, Mapping | str | bytes):
        return _of_dicts(rows, name, problems)
    raise RarsError(f"{name}: expected {ACCEPTED}, not {type(rows).__name__}.")


def _of_pandas(frame: Any, name: str) -> pa.Table:
    """Column by column, so that one that mixes types becomes text alone, and the index is no column."""
    columns, names = [], []
    for position, column in enumerate(frame.columns):
        if not isinstance(column, str):
            raise RarsError(f"{name}: the column name {column!r} is not a text.")
        names.append(column)
        values = frame.iloc[:, position]
        try:
            columns.append(pa.Array.from_pandas(values))
        except (pa.ArrowException, TypeError, ValueError):
            try:
                mixed = [None if _is_missing(value) else plain(value) for value in values.tolist()]
                columns.append(table_of([{column: value} for value in mixed])[column])
            except (TypeError, UnicodeEncodeError) as error:
                raise RarsError(f"{name}, column {column}: {first_line(error)}.") from error
    return pa.table(columns, names=names)


def _is_missing(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _of_dicts(rows: Iterable[Any], name: str, problems: Problems) -> tuple[pa.Table, bool]:
    """What cannot be read is noted and left out; rows stay, so that the others keep their numbers."""
    before = len(problems)
    kept = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            problems.add(name, f"expected a dict, not {type(row).__name__}", row=number)
            row = {}
        kept.append(_plain_row(row, number, name, problems))
    try:
        table = table_of(kept)
    except UnicodeEncodeError:
        table = table_of([_encodable(row, n, name, problems) for n, row in enumerate(kept, 1)])
    return table, len(problems) == before


def _plain_row(
    row: Mapping[Any, Any], number: int, name: str, problems: Problems
) -> dict[str, Any]:
    sound: dict[str, Any] = {}
    for column, value in row.items():
        if not isinstance(column, str):
            problems.add(name, f"the column name {quoted(column)} is not a text", row=number)
            continue
        try:
            sound[column] = plain(value)
        except TypeError as error:
            problems.add(name, str(error), row=number, column=column)
    return sound


def _encodable(row: dict[str, Any], number: int, name: str, problems: Problems) -> dict[str, Any]:
    broken = [column for column, value in row.items() if _is_broken([column, value])]
    for column in broken:
        problems.add(name, "broken encoding: not UTF-8", row=number, column=ascii(column)[1:-1])
    return {column: value for column, value in row.items() if column not in broken}


def plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's numbers as Python's, tuples and arrays as lists, mappings as dicts.

    >>> plain({"watt": np.float32(20), "colors": ("red", None)})
    {'watt': 20.0, 'colors': ['red', None]}
    """
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise TypeError(f"a whole number of {value.bit_length():,} bits is too large")
    if isinstance(value, _PLAIN):
        return value
    if depth == DEEPEST:
        raise TypeError(f"a value is {TOO_DEEP}")
    if isinstance(value, Mapping):
        return {str(key): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in value]
    raise TypeError(f"a value of type {type(value).__name__} is no text, number, list or dict")


def _is_broken(value: Any) -> bool:
    """Whether a text in it cannot be written as UTF-8."""
    if isinstance(value, str):
        return SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(map(_is_broken, value)) or any(map(_is_broken, value.values()))
    return isinstance(value, list) and any(map(_is_broken, value))
