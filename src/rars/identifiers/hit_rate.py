"""FORGE's embedding hit rate: are items that people want together near each other, as their codes tell it?

    mean over items i with neighbours of |N(i) and K(i)| / |N(i)|

N(i): the items that are exact for a query for which i is exact, too (co-occurrence). K(i): the k nearest
other items by cosine of the vectors that identifiers stand for. Needs no trained model. Ignores where vectors
come from: those of the embedder itself say what could be kept.
"""

from __future__ import annotations

import numpy as np

from rars.arrays import Ints, Points
from rars.data import Dataset
from rars.identifiers.mates import Mates
from rars.identifiers.nearest import nearest

MOST = 5000
"""Items it is measured on, at the most; of more, so many are drawn."""


def hit_rate(dataset: Dataset, points: Points, split: str, k: int = 50) -> float | None:
    """The hit rate of vectors (items, dim) on a split's judgments; None where no two items share a query."""
    item, other = Mates.of(dataset, split=split).exact().neighbours()
    asked = np.unique(item)
    if not len(asked):
        return None
    if len(asked) > MOST:
        asked = np.sort(np.random.default_rng(0).choice(asked, MOST, replace=False))
        kept = np.isin(item, asked)
        item, other = item[kept], other[kept]
    found = _near(points, asked.astype(np.int32), k)
    row = np.searchsorted(asked, item)
    hits = np.isin(row * len(points) + other, found)
    return float((np.bincount(row, hits) / np.bincount(row)).mean())


def _near(points: Points, asked: Ints, k: int) -> Ints:
    """The k nearest others of each asked item, as numbers row * items + item."""
    ranked = nearest(points[asked], points, k + 1, cosine=True)
    row = np.repeat(np.arange(len(asked)), np.diff(ranked.pointers))
    others = ranked.items != asked[row]
    place = np.cumsum(others) - np.concatenate([[0], np.cumsum(others)])[ranked.pointers[row]]
    kept = others & (place <= k)
    return np.asarray(row[kept].astype(np.int64) * len(points) + ranked.items[kept])
