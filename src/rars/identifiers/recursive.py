"""DSI's semantic identifiers: k clusters, and again inside every cluster that has more than c items.

Owns: growing the tree. What comes out is a ``VariableTree``: an identifier is the path to a cluster of at
most c items, and the collision policy ``suffix`` numbers the items in it. Ignores what the vectors stand for.

A cluster whose items k-means cannot tell apart is not divided, whatever its size.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field, PositiveInt

from rars.arrays import Floats, Longs, Points
from rars.identifiers.hierarchical import VariableTree, drawn_rows, split
from rars.identifiers.keys import grouped
from rars.identifiers.kmeans import KmeansSettings
from rars.identifiers.learner import Learner, Scene
from rars.progress import Advance


class RecursiveSettings(KmeansSettings):
    """How far clusters are divided."""

    branching: int = Field(default=10, ge=2)
    """k: clusters that one is divided into."""
    leaf: PositiveInt = 100
    """c: a cluster of no more items is not divided."""


def fit_recursive(
    vectors: Floats, settings: RecursiveSettings, seed: int, advance: Advance | None = None
) -> VariableTree:
    """Divide the catalogue, level by level, until no cluster has more than ``leaf`` items."""
    width = settings.branching
    nodes = np.zeros(len(vectors), dtype=np.int64)  # the node of the level above that an item is in
    going = np.arange(len(vectors))
    count = 1
    centroids: list[Points] = []
    starts: list[Longs] = []
    while len(going):
        books: list[Points] = []
        children = np.zeros(count, dtype=np.int64)
        groups = grouped(nodes[going])
        following: list[Longs] = []
        for start, size in zip(groups.starts, groups.counts, strict=True):
            rows = going[groups.order[start : start + size]]
            node = int(nodes[rows[0]])
            if size <= settings.leaf and len(centroids):
                continue
            level = len(centroids)
            drawn = drawn_rows(rows, settings.points * width, seed + level, node)
            book, chosen = split(vectors, rows, drawn, width, seed + level, settings.iterations)
            if len(book) == 1 and level:
                continue  # nothing tells these items apart
            nodes[rows] = sum(map(len, books)) + chosen
            books.append(book)
            children[node] = len(book)
            following.append(rows)
        if not books:
            break
        centroids.append(np.concatenate(books))
        starts.append(np.concatenate([[0], np.cumsum(children)]))
        count = len(centroids[-1])
        going = np.sort(np.concatenate(following))
        if len(centroids) == 1 and count == 1:
            break
        if advance:
            advance(len(vectors) - len(going), len(vectors))
    branching = tuple(int(np.diff(one).max()) for one in starts)
    return VariableTree(branching, tuple(centroids), tuple(starts))


def _fit(scene: Scene, settings: RecursiveSettings) -> VariableTree:
    return fit_recursive(scene.points, settings, scene.seed, scene.advance)


LEARNER = Learner(
    about="clusters, divided again as long as they have many items; identifiers of different lengths (DSI)",
    settings=RecursiveSettings,
    fit=_fit,
    defaults={"collisions": "suffix"},
    takes_sizes=False,
)
