"""A file of the user's as an Arrow table that knows its row numbers.

Owns: which reader a file name asks for, compressed files, reading progress, Parquet. Ignores what the
columns mean. The readers of text live in ``rars.data.csvfile``, ``rars.data.jsonlines``, ``rars.data.qrels``.

A reader does not stop at the first problem: it notes all of them and returns what it could read, so that
the checks that follow can add theirs; ``whole`` says whether anything was left out.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from rars.data.problems import Problems
from rars.errors import RarsError
from rars.progress import Advance

BROKEN = (OSError, EOFError, zlib.error)
"""What reading a damaged compressed file raises."""

MOST_COLUMNS = 10_000
"""Columns of a table; more are a mistake in how it was written, such as a table on its side."""

Lines = Callable[[], npt.NDArray[np.int64]]

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".qrels": "qrels",
}


class TooWide(ValueError):
    """A table has more columns than any should."""


def check_width(columns: int) -> None:
    """Refuse a table with too many columns, before each of them is looked at."""
    if columns > MOST_COLUMNS:
        raise TooWide(f"{columns:,} columns, and {MOST_COLUMNS:,} is the most")


def twice(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, sorted.

    >>> twice(["id", "title", "id"])
    ['id']
    """
    return sorted(name for name, count in Counter(names).items() if count > 1)


@dataclass
class Source:
    """What was read from one file, or a table in memory, which has a name in place of a path.

    ``lines`` gives the row number of every record, and is called only if there is something to report;
    without it records are numbered from 1, after the ``start`` records that came before these.
    """

    path: Path | str
    table: pa.Table
    whole: bool = True
    lines: Lines | None = None
    header_row: int | None = None
    start: int = 0
    _known_lines: npt.NDArray[np.int64] | None = None

    @property
    def what(self) -> str:
        """What messages call it."""
        return "file" if isinstance(self.path, Path) else "table"

    def rows(self, records: Sequence[int]) -> list[int]:
        """Row numbers in the file of these record positions."""
        if self.lines is None:
            return [self.start + record + 1 for record in records]
        if self._known_lines is None:
            self._known_lines = self.lines()
        return [int(self._known_lines[record]) for record in records]


class Meter:
    """Adds up the bytes read from several files and reports them to ``advance``."""

    def __init__(self, paths: Sequence[Path], advance: Advance | None) -> None:
        self._total = sum(path.stat().st_size for path in paths)
        self._done = 0
        self._advance = advance

    def tick(self, size: int) -> None:
        """Count ``size`` more bytes."""
        self._done += size
        if self._advance is not None:
            self._advance(min(self._done, self._total), self._total)


class _Counted(io.RawIOBase):
    """A file that reports how far it was read, before decompression."""

    def __init__(self, path: Path, meter: Meter | None) -> None:
        self._stream = path.open("rb", buffering=0)
        self._meter = meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._stream.readinto(buffer) or 0
        if self._meter is not None:
            self._meter.tick(size)
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_bytes(path: Path, meter: Meter | None = None) -> IO[bytes]:
    """Open a file for reading, decompressed if its name ends in ``.gz`` or ``.zst``."""
    raw = io.BufferedReader(_Counted(path, meter), 1 << 20)
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=raw)), 1 << 20))
    if path.suffix.lower() == ".zst":
        unpacked = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
        return cast(IO[bytes], io.BufferedReader(unpacked, 1 << 20))
    return raw


def file_format(path: Path) -> str:
    """``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``qrels``, by the name of the file.

    >>> file_format(Path("items.jsonl.gz"))
    'jsonl'
    """
    name = path.name.lower()
    name = name.removesuffix(".gz").removesuffix(".zst")
    found = _FORMATS.get(Path(name).suffix)
    if found is None:
        raise RarsError(
            f"{path} is of no known type; expected .csv, .tsv, .json, .jsonl, .parquet or, of judgments, "
            ".qrels, each also as .gz."
        )
    return found


def existing(path: Path) -> Path:
    """The path, if there is a file."""
    if not path.is_file():
        raise RarsError(f"{path} {'is not a file' if path.exists() else 'does not exist'}.")
    return path


def read_source(
    path: Path,
    problems: Problems,
    *,
    meter: Meter | None = None,
    columns: Sequence[str] | None = None,
) -> Source | None:
    """Read a file of any known type; None if nothing of it could be read."""
    from rars.data import csvfile, jsonlines, qrels

    kind = file_format(existing(path))
    before = len(problems)
    source: Source | None
    try:
        if path.stat().st_size == 0:
            source = None
        elif kind != "parquet" and _is_utf16(path):
            problems.add(path, "broken encoding: the file is UTF-16; save it as UTF-8")
            return None
        elif kind == "parquet":
            source = read_parquet(path, problems, meter=meter, columns=columns)
        elif kind == "jsonl":
            source = jsonlines.read_jsonl(path, problems, meter=meter)
        elif kind == "qrels":
            source = qrels.read_qrels(path, problems, meter=meter)
        else:
            delimiter = "\t" if kind == "tsv" else ","
            source = csvfile.read_csv(path, delimiter, problems, meter=meter)
    except BROKEN as error:
        problems.add(path, f"broken file: {first_line(error)}")
        return None
    except TooWide as error:
        problems.add(path, f"the file has {error}")
        return None
    if len(problems) == before and (source is None or not source.table.num_rows):
        empty = "the file is empty" if source is None else "the file has no rows"
        problems.add(path, f"empty file: {empty}")
    return source


def read_parquet(
    path: Path,
    problems: Problems,
    *,
    meter: Meter | None = None,
    columns: Sequence[str] | None = None,
) -> Source | None:
    """Read a Parquet file row group by row group, naming the first broken row group and column."""
    try:
        file = pq.ParquetFile(_parquet_bytes(path))
        names = file.schema_arrow.names
        check_width(len(names))
        wanted = [n for n in names if columns is None or n in columns]
    except TooWide:
        raise
    except (*BROKEN, pa.ArrowException, ValueError) as error:
        problems.add(path, f"broken Parquet: {first_line(error)}")
        return None
    if again := twice(wanted):
        for name in again:
            problems.add(path, "the column is there twice", column=name)
        return None
    groups, start = [], 0
    for index in range(file.num_row_groups):
        group = _row_group(file, index, wanted, path, problems, start)
        if group is None:
            return None
        groups.append(group)
        start += group.num_rows
        if meter is not None:
            meter.tick(path.stat().st_size // file.num_row_groups)
    table = pa.concat_tables(groups) if groups else file.schema_arrow.empty_table().select(wanted)
    return checked_utf8(Source(path, table), problems)


def _is_utf16(path: Path) -> bool:
    with open_bytes(path) as stream:
        return stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _parquet_bytes(path: Path) -> Any:
    if path.suffix.lower() in (".gz", ".zst"):
        with open_bytes(path) as stream:
            return pa.BufferReader(stream.read())
    return pa.memory_map(str(path))


def _row_group(
    file: pq.ParquetFile,
    index: int,
    columns: list[str],
    path: Path,
    problems: Problems,
    start: int,
) -> pa.Table | None:
    try:
        return file.read_row_group(index, columns=columns)
    except (*BROKEN, pa.ArrowException, ValueError) as error:
        reason = first_line(error)
    for column in columns:
        try:
            file.read_row_group(index, columns=[column])
        except (*BROKEN, pa.ArrowException, ValueError) as error:
            problems.add(path, f"broken Parquet: {first_line(error)}", row=start + 1, column=column)
            return None
    problems.add(path, f"broken Parquet: {reason}", row=start + 1)
    return None


def checked_utf8(source: Source, problems: Problems) -> Source:
    """Parquet readers trust the file to hold UTF-8; find the values that are not, and mend them."""
    for position, name in enumerate(source.table.column_names):
        column = source.table[name]
        if _sound(column):
            continue
        wrong = np.fromiter(
            (not _sound(column.slice(i, 1)) for i in range(len(column))), bool, len(column)
        )
        problems.add_records(source, name, wrong, "broken encoding: not UTF-8")
        source.table = source.table.set_column(position, name, _mended(column))
        source.whole = False
    return source


def _sound(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _mended(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return pa.chunked_array([pa.nulls(len(column), column.type)])
    raw = column.cast(pa.large_binary()).to_pylist()
    texts = [None if value is None else value.decode("utf-8", "replace") for value in raw]
    return pa.chunked_array([pa.array(texts, pa.string())])


def first_line(error: BaseException) -> str:
    """An error's message as part of a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
