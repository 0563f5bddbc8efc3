"""Reading CSV and TSV: fast when the file is sound, exactly when it is not.

Owns: the two ways through a delimited file. The fast way is Arrow's reader with every column as text. Where
it fails, or where line breaks inside values make its lenient quoting unsafe, Python's strict reader goes
through the file once and notes each bad record with its line. Ignores what the columns mean.

A record is numbered by the line it begins on, the header being line 1. Quoting is that of spreadsheets
(``"`` around a value, doubled inside it), for TSV too. A header that is one column under the separator of the
file's name, and several under another one, is of a file that uses the other: spreadsheets write semicolons
where the comma is a decimal sign.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from rars.data.problems import Problems
from rars.data.tables import Meter, Source, check_width, open_bytes, twice

_SEPARATORS = ",;\t|"
_BLOCK = 16 << 20
_CHUNK = 50_000
_ESCAPED = re.compile("[\udc80-\udcff]")

csv.field_size_limit(2**31 - 1)  # a product description may well pass Python's default of 128 KiB


def read_csv(
    path: Path, delimiter: str, problems: Problems, *, meter: Meter | None = None
) -> Source | None:
    """Read a delimited file with a header; every column is text."""
    header = _header(path, delimiter)
    if header is None:
        return None
    if len(header) == 1:
        others = {one: _header(path, one) or [] for one in _SEPARATORS if one in header[0]}
        delimiter, header = max(
            ((delimiter, header), *others.items()), key=lambda pair: len(pair[1])
        )
    if any(_ESCAPED.search(name) for name in header):
        problems.add(path, "broken encoding: the header is not UTF-8", row=1)
        return None
    check_width(len(header))
    names = [name.strip() for name in header]
    if again := twice(names):
        for name in again:
            problems.add(path, "the column appears twice", row=1, column=name)
        return None
    table = _fast(path, delimiter, header, meter)
    if table is None or (_has_line_breaks(table) and not _strictly_sound(path, delimiter)):
        return _exact(path, delimiter, names, problems)
    return Source(
        path,
        table.rename_columns(names),
        lines=lambda: _line_numbers(path, delimiter),
        header_row=1,
    )


def _header(path: Path, delimiter: str) -> list[str] | None:
    return next((record for _, record in _records(path, delimiter, strict=False)), None)


def _fast(path: Path, delimiter: str, header: list[str], meter: Meter | None) -> pa.Table | None:
    """The whole file through Arrow, or None if anything in it needs a closer look."""
    with open_bytes(path, meter) as stream:
        try:
            reader = pa_csv.open_csv(
                stream,
                read_options=pa_csv.ReadOptions(block_size=_BLOCK),
                parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    column_types={name: pa.string() for name in header}
                ),
            )
            table = reader.read_all()
        except pa.ArrowInvalid:
            return None
    return table if table.column_names == header else None


def _has_line_breaks(table: pa.Table) -> bool:
    return any(pc.any(pc.match_substring(column, "\n")).as_py() for column in table.columns)


def _strictly_sound(path: Path, delimiter: str) -> bool:
    """Whether every quote is closed before the next value: an open one swallows whole records."""
    try:
        for _ in _records(path, delimiter, strict=True):
            pass
    except csv.Error:
        return False
    return True


def _records(path: Path, delimiter: str, *, strict: bool) -> Iterator[tuple[int, list[str]]]:
    """Line and values of every record, blank lines left out; bytes that are not UTF-8 stay visible."""
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        reader = csv.reader(text, delimiter=delimiter, strict=strict)
        before = 0
        for record in reader:
            if record:
                yield before + 1, record
            before = reader.line_num


def _line_numbers(path: Path, delimiter: str) -> npt.NDArray[np.int64]:
    records = islice(_records(path, delimiter, strict=False), 1, None)
    return np.fromiter((line for line, _ in records), np.int64)


def _exact(path: Path, delimiter: str, names: list[str], problems: Problems) -> Source:
    """Record by record: note the bad ones, keep the others."""
    tables: list[pa.Table] = []
    kept: list[list[str]] = []
    lines: list[int] = []
    before = len(problems)
    for line, record in _sound_records(path, delimiter, names, problems):
        kept.append(record)
        lines.append(line)
        if len(kept) == _CHUNK:
            tables.append(_table(kept, names))
            kept.clear()
    tables.append(_table(kept, names))
    numbers = np.array(lines, np.int64)
    whole = len(problems) == before
    return Source(path, pa.concat_tables(tables), whole=whole, lines=lambda: numbers, header_row=1)


def _sound_records(
    path: Path, delimiter: str, names: list[str], problems: Problems
) -> Iterator[tuple[int, list[str]]]:
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        before = 0
        first = True
        while True:
            try:
                record = next(reader, None)
            except csv.Error:
                problems.add(path, "broken quotes: a quote is not closed", row=before + 1)
                record = []
            if record is None:
                return
            line, before = before + 1, reader.line_num
            if not record:
                continue
            if first:
                first = False
            elif len(record) != len(names):
                message = f"{len(record)} values where the header has {len(names)}"
                problems.add(path, message, row=line)
            else:
                yield line, _readable(record, names, path, line, problems)


def _readable(
    record: list[str], names: list[str], path: Path, line: int, problems: Problems
) -> list[str]:
    """The record with undecodable bytes replaced, each noted with its column."""
    if not any(_ESCAPED.search(value) for value in record):
        return record
    for name, value in zip(names, record, strict=True):
        if _ESCAPED.search(value):
            problems.add(path, "broken encoding: not UTF-8", row=line, column=name)
    return [_ESCAPED.sub("\ufffd", value) for value in record]


def _table(records: list[list[str]], names: list[str]) -> pa.Table:
    columns = zip(*records, strict=True) if records else [()] * len(names)
    return pa.table([pa.array(column, pa.string()) for column in columns], names=names)
