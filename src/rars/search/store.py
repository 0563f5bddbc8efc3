"""What a catalogue shows, opened without being read.

Owns: the item store, one Arrow file, memory-mapped: a row costs a few pages, however large the catalogue.
Ignores identifiers, vectors and scores.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars.arrays import Bools, Ints
from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import RarsError
from rars.search.columns import SEPARATOR, ItemColumns
from rars.search.evidence.languages import language_of

SHOWN = ("id", "title", "brand", "color", "category")
ITEM_FILE, SHOWN_FILE = "items.parquet", "shown.arrow"

_GROUP = 50_000


@dataclass(frozen=True, eq=False)
class ItemStore:
    """The shown fields of every item, in catalogue order; ``source`` has all others, read when asked for."""

    table: pa.Table
    source: Columns | None = None

    @classmethod
    def open(cls, folder: Path) -> ItemStore:
        """Map the store of an index version."""
        path = folder / SHOWN_FILE
        try:
            shown = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            return cls(shown, Columns(folder / ITEM_FILE, ITEMS))
        except (OSError, pa.ArrowException) as error:
            raise RarsError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def check(self) -> None:
        """Refuse texts that are none and offsets that lead outside; reads all that is shown."""
        try:
            self.table.validate(full=True)
        except pa.ArrowException as error:
            raise ValueError(f"{SHOWN_FILE}: {str(error).splitlines()[0].rstrip('.')}") from error

    @property
    def ids(self) -> pa.Array:
        """Item ids, in catalogue order."""
        return _one(self.table["id"])

    @cached_property
    def columns(self) -> ItemColumns:
        """Every column of the catalogue, as filters and facets read it."""
        return ItemColumns(self.source or Columns(self.table, ITEMS))

    @cached_property
    def locales(self) -> Locales | None:
        """The items' locales, where the catalogue has such a column; read when first asked for."""
        return Locales.of(self.columns.source)

    def rows_of(self, ids: Sequence[str]) -> Ints:
        """Catalogue rows of the ids that the catalogue has."""
        found = self.find(ids)
        return found[found >= 0]

    def find(self, ids: Sequence[str]) -> Ints:
        """The catalogue row of each id, -1 where the catalogue lacks it."""
        wanted = pa.array(list(ids), pa.string())
        found = pc.fill_null(pc.index_in(wanted, self.ids), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

    def take(self, rows: Ints) -> list[dict[str, Any]]:
        """The shown fields of some items."""
        # From a buffer: ``pa.array`` imports pandas to look whether it was given one of its kinds.
        buffer = pa.py_buffer(np.ascontiguousarray(rows, dtype=np.int64))
        places = pa.Array.from_buffers(pa.int64(), len(rows), [None, buffer])
        taken: list[dict[str, Any]] = self.table.take(places).to_pylist()
        return taken

    def paths(self) -> pa.Array:
        """Each item's category path, joined; null without one."""
        return pc.binary_join(_one(self.table["category"]), SEPARATOR)


@dataclass(frozen=True, eq=False)
class Locales:
    """The locale of every item: an index into ``names``, or -1 for an item of no one place."""

    names: tuple[str, ...]
    codes: Ints

    @classmethod
    def read(cls, path: Path) -> Locales | None:
        """The column ``locale`` of an item file, if it has one that is text."""
        return cls.of(Columns(path, ITEMS))

    @classmethod
    def of(cls, source: Columns) -> Locales | None:
        """The same of any table."""
        if "locale" not in source.names or not pa.types.is_string(
            source.types.field("locale").type
        ):
            return None
        column = _one(source.read(["locale"])["locale"]).dictionary_encode()
        codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)
        return cls(tuple(column.dictionary.to_pylist()), codes)

    def found_in(self, locale: str) -> Bools | None:
        """The items that a search in this locale may find (items,); None where there are none.

        Those of the same name or the same language, and those of no one place.
        """
        language = language_of(locale)
        wanted = [
            code
            for code, name in enumerate(self.names)
            if name.casefold() == locale.casefold()
            or (language is not None and language_of(name) == language)
        ]
        return np.isin(self.codes, [*wanted, -1]) if wanted else None


def write_items(
    target: Path, source: Path, keep: Bools | None, new: pa.Table | None = None
) -> None:
    """Write the kept rows of an item file and new ones behind them; batch by batch, so of any size."""
    if keep is None and new is None:
        shutil.copyfile(source, target)
        return
    file = pq.ParquetFile(source, memory_map=True)
    with pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer:
        start = 0
        for batch in file.iter_batches(_GROUP):
            rows = pa.Table.from_batches([batch])
            if keep is not None:
                rows = rows.filter(pa.array(keep[start : start + batch.num_rows]))
            start += batch.num_rows
            if rows.num_rows:
                writer.write_table(rows)
        if new is not None and new.num_rows:
            writer.write_table(conformed(new, file.schema_arrow), row_group_size=_GROUP)


def conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the columns of a catalogue: missing ones are null, unknown ones are left out."""
    made = []
    for field in schema:
        if field.name not in rows.column_names:
            made.append(pa.nulls(rows.num_rows, field.type))
            continue
        try:
            made.append(rows[field.name].cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise RarsError(
                f"Column {field.name!r} holds {rows[field.name].type}, but the catalogue has "
                f"{field.type} there."
            ) from error
    return pa.table(made, schema=schema)


def write_shown(folder: Path) -> None:
    """Write the store of an item file that is already in the folder."""
    names = pq.read_schema(folder / ITEM_FILE).names
    present = [name for name in SHOWN if name in names]
    items = pq.read_table(folder / ITEM_FILE, columns=present, memory_map=True)
    columns = [
        items[name] if name in present else pa.nulls(items.num_rows, ITEMS.field(name).type)
        for name in SHOWN
    ]
    # In one piece, so that a column is one array without a copy when it is mapped.
    table = pa.table(columns, names=list(SHOWN)).combine_chunks()
    with (
        pa.OSFile(str(folder / SHOWN_FILE), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as w,
    ):
        w.write_table(table)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
