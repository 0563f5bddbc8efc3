"""Dense retrieval: one vector per item and query, exact inner products, no approximate index.

Owns: searching a matrix that may be larger than memory, block by block. Ignores how vectors are made: any
embedder of ``rars.identifiers.embed`` will do (the built-in ``use``, ``t5:NAME_OR_FOLDER``,
``sentence-transformers:NAME_OR_FOLDER``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rars.baselines.ranked import Advance, Best, Ranked, check_k
from rars.data import Dataset
from rars.identifiers.embed import Embedder, cached_vectors, open_embedder
from rars.identifiers.texts import item_texts

Points = npt.NDArray[np.float32]

_QUERIES = 512
_ITEMS = 16384
"""Scores are computed for so many queries and items at once: 32 MB."""


@dataclass(frozen=True, eq=False)
class Dense:
    """Item vectors (items, dim) in catalogue order, and what embeds a query.

    ``cosine`` divides by the lengths of both vectors; without it the plain inner product counts.
    """

    vectors: Points
    embedder: Embedder
    cosine: bool = False

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        name: str = "use",
        *,
        cosine: bool = False,
        cache: Path | None = None,
        device: str = "cpu",
        advance: Advance | None = None,
    ) -> Dense:
        """Embed the catalogue with a named embedder, or take its vectors from the cache."""
        embedder = open_embedder(name, device=device)
        texts = item_texts(dataset)
        vectors = cached_vectors(texts, embedder, cache=cache, advance=advance)
        return cls(vectors, embedder, cosine)

    def search(
        self, texts: Sequence[str], k: int = 100, *, advance: Advance | None = None
    ) -> Ranked:
        """The ``k`` items with the largest inner product, for every text."""
        queries = self.embedder.embed(list(texts))
        return nearest(queries, self.vectors, k, cosine=self.cosine, advance=advance)


def nearest(
    queries: Points,
    vectors: Points,
    k: int,
    *,
    cosine: bool = False,
    advance: Advance | None = None,
) -> Ranked:
    """Exact search by inner product; ``vectors`` may be memory-mapped.

    >>> items = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    >>> nearest(np.array([[2, 1]], dtype=np.float32), items, 2).items.tolist()
    [2, 0]
    """
    check_k(k)
    parts: list[Ranked] = []
    for start in range(0, len(queries), _QUERIES):
        block = _directed(queries[start : start + _QUERIES], cosine)
        best = Best(len(block), k)
        for first in range(0, len(vectors), _ITEMS):
            best.add(block @ _directed(vectors[first : first + _ITEMS], cosine).T, first)
        parts.append(best.ranked())
        if advance:
            advance(start + len(block), len(queries))
    return Ranked.joined(parts)


def _directed(vectors: Points, cosine: bool) -> Points:
    block = np.asarray(vectors, dtype=np.float32)
    if not cosine:
        return block
    length = np.linalg.norm(block, axis=1, keepdims=True)
    return np.asarray(block / np.where(length > 0, length, 1), dtype=np.float32)
