"""What a catalogue shows and how its items lie in vector space, opened without being read.

Owns: the item store (one Arrow file, memory-mapped: a row costs a few pages, however large the catalogue) and
item vectors in segments. Ignores identifiers and scores.

Vectors are the largest part of an index, and a change touches few of them. So they are kept in segments: a
new version links the old ones and adds one for its new items; ``rows`` says which stored vector is whose. A
large segment has cells (``rars.search.cells``), by which the vectors near a query are found.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars.arrays import Bools, Floats, Ints, Points
from rars.artifacts import Artifact, Draft
from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import RarsError
from rars.identifiers.kmeans import sample
from rars.search import cells
from rars.search.cells import Cells
from rars.search.columns import SEPARATOR, ItemColumns
from rars.search.evidence.languages import language_of

SHOWN = ("id", "title", "brand", "color", "category")
ITEM_FILE, SHOWN_FILE = "items.parquet", "shown.arrow"

Stored = npt.NDArray[Any]
"""Vectors as they are kept, (n, dim)."""
VECTORS = ("float32", "float16", "int8")
"""How vectors may be kept."""

_SCALE = "-scale"
_ENDS = ("", _SCALE, *cells.NAMES)
"""What files of a segment are called, after its name."""
_GROUP = 50_000
_SEGMENTS = 16
_CHUNK = 512
"""Vectors gathered at once: they stay in the cache, and the product in one thread."""


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


@dataclass(frozen=True, eq=False)
class Vectors:
    """Item vectors: ``segments`` of (rows, dim), and for each item its ``rows`` in all of them.

    A segment holds float32, float16, or 8-bit whole numbers; those are multiplied by the ``scales`` (rows,)
    of the segment, which is None otherwise. Rounding moves an inner product of unit vectors by about 1e-4
    (float16) or 1e-3 (int8). ``cells`` are those of each segment, None for one that has none.
    """

    names: tuple[str, ...]
    segments: tuple[Stored, ...]
    rows: Ints
    scales: tuple[Points | None, ...] = ()
    cells: tuple[Cells | None, ...] = ()

    @classmethod
    def load(cls, artifact: Artifact) -> Vectors | None:
        """Map the vectors of an index version, if it has any."""
        names = tuple(artifact.meta["vectors"])
        if not names:
            return None
        # Views without NumPy's class for mapped files, which makes every small read dear.
        segments = tuple(np.asarray(artifact.array(name)) for name in names)
        scales = tuple(
            np.asarray(artifact.array(name + _SCALE)) if segment.dtype == np.int8 else None
            for name, segment in zip(names, segments, strict=True)
        )
        listed = tuple(Cells.load(artifact, name) for name in names)
        return cls(names, segments, np.asarray(artifact.array("vector-rows")), scales, listed)

    def fits(self, items: int) -> bool:
        """Whether each item has its vector, all of one length."""
        stored = sum(map(len, self.segments))
        return (
            self.rows.shape == (items,)
            and self.rows.dtype.kind == "i"
            and 0 <= int(self.rows.min()) <= int(self.rows.max()) < stored
            and all(one.ndim == 2 and one.dtype in VECTORS for one in self.segments)
            and len({one.shape[1] for one in self.segments}) == 1
            and all(self._sound(at) for at in range(len(self.segments)))
        )

    def _sound(self, at: int) -> bool:
        segment, scale = self.segments[at], self._scale(at)
        listed = self.cells[at] if self.cells else None
        if listed is not None and not listed.fits(*segment.shape):
            return False
        if segment.dtype == np.int8:
            return (
                scale is not None
                and scale.shape == segment.shape[:1]
                and scale.dtype == np.float32
                and bool(np.isfinite(scale).all())
            )
        return all(bool(np.isfinite(part).all()) for part in _parts(segment))

    def _scale(self, at: int) -> Points | None:
        return self.scales[at] if self.scales else None

    @property
    def celled(self) -> bool:
        """Whether a segment has cells."""
        return any(one is not None for one in self.cells)

    def near(self, query: Points, reach: int) -> Ints:
        """Items (catalogue rows) worth a look: of the cells nearest to a query (dim,), ``reach`` in each
        segment; all of a segment without cells.
        """
        found, start = [], 0
        for segment, listed in zip(self.segments, self.cells, strict=True):
            rows = np.arange(len(segment)) if listed is None else listed.near(query, reach)
            found.append(self._owners[rows + start])
            start += len(segment)
        items = np.concatenate(found)
        return items[items >= 0]

    @cached_property
    def _owners(self) -> Ints:
        """The item of each stored vector; -1 for one that no item has any more."""
        found = np.full(sum(map(len, self.segments)), -1, dtype=np.int32)
        found[self.rows] = np.arange(len(self.rows), dtype=np.int32)
        return found

    def scores_of(self, query: Points, items: Ints) -> Points:
        """Inner products (items,) of a query vector (dim,) with some items (catalogue rows) alone."""
        found = np.empty(len(items), dtype=np.float32)
        order = np.argsort(self.rows[items])  # read as they lie: those of a cell in one stretch
        for start in range(0, len(items), _CHUNK):
            part = order[start : start + _CHUNK]
            found[part] = self.taken(items[part]) @ query
        return found

    def taken(self, items: Ints) -> Points:
        """The vectors (items, dim) of some items (catalogue rows)."""
        rows = self.rows[items]
        if len(self.segments) == 1:
            return self._read(0, rows)
        found = np.empty((len(rows), self.segments[0].shape[1]), dtype=np.float32)
        start = 0
        for at, segment in enumerate(self.segments):
            own = np.flatnonzero((rows >= start) & (rows < start + len(segment)))
            found[own] = self._read(at, rows[own] - start)
            start += len(segment)
        return found

    def _read(self, at: int, rows: Ints | slice) -> Points:
        """Rows of a segment as they were before rounding, nearly."""
        segment, scale = self.segments[at], self._scale(at)
        taken = segment[rows] if isinstance(rows, slice) else segment.take(rows, axis=0)
        found: Points = _widened(taken)
        return found if scale is None else found * scale[rows][:, None]

    def scores(self, queries: Points, order: Ints | None = None) -> Points:
        """Inner products (queries, items), in catalogue order or in the ``order`` given."""
        rows = self.rows if order is None else self.rows[order]
        every = np.concatenate([self._products(at, queries) for at in range(len(self.segments))])
        return np.ascontiguousarray(every[rows].T)

    def _products(self, at: int, queries: Points) -> Points:
        """All rows of a segment times the queries, (rows, queries)."""
        segment = self.segments[at]
        if segment.dtype == np.float32:
            return np.asarray(segment @ queries.T)
        found = np.empty((len(segment), len(queries)), dtype=np.float32)
        for start in range(0, len(segment), _GROUP):
            part = slice(start, start + _GROUP)
            found[part] = self._read(at, part) @ queries.T
        return found


def _widened(values: Stored) -> Points:
    """Numbers as float32; half precision by torch, which takes a fifth of the time that NumPy does."""
    if values.dtype != np.float16:
        return values.astype(np.float32, copy=False)
    import torch

    return torch.from_numpy(np.require(values, requirements="W")).float().numpy()


def rounded(vectors: Points, kind: str) -> tuple[Stored, Points | None]:
    """Vectors as they are stored, and what 8-bit rows are multiplied by.

    >>> stored, scale = rounded(np.array([[1.0, -0.5]], dtype=np.float32), "int8")
    >>> stored.tolist(), (stored * scale[:, None]).round(2).tolist()
    ([[127, -64]], [[1.0, -0.5]])
    """
    if kind != "int8":
        return vectors.astype(kind), None
    scale = np.abs(vectors).max(axis=1, initial=0.0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale


def _parts(vectors: Stored) -> Iterator[Stored]:
    return (vectors[start : start + _GROUP] for start in range(0, len(vectors), _GROUP))


def save_vectors(
    draft: Draft,
    name: str,
    new: Floats,
    old: Vectors | None,
    kept: Ints,
    folder: Path | None,
    kind: str = "float32",
    celled: int | None = None,
) -> None:
    """Put vectors into a draft: those of the old items ``kept`` (rows of the catalogue), then new ones.

    ``folder`` is where the old segments are; ``kind`` how new ones are stored (``VECTORS``); a new segment
    of ``celled`` rows or more gets cells, None for none. Segments of which less than half is in use, or that
    have become many, are written anew as one. Large ones are read and written a part at a time.
    """
    names: list[str] = []
    rows = np.zeros(0, dtype=np.int64)
    if old is not None and folder is not None:
        rows = old.rows[kept].astype(np.int64)
        if len(rows) * 2 < sum(map(len, old.segments)) or len(old.names) >= _SEGMENTS:
            new = np.concatenate([old.taken(kept), new])
            rows = np.zeros(0, dtype=np.int64)
        else:
            names = list(old.names)
            for file in (f"{one}{end}.npy" for one in names for end in _ENDS):
                if (folder / file).exists():
                    draft.link(folder, file)
    stored = sum(map(len, old.segments)) if names and old is not None else 0
    if len(new):
        own: Ints = np.arange(len(new))
        if celled is not None and len(new) >= celled:
            found, own = cells_of(new)
            found.save(draft, name)
        _save_segment(draft, name, new, own, kind)
        names.append(name)
        rows = np.concatenate([rows, stored + own])
    draft.save_array("vector-rows", rows.astype(np.int32))
    draft.meta["vectors"] = names


def _save_segment(draft: Draft, name: str, vectors: Floats, rows: Ints, kind: str) -> None:
    """Write vectors as a segment, each at its row, a part at a time."""
    target = draft.map_array(name, kind, vectors.shape)
    scales = np.ones(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _GROUP):
        part = slice(start, start + _GROUP)
        values, scale = rounded(np.asarray(vectors[part], dtype=np.float32), kind)
        target[rows[part]] = values
        if scale is not None:
            scales[rows[part]] = scale
    target.flush()
    if kind == "int8":
        draft.save_array(name + _SCALE, scales)


def cells_of(vectors: Floats) -> tuple[Cells, Ints]:
    """The cells of vectors (n, dim), which are read a part at a time, and the row that each gets."""
    count = cells.usual_cells(len(vectors))
    drawn = sample(vectors, Cells.sample_size(count), seed=0)
    return Cells.of(drawn, _parts(vectors), count)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
