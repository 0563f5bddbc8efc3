"""What a catalogue shows, opened without being read.

Owns: the item store: Arrow files, memory-mapped, so that a row costs a few pages however large the catalogue,
and beside each a Parquet file with all that was said of its items. Ignores identifiers, vectors and scores.

A change touches few items, so they are kept in segments, as vectors are: a new version links the files of the
one before and adds a pair for its new items; ``item-rows`` says which stored rows are still items, in order.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars.arrays import Bools, Ints
from rars.artifacts import Artifact, Draft
from rars.data.ids import placed
from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import RarsError
from rars.search.columns import SEPARATOR, ItemColumns
from rars.search.evidence.languages import language_of
from rars.search.evidence.letters import Letters, load_letters, save_letters
from rars.search.evidence.letters import files as letter_files

SHOWN = ("id", "title", "brand", "color", "category")
ITEM_FILE, SHOWN_FILE = "items.parquet", "shown.arrow"

ROWS = "item-rows"

_META = "items-in"
_END = re.compile(r"(-[0-9]{6,})?")
_GROUP = 50_000
_SEGMENTS = 16


@dataclass(frozen=True, eq=False)
class ItemStore:
    """The shown fields of every item, in catalogue order; ``source`` has all others, read when asked for.

    ``rows`` (sorted) are those of the table that are items; None is all.
    """

    table: pa.Table
    source: Columns | None = None
    rows: Ints | None = None
    ends: tuple[str, ...] = ("",)
    """What the names of its files end with."""
    letters: Letters | None = None
    """The letter triples of the titles; an index of before they were kept has none."""

    @classmethod
    def load(cls, artifact: Artifact) -> ItemStore:
        """Map the store of an index version."""
        source, ends, shown = columns_in(artifact), tuple(artifact.meta.get(_META, [""])), []
        for path in (artifact.folder / _shown(end) for end in ends):
            try:
                shown.append(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
            except (OSError, pa.ArrowException) as error:
                raise RarsError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error
        letters = load_letters(artifact, ends, source.rows)
        if letters is not None and not letters.fits([one.num_rows for one in shown]):
            raise ValueError("the letters of its titles are not those of its items")
        return cls(pa.concat_tables(shown), source, source.rows, ends, letters)

    def __len__(self) -> int:
        return int(self.table.num_rows) if self.rows is None else len(self.rows)

    def check(self) -> None:
        """Refuse texts that are none and offsets that lead outside; reads all that is shown."""
        try:
            self.table.validate(full=True)
        except pa.ArrowException as error:
            raise ValueError(f"{SHOWN_FILE}: {str(error).splitlines()[0].rstrip('.')}") from error
        kept = None if self.source is None else len(replace(self.source, rows=None))
        if kept not in (None, self.table.num_rows):
            raise ValueError(f"it shows {self.table.num_rows} items and keeps {kept}")
        if self.rows is not None and not self._sound(self.rows):
            raise ValueError("its items are not rows of what it shows")

    def _sound(self, rows: Ints) -> bool:
        return (
            rows.ndim == 1
            and rows.dtype.kind == "i"
            and bool(len(rows) and rows[0] >= 0 and rows[-1] < self.table.num_rows)
            and bool((rows[1:] > rows[:-1]).all())
        )

    @cached_property
    def ids(self) -> pa.Array:
        """Item ids, in catalogue order."""
        return self._column("id")

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
        return placed(pa.array(list(ids), pa.string()), self.ids)

    def take(self, rows: Ints) -> list[dict[str, Any]]:
        """The shown fields of some items."""
        places = rows if self.rows is None else self.rows[rows]
        if len(self._parts) == 1:
            return _taken(self.table, places)
        # Arrow would first put all chunks of a column together.
        found: list[dict[str, Any]] = [{}] * len(places)
        for start, part in self._parts:
            own = np.flatnonzero((places >= start) & (places < start + part.num_rows))
            for at, shown in zip(own.tolist(), _taken(part, places[own] - start), strict=True):
                found[at] = shown
        return found

    def paths(self) -> pa.Array:
        """Each item's category path, joined; null without one."""
        return pc.binary_join(self._column("category"), SEPARATOR)

    @cached_property
    def _parts(self) -> list[tuple[int, pa.Table]]:
        """The pieces that the table is in memory, and the first row of each."""
        batches = self.table.to_batches()
        sizes = [one.num_rows for one in batches]
        starts = np.cumsum([0, *sizes])[:-1].tolist()
        return [
            (start, pa.Table.from_batches([one]))
            for start, one in zip(starts, batches, strict=True)
        ]

    def _column(self, name: str) -> pa.Array:
        whole = _one(self.table[name])
        return whole if self.rows is None else whole.take(pa.array(self.rows))


def _taken(table: pa.Table, rows: Ints) -> list[dict[str, Any]]:
    # From a buffer: ``pa.array`` imports pandas to look whether it was given one of its kinds.
    buffer = pa.py_buffer(np.ascontiguousarray(rows, dtype=np.int64))
    places = pa.Array.from_buffers(pa.int64(), len(rows), [None, buffer])
    taken: list[dict[str, Any]] = table.take(places).to_pylist()
    return taken


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


def columns_in(place: Artifact | Draft) -> Columns:
    """All that an index version, or its draft, says of its items."""
    ends = place.meta.get(_META, [""])
    if not ends or not all(_END.fullmatch(one) for one in ends):
        raise ValueError("it does not say which files its items are in")
    rows = None
    if (place.folder / f"{ROWS}.npy").exists():
        rows = np.asarray(Artifact(place.folder, place.meta, "").array(ROWS))
    return Columns(tuple(place.folder / _items(end) for end in ends), ITEMS, rows)


def save_first(draft: Draft, items: Path) -> None:
    """Put an item file into the draft of a first version."""
    shutil.copyfile(items, draft.folder / ITEM_FILE)
    _write_shown(draft, "")
    draft.meta[_META] = [""]


def save_changed(
    draft: Draft,
    end: str,
    old: ItemStore,
    folder: Path,
    keep: Bools | None,
    new: pa.Table | None,
) -> None:
    """Put the items of a changed catalogue into a draft: the old ones that stay (None: all), then new ones.

    ``end`` is that of the names of new files, ``folder`` where the old ones are. Files of which less than
    half is in use, or that have become many, are written anew as one, batch by batch.
    """
    assert old.source is not None
    stored, ends = old.table.num_rows, list(old.ends)
    rows = np.arange(stored) if old.rows is None else np.asarray(old.rows)
    rows = rows if keep is None else rows[keep]
    added = 0 if new is None else new.num_rows
    if 2 * len(rows) < stored or len(ends) >= _SEGMENTS:
        kept = None if keep is None else np.flatnonzero(keep)
        blocks = (block for _, block in old.source.blocks(wanted=kept, size=_GROUP))
        _write(draft, end, old.source.types, blocks, new)
        draft.meta[_META] = [end]
        return
    for one in ends:
        for name in (_items(one), _shown(one), *letter_files(one)):
            if (folder / name).exists():  # an index of before letters were kept has none
                draft.link(folder, name)
    if added:
        _write(draft, end, old.source.types, (), new)
        ends.append(end)
        rows = np.concatenate([rows, np.arange(stored, stored + added)])
    if len(rows) < stored + added:
        draft.save_array(ROWS, rows.astype(np.int32))
    draft.meta[_META] = ends


def _write(
    draft: Draft, end: str, schema: pa.Schema, blocks: Iterable[pa.Table], new: pa.Table | None
) -> None:
    with pq.ParquetWriter(draft.folder / _items(end), schema, compression="zstd") as writer:
        for block in blocks:
            writer.write_table(block)
        if new is not None and new.num_rows:
            writer.write_table(conformed(new, schema), row_group_size=_GROUP)
    _write_shown(draft, end)


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


def _write_shown(draft: Draft, end: str) -> None:
    """Write what is shown of an item file that is already in the draft, and the letters of its titles."""
    path = draft.folder / _items(end)
    names = pq.read_schema(path).names
    present = [name for name in SHOWN if name in names]
    items = pq.read_table(path, columns=present, memory_map=True)
    columns = [
        items[name] if name in present else pa.nulls(items.num_rows, ITEMS.field(name).type)
        for name in SHOWN
    ]
    # In one piece, so that a column is one array without a copy when it is mapped.
    table = pa.table(columns, names=list(SHOWN)).combine_chunks()
    with (
        pa.OSFile(str(draft.folder / _shown(end)), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as w,
    ):
        w.write_table(table)
    save_letters(draft, end, table["title"])


def _items(end: str) -> str:
    return ITEM_FILE.replace(".", f"{end}.")


def _shown(end: str) -> str:
    return SHOWN_FILE.replace(".", f"{end}.")


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
