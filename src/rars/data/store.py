"""Columns of one table, wherever they are: Parquet files or an Arrow table, all rows or some.

Owns: reading columns by name, choosing rows without touching a text, and blocks of rows for catalogues that
are larger than memory. Ignores what the columns mean. A column of the fixed schema that the table lacks reads
as nulls; any other that it lacks is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from rars.data.problems import some
from rars.errors import RarsError

Rows = npt.NDArray[np.integer[Any]]

BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Columns:
    """A table that is read when asked: ``rows`` (sorted) are those it has of its source, None is all.

    A source of several files has the rows of the first, then those of the second, and so on; the columns are
    those of the first.

    >>> mugs = pa.table({"id": ["a", "b", "c"], "price": [1, 2, 3]})
    >>> fixed = pa.schema([("id", pa.string()), ("brand", pa.string())])
    >>> Columns(mugs, fixed).chosen(np.array([0, 2])).read(["price", "brand"]).to_pydict()
    {'price': [1, 3], 'brand': [None, None]}
    """

    source: Path | tuple[Path, ...] | pa.Table
    fixed: pa.Schema
    rows: Rows | None = None

    def __len__(self) -> int:
        if self.rows is not None:
            return len(self.rows)
        return self._count

    @property
    def names(self) -> list[str]:
        """The columns the table has."""
        return list(self._types.names)

    @property
    def types(self) -> pa.Schema:
        """Names and types of the columns the table has."""
        return self._types

    def chosen(self, rows: Rows) -> Columns:
        """Some rows of this table, in order; nothing is read."""
        return Columns(self.source, self.fixed, rows if self.rows is None else self.rows[rows])

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Columns in the order asked for, read now; None is all that the table has."""
        names, present = self._asked(columns)
        if self.rows is not None:
            parts = [block for _, block in self.blocks(names)]
            return pa.concat_tables(parts) if parts else self._completed(self._none(present), names)
        if isinstance(self.source, pa.Table):
            return self._completed(self.source.select(present), names)
        return self._completed(pa.concat_tables(_read(one, present) for one in self._files), names)

    def blocks(
        self, columns: Sequence[str] | None = None, wanted: Rows | None = None, size: int = BLOCK
    ) -> Iterator[tuple[Rows, pa.Table]]:
        """The wanted (sorted) rows, all by default, in blocks: their numbers and their columns."""
        names, present = self._asked(columns)
        numbers = np.arange(len(self)) if wanted is None else wanted
        places = numbers if self.rows is None else self.rows[numbers]
        for start, batch in self._batches(present, places, size):
            low, high = np.searchsorted(places, [start, start + batch.num_rows])
            if low == high:
                continue
            if high - low < batch.num_rows:
                batch = batch.take(pa.array(places[low:high] - start))
            yield numbers[low:high], self._completed(batch.combine_chunks(), names)

    @cached_property
    def _types(self) -> pa.Schema:
        if isinstance(self.source, pa.Table):
            return self.source.schema
        with _readable(self._files[0]):
            return pq.read_schema(self._files[0])

    @cached_property
    def _count(self) -> int:
        if isinstance(self.source, pa.Table):
            return int(self.source.num_rows)
        return sum(map(_rows_of, self._files))

    @property
    def _files(self) -> tuple[Path, ...]:
        assert not isinstance(self.source, pa.Table)
        return (self.source,) if isinstance(self.source, Path) else self.source

    def _asked(self, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
        """The names asked for, and what to read for them: at least one column, to know the rows."""
        names = self.names if columns is None else list(columns)
        known = {*self.names, *self.fixed.names}
        for name in names:
            if name not in known:
                where = "The table" if isinstance(self.source, pa.Table) else self._files[0]
                raise RarsError(
                    f"{where} has no column {name!r}; its columns are {some(self.names)}."
                )
        wanted = set(names)
        present = [name for name in self.names if name in wanted]
        return names, present or self.names[:1]

    def _none(self, present: list[str]) -> pa.Table:
        return pa.schema([self._types.field(name) for name in present]).empty_table()

    def _batches(
        self, present: list[str], places: Rows, size: int
    ) -> Iterator[tuple[int, pa.Table]]:
        """First row and rows of the parts of the source that hold wanted places."""
        if isinstance(self.source, pa.Table):
            table = self.source.select(present)
            for start in range(0, table.num_rows, size):
                yield start, table.slice(start, size)
            return
        first = 0
        for path in self._files:
            count = _rows_of(path)
            low, high = np.searchsorted(places, [first, first + count])
            for start, batch in _batches(path, present, places[low:high] - first, size):
                yield first + start, batch
            first += count

    def _completed(self, table: pa.Table, names: list[str]) -> pa.Table:
        """The named columns, null where the table lacks them."""
        present = set(table.column_names)
        columns = [
            table[name]
            if name in present
            else pa.nulls(table.num_rows, self.fixed.field(name).type)
            for name in names
        ]
        fields = [
            table.schema.field(name)
            if name in present
            else pa.field(name, self.fixed.field(name).type)
            for name in names
        ]
        return pa.table(columns, schema=pa.schema(fields))


def _read(path: Path, columns: list[str]) -> pa.Table:
    with _readable(path):
        table = pq.read_table(path, columns=columns, memory_map=True)
        table.validate(full=True)  # Parquet does not look whether texts are texts
        return table


def _rows_of(path: Path) -> int:
    with _readable(path):
        return int(pq.read_metadata(path).num_rows)


def _batches(
    path: Path, columns: list[str], places: Rows, size: int
) -> Iterator[tuple[int, pa.Table]]:
    """The same of one file; groups of rows that hold no wanted place are not even read."""
    with _readable(path), pq.ParquetFile(path, memory_map=True) as file:
        start = 0
        for group in range(file.num_row_groups):
            stop = start + file.metadata.row_group(group).num_rows
            low, high = np.searchsorted(places, [start, stop])
            if low < high:
                for batch in file.iter_batches(size, row_groups=[group], columns=columns):
                    batch.validate(full=True)
                    yield start, pa.Table.from_batches([batch])
                    start += batch.num_rows
            start = stop


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException, KeyError) as error:
        raise RarsError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
