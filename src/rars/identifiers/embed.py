"""Vectors of items and queries: named embedders, and a cache on disk.

=========================================  ==========================================================
use                                        built in, needs no network: 512-d, English, Spanish, Japanese
t5:NAME_OR_FOLDER                          encoder of a T5, mT5 or umT5 checkpoint, mean of its last states
sentence-transformers:NAME_OR_FOLDER       any model of that library (extra ``dense``)
file:PATH                                  ready vectors: .npy or .safetensors, ids beside them
=========================================  ==========================================================

Owns: choosing an embedder by its name, embedding a catalogue block by block into a cache entry that is whole
or absent, and opening it memory-mapped. The entry's name is a digest of the texts and the model's weights,
so a changed text or model is never served old vectors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars import artifacts
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.quantizer import Advance, Points
from rars.identifiers.texts import digest_texts, item_texts

KIND = "embeddings"

_ROWS = 16384
"""Texts per block: progress is reported and memory freed after each."""


class Embedder(Protocol):
    """Texts to vectors; ``digest`` names everything beside the texts that the vectors depend on."""

    @property
    def dim(self) -> int:
        """Width of the vectors."""

    @property
    def digest(self) -> str:
        """Changes whenever the same text would get another vector."""

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""


def open_embedder(name: str, *, device: str = "cpu") -> Embedder:
    """The embedder of this name, with its weights loaded."""
    kind, _, source = name.partition(":")
    if kind == "use" and not source:
        from rars.identifiers.use import UniversalSentenceEncoder

        return UniversalSentenceEncoder()
    if kind == "t5" and source:
        from rars.identifiers.neural import T5Embedder

        return T5Embedder(source, device)
    if kind == "sentence-transformers" and source:
        from rars.identifiers.neural import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(source, device)
    if kind == "file":
        raise RarsError(f"Embedder {name!r} holds ready vectors and cannot embed a new text.")
    raise RarsError(
        f"Unknown embedder {name!r}; choose use, t5:NAME_OR_FOLDER, "
        "sentence-transformers:NAME_OR_FOLDER or file:PATH."
    )


def item_vectors(
    dataset: Dataset,
    name: str = "use",
    *,
    cache: Path | None = None,
    device: str = "cpu",
    advance: Advance | None = None,
) -> tuple[Points, str]:
    """Vectors of all items in catalogue order, (n, dim), memory-mapped, and the embedder's digest."""
    if name.startswith("file:"):
        from rars.identifiers.vectorfile import read_vectors

        path = Path(name.removeprefix("file:"))
        return read_vectors(path, dataset.item_ids), artifacts.digest_file(path)
    embedder = open_embedder(name, device=device)
    return cached_vectors(
        item_texts(dataset), embedder, cache=cache, advance=advance
    ), embedder.digest


def cached_vectors(
    texts: pa.ChunkedArray,
    embedder: Embedder,
    *,
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Points:
    """Vectors of texts, from the cache where it has them, else computed and put there."""
    digest = artifacts.digest_json([digest_texts(texts), embedder.digest])
    folder = (cache or default_cache()) / "embeddings" / digest[:32]
    try:
        return artifacts.opening(folder, kind=KIND).array("vectors")
    except RarsError:  # absent, or damaged: computed again
        pass
    with artifacts.writing(folder, kind=KIND) as draft:
        shape = (len(texts), embedder.dim)
        vectors = np.lib.format.open_memmap(
            draft.folder / "vectors.npy", mode="w+", dtype=np.float32, shape=shape
        )
        fill(vectors, texts, embedder, advance)
        vectors.flush()
        draft.meta["embedder"] = embedder.digest
    return artifacts.opening(folder, kind=KIND, verify=False).array("vectors")


def fill(
    vectors: npt.NDArray[np.float32],
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


def default_cache() -> Path:
    """Where embeddings are kept: ``$RARS_CACHE``, or ``rars`` in the user's cache folder."""
    chosen = os.environ.get("RARS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rars"
