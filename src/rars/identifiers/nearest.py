"""Exact nearest items by inner product, block by block, with no approximate index.

Owns: searching a matrix that may be larger than memory. Ignores where vectors come from.
"""

from __future__ import annotations

import numpy as np

from rars.arrays import Bools, Points
from rars.progress import Advance
from rars.systems.ranked import Best, Ranked, check_k

_QUERIES = 512
_ITEMS = 16384
"""Scores are computed for so many queries and items at once: 32 MB."""


def nearest(
    queries: Points,
    vectors: Points,
    k: int,
    *,
    cosine: bool = False,
    among: Bools | None = None,
    advance: Advance | None = None,
) -> Ranked:
    """The ``k`` items of largest inner product for each query; ``vectors`` may be memory-mapped.

    ``cosine`` divides by the lengths of both vectors; ``among`` (items,) marks what may be found.

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
            scores = block @ _directed(vectors[first : first + _ITEMS], cosine).T
            if among is not None:
                scores[:, ~among[first : first + _ITEMS]] = -np.inf
            best.add(scores, first)
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
