"""Vectors of items and queries, with a cache on disk.

Owns: embedding a catalogue block by block into a cache entry that is whole or absent, and opening it
memory-mapped. The entry's name is a digest of the texts and the model's weights, so a changed text or
model is never served old vectors. Ignores which embedders there are (``embedders``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from rars import artifacts
from rars.arrays import Points
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embedder import Embedder
from rars.identifiers.embedders import embedder_kind
from rars.identifiers.texts import digest_texts, item_texts
from rars.places import cache_folder
from rars.progress import Advance

KIND = "embeddings"

_ROWS = 16384
"""Texts per block: progress is reported and memory freed after each."""


def item_vectors(
    dataset: Dataset,
    name: str = "use",
    *,
    cache: Path | None = None,
    device: str = "cpu",
    advance: Advance | None = None,
) -> tuple[Points, str]:
    """Vectors of all items in catalogue order, (n, dim), memory-mapped, and the embedder's digest."""
    kind, source = embedder_kind(name)
    if kind.ready is not None:
        return kind.ready(source, dataset.item_ids)
    embedder = kind.open(source, device)
    texts = item_texts(dataset)
    return cached_vectors(texts, embedder, cache=cache, advance=advance), embedder.digest


def cached_vectors(
    texts: pa.ChunkedArray,
    embedder: Embedder,
    *,
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Points:
    """Vectors of texts, from the cache where it has them, else computed and put there."""
    digest = artifacts.digest_json([digest_texts(texts), embedder.digest])
    folder = (cache or cache_folder()) / "embeddings" / digest[:32]
    try:
        return artifacts.opening(folder, kind=KIND).array("vectors")
    except RarsError:  # absent, or damaged: computed again
        pass
    with artifacts.writing(folder, kind=KIND) as draft:
        shape = (len(texts), embedder.dim)
        vectors = draft.map_array("vectors", np.float32, shape)
        fill(vectors, texts, embedder, advance)
        vectors.flush()
        draft.meta["embedder"] = embedder.digest
    return artifacts.opening(folder, kind=KIND, verify=False).array("vectors")


def fill(
    vectors: Points,
    texts: pa.ChunkedArray,
    embedder: Embedder,
    advance: Advance | None = None,
) -> None:
    """Embed block by block into a prepared array."""
    step = _ROWS if advance is None else min(_ROWS, max(1024, len(texts) // 20))
    for start in range(0, len(texts), step):
        part = texts.slice(start, step).to_pylist()
        vectors[start : start + len(part)] = embedder.embed(part)
        if advance:
            advance(start + len(part), len(texts))
