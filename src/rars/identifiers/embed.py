"""Vectors of items and queries, with a cache on disk.

Owns: embedding a catalogue shard by shard into a cache entry that is whole or absent, and opening it
memory-mapped. The entry's name is a digest of the texts and the model's weights, so a changed text or
model is never served old vectors. Ignores which embedders there are (``embedders``) and who does the shards
(``rars.scale``).

A shard is what the embedder is given at once. Its size depends on the number of texts alone: on some
processors the last bits of a vector depend on the others of its batch, and they must not depend on who
computes it, nor on how many threads there are: it is done by one. Killed, the same call goes on with the
shards that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rars import artifacts, disk, locks
from rars.arrays import Floats, Ints, Points
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embedder import Embedder
from rars.identifiers.embedders import embedder_kind, open_embedder, shared_embedder
from rars.identifiers.texts import digest_texts, item_texts
from rars.identifiers.vectorfile import matched_vectors
from rars.places import cache_folder
from rars.progress import Advance
from rars.scale import AS_NEEDED, INLINE, Engine
from rars.scale.shards import Shards, spans
from rars.scale.threads import alone

KIND = "embeddings"

_MOST, _FEWEST, _SHARDS = 16384, 1024, 20
"""Texts of a shard, at most and at least; where neither binds, there are so many shards."""
_SAMPLE, _ALIKE = 32, 0.98
"""Ready vectors that are computed again to see whose they are, and the least cosine: half precision and other
versions of a model's library round otherwise."""


def item_vectors(
    dataset: Dataset,
    name: str = "use",
    *,
    cache: Path | None = None,
    device: str = "cpu",
    engine: Engine = AS_NEEDED,
    advance: Advance | None = None,
) -> tuple[Points, str]:
    """Vectors of all items in catalogue order, (n, dim), memory-mapped, and the embedder's digest."""
    kind, source = embedder_kind(name)
    if kind.ready is not None:
        return kind.ready(source, dataset.item_ids)
    vectors, embedder = vectors_by_name(
        item_texts(dataset), name, cache=cache, device=device, engine=engine, advance=advance
    )
    return vectors, embedder.digest


def learning_queries(dataset: Dataset) -> Ints:
    """Rows of the training and the validation queries: those whose vectors learning asks for."""
    return np.concatenate([dataset.queries_in("train"), dataset.queries_in("validation")])


def query_vectors(
    dataset: Dataset,
    name: str = "use",
    *,
    cache: Path | None = None,
    device: str = "cpu",
    engine: Engine = AS_NEEDED,
    advance: Advance | None = None,
) -> Points | None:
    """The same of the queries that are learned from; None where the embedder reads no texts."""
    kind, _ = embedder_kind(name)
    if not kind.reads_texts:
        return None
    texts = pa.chunked_array([dataset.query_texts.take(pa.array(learning_queries(dataset)))])
    vectors, _ = vectors_by_name(
        texts, name, cache=cache, device=device, engine=engine, advance=advance
    )
    return vectors


def vectors_by_name(
    texts: pa.ChunkedArray,
    name: str,
    *,
    cache: Path | None = None,
    device: str = "cpu",
    engine: Engine = AS_NEEDED,
    advance: Advance | None = None,
) -> tuple[Points, Embedder]:
    """Vectors of texts as the embedder of this name gives them, and the embedder.

    Any process can open one that has a name, so as many do as pay. A GPU is one, whoever asks: there it is
    this process, unless an engine is chosen.
    """
    embedder = open_embedder(name, device=device)
    if engine is AS_NEEDED and device != "cpu":
        engine = INLINE
    sent = _Sent(embedder, name, device)
    return cached_vectors(texts, sent, cache=cache, engine=engine, advance=advance), embedder


@dataclass(frozen=True)
class _Sent:
    """An embedder that can be sent: another process opens its own, of the same name and digest."""

    embedder: Embedder
    name: str
    device: str

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        return self.embedder.dim

    @property
    def digest(self) -> str:
        """Of the weights."""
        return self.embedder.digest

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""
        return self.embedder.embed(texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return shared_embedder, (self.name, self.digest, self.device)


def cached_vectors(
    texts: pa.ChunkedArray,
    embedder: Embedder,
    *,
    cache: Path | None = None,
    engine: Engine = INLINE,
    advance: Advance | None = None,
) -> Points:
    """Vectors of texts, from the cache where it has them, else computed and put there.

    An ``engine`` of several processes needs an embedder that it can send to them (see ``vectors_by_name``).
    """
    folder = _place(texts, embedder, cache)
    parts = spans(len(texts), rows_at_once(len(texts)))
    with locks.held(folder, wait=True):
        try:
            return artifacts.opening(folder, kind=KIND).array("vectors")
        except RarsError:  # absent, or damaged: computed again
            pass
        if len(parts) > 1:
            shards = Shards(folder.with_name(f"{folder.name}.shards"), KIND, len(parts))
            _fill_shards(shards, texts, parts, embedder, engine, advance)
        with artifacts.writing(folder, kind=KIND) as draft:
            vectors = draft.map_array("vectors", np.float32, (len(texts), embedder.dim))
            if len(parts) > 1:
                shards.join("vectors", vectors)
            elif parts:
                with alone():
                    vectors[:] = embedder.embed(texts.to_pylist())
                if advance:
                    advance(len(texts), len(texts))
            vectors.flush()
            draft.meta["embedder"] = embedder.digest
        if len(parts) > 1:
            shards.discard()
    return artifacts.opening(folder, kind=KIND, verify=False).array("vectors")


def keep_vectors(
    dataset: Dataset,
    name: str,
    path: Path,
    *,
    trust: bool = False,
    cache: Path | None = None,
    device: str = "cpu",
    advance: Advance | None = None,
) -> Points:
    """Put the ready vectors of a file into the cache as those that an embedder gives the items.

    Queries and new items are embedded by it later, so the vectors must be its own: a few texts are embedded
    to see that they are, unless they are to be trusted.
    """
    kind, source = embedder_kind(name)
    if not kind.reads_texts:
        raise RarsError(f"The embedder {name!r} reads no texts: vectors are those of a model.")
    embedder = kind.open(source, device)
    given, rows = matched_vectors(path, dataset.item_ids)
    texts = item_texts(dataset)
    if given.shape[1] != embedder.dim:
        raise RarsError(
            f"{path} has vectors of {given.shape[1]} numbers; {name} has {embedder.dim}."
        )
    if not trust:
        some = np.unique(np.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows))).astype(np.int64))
        own = embedder.embed(texts.take(pa.array(some)).to_pylist())
        alike = _cosines(np.asarray(own), np.asarray(given[rows[some]]))
        if (worst := alike.min(initial=1.0)) < _ALIKE:
            item = dataset.item_ids[int(some[alike.argmin()])].as_py()
            raise RarsError(
                f"{path}: the vector of item {item!r} is not the one that {name} gives its text (cosine "
                f"{worst:.2f}); name the embedder that made them, or say --trust."
            )
    folder = _place(texts, embedder, cache)
    with locks.held(folder, wait=True), artifacts.writing(folder, kind=KIND) as draft:
        vectors = draft.map_array("vectors", np.float32, given.shape)
        for start, stop in spans(len(given), _MOST):
            vectors[start:stop] = given[rows[start:stop]]
            if advance:
                advance(stop, len(given))
        vectors.flush()
        draft.meta["embedder"] = embedder.digest
    return artifacts.opening(folder, kind=KIND, verify=False).array("vectors")


def _cosines(ours: Points, theirs: Points) -> Floats:
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    found: Floats = np.ones(len(ours))
    np.divide((ours * theirs).sum(1), lengths, where=lengths > 0, out=found)
    return found


def is_cached(texts: pa.ChunkedArray, embedder: Embedder, *, cache: Path | None = None) -> bool:
    """Whether the vectors of these texts need not be computed."""
    try:
        artifacts.opening(_place(texts, embedder, cache), kind=KIND, verify=False)
    except RarsError:
        return False
    return True


def _place(texts: pa.ChunkedArray, embedder: Embedder, cache: Path | None) -> Path:
    digest = disk.digest_json([digest_texts(texts), embedder.digest])
    return (cache or cache_folder()) / "embeddings" / digest[:32]


def rows_at_once(texts: int) -> int:
    """How many texts an embedder is given at once, of so many.

    >>> rows_at_once(500), rows_at_once(100_000), rows_at_once(10_000_000)
    (1024, 5000, 16384)
    """
    return min(_MOST, max(_FEWEST, texts // _SHARDS))


def embed_shard(shards: Shards, number: int, texts: pa.Array, embedder: Embedder) -> None:
    """Write the vectors of one shard's texts."""
    vectors = np.asarray(embedder.embed(texts.to_pylist()), dtype=np.float32)
    with shards.writing(number) as draft:
        draft.save_array("vectors", vectors)


def _fill_shards(
    shards: Shards,
    texts: pa.ChunkedArray,
    parts: list[tuple[int, int]],
    embedder: Embedder,
    engine: Engine,
    advance: Advance | None,
) -> None:
    def call(number: int) -> dict[str, Any]:
        start, stop = parts[number]
        return {
            "texts": texts.slice(start, stop - start).combine_chunks(),
            "embedder": embedder,
        }

    def count(done: int, total: int) -> None:
        if advance:
            advance(min(done * parts[0][1], len(texts)), len(texts))

    shards.complete(embed_shard, call, engine=engine, advance=count)
