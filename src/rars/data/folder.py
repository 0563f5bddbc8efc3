"""Writing a dataset folder, in chunks and all or nothing.

Owns: the files ``items.parquet``, ``queries.parquet``, ``judgments.parquet``, any extra table a maker
wants beside them (``truth.parquet`` of the shop), and ``dataset.json``. Ignores where rows come from and
whether they are sound: readers check before they write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rars import artifacts, disk
from rars.data import schema
from rars.errors import RarsError

MANIFEST = "dataset.json"
KIND = "dataset"

SLICE = 200_000
"""Item rows converted and written at a time, so that temporary copies stay small."""

TABLES = {"items": schema.ITEMS, "queries": schema.QUERIES, "judgments": schema.JUDGMENTS}


class DatasetWriter:
    """Collects tables chunk by chunk; counts rows as they pass.

    The first rows of a table say which further columns it has; columns of the fixed schema that a chunk
    lacks become null.
    """

    def __init__(self, draft: artifacts.Draft) -> None:
        self._draft = draft
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._stack = ExitStack()
        self.counts: dict[str, int] = {}

    def add(self, table: str, rows: pa.Table) -> None:
        """Append rows to ``items``, ``queries``, ``judgments`` or an extra table of any name."""
        if table in TABLES:
            rows = conform(rows, TABLES[table])
        if table not in self._writers:
            path = self._draft.folder / f"{table}.parquet"
            writer = pq.ParquetWriter(path, rows.schema, compression="zstd")
            self._writers[table] = self._stack.enter_context(writer)
        self._writers[table].write_table(rows)
        self.counts[table] = self.counts.get(table, 0) + rows.num_rows

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()


@contextmanager
def writing_dataset(
    folder: Path, *, name: str, licence: str, grades: str = "labels", **facts: Any
) -> Iterator[DatasetWriter]:
    """Write a dataset folder whole or not at all.

    ``grades`` says what the judgments were: ``labels`` (E/S/C/I) or ``numbers``. Further keyword
    arguments are kept in ``dataset.json`` as they are (seed, locale, source files and the like); what is
    only known at the end goes into a dict among them that is filled by then.
    """
    with artifacts.writing(folder, kind=KIND, manifest=MANIFEST) as draft:
        with DatasetWriter(draft) as writer:
            yield writer
            for table, columns in TABLES.items():
                if table not in writer.counts:
                    writer.add(table, columns.empty_table())
        draft.meta.update(
            name=name, licence=licence, grades=grades, counts=dict(writer.counts), **facts
        )


def write_tables(
    writer: DatasetWriter, items: Iterable[pa.Table], queries: pa.Table, judgments: pa.Table
) -> None:
    """The three tables, items in slices of ``SLICE`` rows: the same content makes the same files."""
    for part in items:
        writer.add("items", part)
    writer.add("queries", queries)
    writer.add("judgments", judgments)


def conform(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """Put the fixed columns first and in order (missing ones as nulls), further ones after them."""
    fixed = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in columns
    ]
    extra = [name for name in rows.column_names if name not in columns.names]
    fields = list(columns) + [rows.schema.field(name) for name in extra]
    return pa.table([*fixed, *(rows[name] for name in extra)], schema=pa.schema(fields))


def refuse_foreign(folder: Path) -> None:
    """Stop before any work if ``folder`` holds something that is not a dataset."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RarsError(f"{folder} is a file; choose a folder for the dataset.")
    if not any(folder.iterdir()):
        return
    manifest = folder / MANIFEST
    sealed = disk.read_json(manifest) if manifest.exists() else None
    if not isinstance(sealed, dict) or sealed.get("kind") != KIND:
        raise RarsError(f"{folder} holds files that are not a rars dataset; choose another folder.")
