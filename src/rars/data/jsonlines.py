"""Reading JSON lines: one object per line, in blocks of whole lines; and files that are one list of objects.

Owns: the two ways through such a file. Python's parser reads the first block and thereby fixes the type of
every column; Arrow's reader, several times faster, reads the blocks that agree with those types. A block it
cannot read, or reads differently, goes through Python's parser, which notes each bad line. A list is read
whole and becomes such lines; its rows are its members, counted from 1. Ignores what the columns mean.

Types: text, whole numbers, numbers and truth values stay; lists become lists of text; objects become maps
of text to text; a column that mixes them becomes text.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, time
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from rars.data.problems import Problems
from rars.data.tables import Meter, Source, check_width, open_bytes

_BLOCK = 4 << 20
SURROGATE = re.compile("[\ud800-\udfff]")
DEEPEST = 64
"""Levels of lists and objects in one value; what is deeper is broken."""

_BRACKETS = b"[]{}"
_NO_BRACKETS = bytes(set(range(256)) - set(_BRACKETS) - {ord("\n")})

LIST = pa.list_(pa.string())
MAP = pa.map_(pa.string(), pa.string())


def read_jsonl(path: Path, problems: Problems, *, meter: Meter | None = None) -> Source | None:
    """Read a file of one JSON object per line, or of a list of them; None if it holds none at all."""
    tables: list[pa.Table] = []
    lines: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    types: pa.Schema | None = None
    before = len(problems)
    names: set[str] = set()
    with open_bytes(path, meter) as stream:
        head = stream.read(_BLOCK).removeprefix(codecs.BOM_UTF8)
        if head.lstrip().startswith(b"["):
            try:
                stream = io.BytesIO(_lines(head + stream.read()))
            except ValueError as error:
                row = error.lineno if isinstance(error, json.JSONDecodeError) else 1
                problems.add(path, _complaint("", error), row=row)
                return None
            head = stream.read(_BLOCK)
        for first_line, block in _blocks(head, stream):
            table = _fast(block, types) if types is not None else None
            if table is not None:
                numbers = np.arange(first_line, first_line + table.num_rows)
            else:
                table, numbers = _exact(block, first_line, path, problems)
                types = table.schema if types is None else _wider(types, table.schema)
            names.update(table.column_names)
            check_width(len(names))
            tables.append(table)
            lines.append(numbers)
    if not any(table.num_rows for table in tables):
        return None
    numbers = np.concatenate(lines)
    whole = len(problems) == before
    return Source(path, _joined(tables), whole=whole, lines=lambda: numbers)


def parsed(text: str) -> Any:
    """The JSON value of a text; a ``ValueError`` if it holds none, or one that is nested too deeply."""
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if text.count("[") + text.count("{") > DEEPEST and is_deep(value):
        raise ValueError(TOO_DEEP)
    return value


TOO_DEEP = f"nested more than {DEEPEST} levels deep"


def is_deep(value: Any) -> bool:
    """Whether lists and dicts lie more than ``DEEPEST`` levels in one another."""
    waiting = [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, dict | list | tuple):
            if depth > DEEPEST:
                return True
            members = one.values() if isinstance(one, dict) else one
            waiting.extend((member, depth + 1) for member in members)
    return False


def object_text(value: Any) -> str | None:
    """A JSON value as text: numbers without a needless ``.0``, lists joined, objects as JSON.

    >>> [object_text(v) for v in ("red", 6.0, 2.13, False, ["a", 1], None)]
    ['red', '6', '2.13', 'false', 'a, 1', None]
    """
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, list):
        return ", ".join(text for v in value if (text := object_text(v)) is not None)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=_written)
    return _written(value)


def _written(value: Any) -> str:
    """What JSON has no form for: days and times as ISO 8601, bytes as the text they are."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return str(value.isoformat()) if isinstance(value, date | time) else str(value)


def map_array(objects: Iterable[dict[str, Any] | None]) -> pa.MapArray:
    """JSON objects as maps of text to text; members without a value are left out, an empty map is null.

    >>> map_array([{"watt": 20.0, "color": None}, {}, None]).to_pylist()
    [[('watt', '20')], None, None]
    """
    keys: list[str] = []
    values: list[str] = []
    offsets: list[int | None] = []
    for one in objects:
        start = len(keys)
        for key, value in (one or {}).items():
            text = value if type(value) is str else object_text(value)
            if text is not None:
                keys.append(key)
                values.append(text)
        offsets.append(start if len(keys) > start else None)
    offsets.append(len(keys))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(keys, pa.string()), pa.array(values, pa.string())
    )


def _blocks(head: bytes, stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    line, block = 1, head
    while block:
        block += stream.readline()
        yield line, block
        line += block.count(b"\n")
        block = stream.read(_BLOCK)


def _lines(content: bytes) -> bytes:
    """The members of a list, one a line."""
    try:
        members = json.loads(content.decode("utf-8", "surrogateescape"))
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    return b"\n".join(json.dumps(one).encode("ascii") for one in members)


def _fast(block: bytes, types: pa.Schema) -> pa.Table | None:
    """A block through Arrow, or None unless it is sure to mean what Python's parser would say."""
    if any(pa.types.is_map(kind) for kind in types.types):
        return None  # Arrow would make one column of every key of every object
    if _has_deep_line(block):
        return None  # Arrow's own recursion has no bound
    texts = pa.schema([field for field in types if pa.types.is_string(field.type)])
    try:
        table = pa_json.read_json(
            pa.BufferReader(block),
            read_options=pa_json.ReadOptions(block_size=len(block) + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=texts),
        )
        table.validate(full=True)  # Arrow does not check the encoding by itself
    except pa.ArrowInvalid:
        return None
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if table.num_rows != n_lines or not all(_agrees(field, types) for field in table.schema):
        return None
    return table


def _has_deep_line(block: bytes) -> bool:
    """Whether a line may be nested deeper than ``DEEPEST``; brackets inside texts count as well."""
    for line in block.translate(None, _NO_BRACKETS).split(b"\n"):
        if len(line) > DEEPEST:
            signs = np.frombuffer(line, np.uint8)
            opens = (signs == ord("[")) | (signs == ord("{"))
            if np.cumsum(np.where(opens, 1, -1)).max() > DEEPEST:
                return True
    return False


def _wider(types: pa.Schema, found: pa.Schema) -> pa.Schema:
    """The types so far, and those of columns that only this block has values for."""
    known = {field.name: field for field in types if not pa.types.is_null(field.type)}
    return pa.schema(list({**{field.name: field for field in found}, **known}.values()))


def _agrees(field: pa.Field, types: pa.Schema) -> bool:
    position = types.get_field_index(field.name)
    expected = types.field(position).type if position >= 0 else pa.null()
    widened = pa.types.is_int64(field.type) and pa.types.is_float64(expected)
    return bool(widened or pa.types.is_null(field.type) or field.type == expected)


def _exact(
    block: bytes, first_line: int, path: Path, problems: Problems
) -> tuple[pa.Table, np.ndarray[Any, np.dtype[np.int64]]]:
    """A block through Python's parser: note the bad lines, keep the others."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, raw in enumerate(block.split(b"\n"), first_line):
        text = raw.decode("utf-8", "surrogateescape")
        if not text or text.isspace():
            continue
        try:
            row = parsed(text)
        except ValueError as error:
            problems.add(path, _complaint(text, error), row=number)
            continue
        if not isinstance(row, dict):
            problems.add(path, "broken JSON: the line is not an object {...}", row=number)
            continue
        rows.append(row)
        numbers.append(number)
    try:
        table = table_of(rows)
    except UnicodeEncodeError:
        mended = [_mended(row, n, path, problems) for row, n in zip(rows, numbers, strict=True)]
        table = table_of(mended)
    return table, np.array(numbers, np.int64)


def _complaint(text: str, error: ValueError) -> str:
    if SURROGATE.search(text):
        return "broken encoding: not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"broken JSON: {error.msg} at character {error.colno}"
    return f"broken JSON: {error}"


def _mended(row: dict[str, Any], number: int, path: Path, problems: Problems) -> dict[str, Any]:
    """The row with undecodable text replaced, each noted with its column."""
    sound = {}
    for name, value in row.items():
        text = json.dumps([name, value], ensure_ascii=False)
        if SURROGATE.search(text):
            name, value = json.loads(SURROGATE.sub("\ufffd", text))
            problems.add(path, "broken encoding: not UTF-8", row=number, column=name)
        sound[name] = value
    return sound


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    """Objects as one table: a column for every name, null where an object lacks it."""
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    check_width(len(names))
    columns = [_array([row.get(name) for row in rows]) for name in names]
    return pa.table(columns, names=names) if names else pa.table({"": pa.nulls(len(rows))})


def _array(values: list[Any]) -> pa.Array:
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {dict}:
        return map_array(values)
    if kinds == {list}:
        return pa.array([_texts(value) for value in values], LIST)
    if kinds <= {str}:
        return pa.array(values, pa.string() if kinds else pa.null())
    if kinds == {bool} or kinds <= {int, float}:
        try:
            return pa.array(values, pa.float64() if float in kinds else None)
        except (OverflowError, pa.ArrowInvalid):  # whole numbers beyond 64 bits, as some ids are
            pass
    return pa.array([_mixed_text(value) for value in values], pa.string())


def _texts(values: list[Any] | None) -> list[str | None] | None:
    return None if values is None else [object_text(value) for value in values]


def _mixed_text(value: Any) -> str | None:
    nested = isinstance(value, list | dict)
    return json.dumps(value, ensure_ascii=False) if nested else object_text(value)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """One table of all blocks: columns that a block lacks are null, types that differ are reconciled."""
    names = list(dict.fromkeys(chain.from_iterable(table.column_names for table in tables)))
    columns = []
    held = [set(table.column_names) for table in tables]
    for name in filter(None, names):
        parts = [
            table[name] if name in own else pa.nulls(table.num_rows)
            for table, own in zip(tables, held, strict=True)
        ]
        columns.append((name, _one_column(parts)))
    return pa.table(dict(columns))


def _one_column(parts: list[pa.Array | pa.ChunkedArray]) -> pa.ChunkedArray:
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.null()
    else:
        kind = pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()
    chunks = chain.from_iterable(_chunks(part, kind) for part in parts)
    return pa.chunked_array(list(chunks), kind)


def _chunks(part: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> list[pa.Array]:
    if part.type == kind or not pa.types.is_nested(part.type):
        cast = part.cast(kind)
        return list(cast.chunks) if isinstance(cast, pa.ChunkedArray) else [cast]
    plain: Callable[[Any], Any] = dict if pa.types.is_map(part.type) else list
    values = [None if value is None else plain(value) for value in part.to_pylist()]
    return [pa.array([_mixed_text(value) for value in values], pa.string())]
