"""Item vectors of an index: mapped files in segments that versions share, whole or rounded.

Owns: reading the vectors of some items, their products with queries, and writing them. Ignores identifiers,
evidence, and what an item is.

Vectors are the largest part of an index, and a change touches few of them. So they are kept in segments: a
new version links the old ones and adds one for its new items; ``rows`` says which stored vector is whose. A
large segment has cells (``rars.search.cells``), by which the vectors near a query are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.arrays import Floats, Ints, Points
from rars.artifacts import Artifact, Draft
from rars.search import cells
from rars.search.cells import Cells

Stored = npt.NDArray[Any]
"""Vectors as they are kept, (n, dim)."""
VECTORS = ("float32", "float16", "int8")
"""How vectors may be kept."""

_SCALE = "-scale"
_ENDS = ("", _SCALE, *cells.NAMES)
"""What files of a segment are called, after its name."""
_GROUP = 50_000
_SEGMENTS = 16
_LOOSE = 20_000
"""Vectors in no cell that a search of a large catalogue may have to look at."""
_CHUNK = 512
"""Vectors gathered at once: they stay in the cache, and the product in one thread."""


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


def _parts(vectors: Stored | _Joined) -> Iterator[Stored]:
    return (vectors[start : start + _GROUP] for start in range(0, len(vectors), _GROUP))


@dataclass(frozen=True, eq=False)
class _Joined:
    """Vectors of old items and new ones behind them, as one array that is read where it is asked."""

    old: Vectors
    kept: Ints
    new: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Like an array's."""
        return len(self.kept) + len(self.new), self.new.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Ints) -> Points:
        places = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        before = places < len(self.kept)
        found = np.empty((len(places), self.shape[1]), dtype=np.float32)
        found[before] = self.old.taken(self.kept[places[before]])
        found[~before] = self.new[places[~before] - len(self.kept)]
        return found


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
    of ``celled`` rows or more gets cells, None for none. Segments of which less than half is in use, that
    have become many, or of which too much is in no cell, are written anew as one. Large ones are read and
    written a part at a time.
    """
    names: list[str] = []
    rows = np.zeros(0, dtype=np.int64)
    every: Floats | _Joined = new
    if old is not None and folder is not None:
        if _worn(old, kept, celled):
            every = _Joined(old, kept, new)
        else:
            rows, names = old.rows[kept].astype(np.int64), list(old.names)
            for file in (f"{one}{end}.npy" for one in names for end in _ENDS):
                if (folder / file).exists():
                    draft.link(folder, file)
    stored = sum(map(len, old.segments)) if names and old is not None else 0
    if len(every):
        own: Ints = np.arange(len(every))
        if celled is not None and len(every) >= celled:
            found, own = cells_of(every)
            found.save(draft, name)
        _save_segment(draft, name, every, own, kind)
        names.append(name)
        rows = np.concatenate([rows, stored + own])
    draft.save_array("vector-rows", rows.astype(np.int32))
    draft.meta["vectors"] = names


def _worn(old: Vectors, kept: Ints, celled: int | None) -> bool:
    """Whether old segments are better written anew."""
    sizes = list(map(len, old.segments))
    cells_of_each = old.cells or (None,) * len(sizes)
    loose = sum(size for size, one in zip(sizes, cells_of_each, strict=True) if one is None)
    return (
        len(kept) * 2 < sum(sizes)
        or len(sizes) >= _SEGMENTS
        or (celled is not None and loose > _LOOSE)
    )


def _save_segment(
    draft: Draft, name: str, vectors: Floats | _Joined, rows: Ints, kind: str
) -> None:
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


def cells_of(vectors: Floats | _Joined) -> tuple[Cells, Ints]:
    """The cells of vectors (n, dim), which are read a part at a time, and the row that each gets."""
    count = cells.usual_cells(len(vectors))
    size = min(len(vectors), Cells.sample_size(count))
    drawn = np.sort(np.random.default_rng(0).choice(len(vectors), size, replace=False))
    return Cells.of(np.asarray(vectors[drawn], dtype=np.float32), _parts(vectors), count)
