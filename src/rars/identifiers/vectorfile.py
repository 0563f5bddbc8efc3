"""Ready vectors from a file: any model's embeddings, matched to the catalogue by id.

Owns: ``PATH.npy`` (one row per item) or ``PATH.safetensors`` (tensor ``vectors``) with the ids of the rows in
``PATH.ids.txt`` (one per line) or ``PATH.ids.json`` (a list) beside it. Rows may come in any order; every
item needs exactly one row, and every row an item. Ignores texts: a query cannot be embedded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import safetensors
import safetensors.numpy

from rars import disk
from rars.arrays import Ints, Points
from rars.errors import RarsError
from rars.identifiers.embedder import Embedder, EmbedderKind

_ROWS = 65536


def read_vectors(path: Path, item_ids: pa.Array) -> Points:
    """The file's vectors in catalogue order, (n, dim); memory-mapped where its order is already that."""
    vectors, rows = matched_vectors(path, item_ids)
    if vectors.dtype == np.float32 and np.array_equal(rows, np.arange(len(vectors))):
        return vectors
    return np.asarray(vectors[rows], dtype=np.float32)


def matched_vectors(path: Path, item_ids: pa.Array) -> tuple[npt.NDArray[Any], Ints]:
    """The file's vectors as they are stored, and the row of each item."""
    vectors = _open(path)
    if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.floating):
        raise RarsError(
            f"{path} holds {vectors.dtype} numbers of shape {tuple(vectors.shape)}; "
            "it needs one row of floating-point numbers per item."
        )
    ids, source = _ids(path)
    if len(ids) != len(vectors):
        raise RarsError(f"{source} names {len(ids)} ids, but {path} has {len(vectors)} rows.")
    rows = _matched(ids, item_ids, source)
    _check_finite(vectors, path)
    return vectors, rows


def _open(path: Path) -> npt.NDArray[Any]:
    try:
        if path.suffix == ".npy":
            loaded: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return loaded
        if path.suffix == ".safetensors":
            tensors = safetensors.numpy.load_file(path)
            if "vectors" not in tensors:
                raise RarsError(f"{path} has no tensor named 'vectors'.")
            return tensors["vectors"]
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise RarsError(f"{path} is not a readable {path.suffix} file: {error}.") from error
    raise RarsError(f"{path} must end in .npy or .safetensors.")


def _ids(path: Path) -> tuple[pa.Array, Path]:
    lines, listed = path.with_suffix(".ids.txt"), path.with_suffix(".ids.json")
    if lines.exists():
        text = lines.read_text(encoding="utf-8")
        return pa.array(text.removesuffix("\n").split("\n"), pa.string()), lines
    if listed.exists():
        found = disk.read_json(listed)
        if not isinstance(found, list):
            raise RarsError(f"{listed} must hold a list of ids.")
        return pa.array([str(one) for one in found], pa.string()), listed
    raise RarsError(f"{path} needs its ids beside it, in {lines.name} or {listed.name}.")


def _matched(ids: pa.Array, item_ids: pa.Array, source: Path) -> npt.NDArray[np.int64]:
    """The file's row of each item."""
    if len(pc.unique(ids)) != len(ids):
        counts = pc.value_counts(ids)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise RarsError(f"{source} names the id {twice!r} more than once.")
    rows = pc.index_in(item_ids, ids)
    if rows.null_count:
        missing = item_ids.filter(pc.is_null(rows))[0].as_py()
        raise RarsError(f"{source} lacks the item {missing!r} of the catalogue.")
    if len(ids) != len(item_ids):
        extra = ids.filter(pc.invert(pc.is_in(ids, item_ids)))[0].as_py()
        raise RarsError(f"{source} names the id {extra!r}, which the catalogue does not have.")
    return np.asarray(rows.to_numpy(zero_copy_only=False), dtype=np.int64)


def _check_finite(vectors: npt.NDArray[Any], path: Path) -> None:
    for start in range(0, len(vectors), _ROWS):
        bad = ~np.isfinite(vectors[start : start + _ROWS]).all(axis=1)
        if bad.any():
            raise RarsError(
                f"{path} has a number that is not finite in row {start + bad.argmax()}."
            )


def _ready(source: str, item_ids: pa.Array) -> tuple[Points, str]:
    path = Path(source)
    return read_vectors(path, item_ids), disk.digest_file(path)


def _refused(source: str, device: str) -> Embedder:
    raise RarsError(f"Embedder 'file:{source}' holds ready vectors and cannot embed a new text.")


EMBEDDER = EmbedderKind(
    about="ready vectors of the items: .npy or .safetensors, ids beside them",
    open=_refused,
    source="PATH",
    ready=_ready,
)
