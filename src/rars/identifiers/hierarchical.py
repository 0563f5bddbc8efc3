"""Hierarchical k-means: a tree of clusters, each split into its own sub-clusters.

Owns: the fitted tree as flat arrays, encoding down it, and category trees induced from it. A code means
something only under its prefix: child 3 of one node has nothing to do with child 3 of another. Ignores what
the vectors stand for.

Level l holds the centroids of all its nodes, ordered by parent; the children of node p of the level above
are rows ``starts[l][p] : starts[l][p + 1]``. The root is the only node above level 0. A node without children
ends the identifiers that reach it (``VariableTree``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Codes, Floats, Longs, Points
from rars.errors import RarsError
from rars.identifiers.blocks import blocks
from rars.identifiers.keys import grouped
from rars.identifiers.kmeans import KmeansSettings, cluster, fits
from rars.identifiers.learner import Learner
from rars.identifiers.quantizer import Distances, Tensors, check_width, needs_vectors
from rars.progress import Advance

_BLOCK = 64
"""Rows per product: nodes deep in the tree hold few items, a larger block would be mostly padding."""


@dataclass(frozen=True, eq=False)
class HierarchicalQuantizer:
    """A tree of centroids; ``branching`` is the largest number of children at each depth."""

    kind: ClassVar[str] = "hierarchical"
    shared_codebooks: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    takes_vectors: ClassVar[bool] = True
    variable_length: ClassVar[bool] = False

    branching: tuple[int, ...]
    centroids: tuple[Points, ...]
    starts: tuple[Longs, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per depth."""
        return self.branching

    @property
    def inputs(self) -> int:
        """Width of the vectors it takes."""
        return int(self.centroids[0].shape[1])

    def encode(self, vectors: Floats) -> Codes:
        """Codes of each vector, (n, depth): at every node the nearest child; -1 after a node without any."""
        check_width(self, vectors)
        codes = np.full((len(vectors), len(self.branching)), -1, dtype=np.int32)
        nodes = np.zeros(len(vectors), dtype=np.int64)
        going = np.arange(len(vectors))
        for level, starts in enumerate(self.starts):
            going = going[starts[nodes[going] + 1] > starts[nodes[going]]]
            for rows, distances in self._by_node(vectors, nodes, level, going):
                codes[rows, level] = distances.argmin(axis=1)
            nodes[going] = starts[nodes[going]] + codes[going, level]
        return codes

    def place_new(self, count: int, taken: Codes) -> Codes:
        """Not possible: codes follow from vectors."""
        raise needs_vectors()

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Squared distance to each child of the last inner node, (n, size); inf where it has fewer."""
        check_width(self, vectors)
        last = len(self.branching) - 1
        nodes, _ = self._descend(codes[:, :last])
        out = np.full((len(vectors), self.branching[last]), np.inf)
        for rows, distances in self._by_node(vectors, nodes, last, np.arange(len(vectors))):
            out[rows, : distances.shape[1]] = distances
        return out

    def codewords(self, depth: int) -> Points:
        """Not possible: every node has centroids of its own."""
        raise RarsError("Clusters inside clusters have no codebook that all prefixes share.")

    def project(self, vectors: Floats) -> Points:
        """The vectors themselves: centroids live in the same space."""
        check_width(self, vectors)
        return np.asarray(vectors, dtype=np.float32)

    def reconstruct(self, codes: Codes) -> Points:
        """The centroid of the deepest node that each identifier reaches, (n, input)."""
        codes = codes[:, : len(self.branching)]
        out = np.zeros((len(codes), self.inputs), dtype=np.float32)
        for level in range(len(self.branching)):
            nodes, reached = self._descend(codes[:, : level + 1])
            out[reached] = self.centroids[level][nodes[reached]]
        return out

    def decode(self, codes: Codes) -> Points:
        """The same: centroids live in the embedder's space."""
        return self.reconstruct(codes)

    def similarities(self, vectors: Floats, codes: Codes) -> Points:
        """Vectors (q, input) times the deepest centroid each identifier reaches, (q, n)."""
        check_width(self, vectors)
        codes = codes[:, : len(self.branching)]
        total = np.zeros((len(vectors), len(codes)), dtype=np.float32)
        for level, centroids in enumerate(self.centroids):
            nodes, reached = self._descend(codes[:, : level + 1])
            total[:, reached] = (vectors @ centroids.T)[:, nodes[reached]]
        return total

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Centroids and child pointers of every level."""
        named: dict[str, npt.NDArray[Any]] = {"branching": np.array(self.branching, dtype=np.int64)}
        for level, (points, starts) in enumerate(zip(self.centroids, self.starts, strict=True)):
            named |= {f"centroids.{level}": points, f"starts.{level}": starts}
        return named

    @classmethod
    def restore(cls, tensors: Tensors) -> HierarchicalQuantizer:
        """Build it again from ``tensors``."""
        branching = tuple(tensors["branching"].tolist())
        levels = range(len(branching))
        return cls(
            branching,
            tuple(tensors[f"centroids.{level}"] for level in levels),
            tuple(tensors[f"starts.{level}"] for level in levels),
        )

    def _descend(self, codes: Codes) -> tuple[Longs, Bools]:
        """The node each prefix leads to, and whether the tree has it (a policy may use free codes)."""
        nodes = np.zeros(len(codes), dtype=np.int64)
        reached = np.ones(len(codes), dtype=bool)
        for starts, column in zip(self.starts, codes.T, strict=False):
            children = starts[nodes + 1] - starts[nodes]
            reached &= (column >= 0) & (column < children)
            nodes = np.where(reached, starts[nodes] + column, 0)
        return nodes, reached

    def _by_node(
        self, vectors: Floats, nodes: Longs, level: int, going: Longs
    ) -> Iterator[tuple[Longs, Distances]]:
        """Rows among ``going`` that are at the same node, with their distances to that node's children."""
        groups = grouped(nodes[going])
        for start, count in zip(groups.starts, groups.counts, strict=True):
            rows = going[groups.order[start : start + count]]
            node = nodes[rows[0]]
            children = self.centroids[level][slice(*self.starts[level][node : node + 2])]
            yield rows, _distances(vectors, rows, children.astype(np.float64))


@dataclass(frozen=True, eq=False)
class VariableTree(HierarchicalQuantizer):
    """A tree of centroids whose branches may end at any depth."""

    kind: ClassVar[str] = "variable tree"
    variable_length: ClassVar[bool] = True


def fit_hierarchical_kmeans(
    vectors: Floats,
    branching: Sequence[int] = (20, 20, 20),
    *,
    seed: int = 42,
    iterations: int = 25,
    points: int = 256,
    per_child: int = 1,
    advance: Advance | None = None,
) -> HierarchicalQuantizer:
    """Cluster the items, then each cluster's items again, to a fixed depth.

    A node has as many children as ``branching`` allows, but no more than its items divided by
    ``per_child``. Nodes with more than ``points`` items per child are clustered on a sample.
    """
    nodes = np.zeros(len(vectors), dtype=np.int64)
    total, done = len(vectors) * len(branching), 0
    centroids, starts = [], []
    for level, width in enumerate(branching):
        books, pointers, following = [], [0], np.empty_like(nodes)
        groups = grouped(nodes)
        for node, (start, count) in enumerate(zip(groups.starts, groups.counts, strict=True)):
            rows = groups.order[start : start + count]
            children = max(1, min(width, int(count) // per_child))
            drawn = drawn_rows(rows, points * width, seed + level, node)
            book, chosen = split(vectors, rows, drawn, children, seed + level, iterations)
            books.append(book)
            following[rows] = pointers[-1] + chosen
            pointers.append(pointers[-1] + len(book))
            done += int(count)
            if advance:
                advance(done, total)
        centroids.append(np.concatenate(books))
        starts.append(np.array(pointers, dtype=np.int64))
        nodes = following
    return HierarchicalQuantizer(tuple(branching), tuple(centroids), tuple(starts))


def induce_categories(
    vectors: Floats,
    branching: Sequence[int] = (20, 20, 20),
    *,
    seed: int = 42,
    per_child: int = 10,
    advance: Advance | None = None,
) -> Codes:
    """A category path per item where the catalogue has none, (n, depth), -1 after a shorter path.

    A cluster is divided only as far as its parts keep ``per_child`` items on average: a category of one
    item would tell a searcher nothing. A cluster that is not divided any more ends its items' paths.
    """
    tree = fit_hierarchical_kmeans(
        vectors, branching, seed=seed, per_child=per_child, advance=advance
    )
    codes = tree.encode(vectors)
    nodes = np.zeros(len(codes), dtype=np.int64)
    ended = np.zeros(len(codes), dtype=bool)
    for level, starts in enumerate(tree.starts):
        ended |= (starts[nodes + 1] - starts[nodes] == 1) & (level > 0)
        nodes = starts[nodes] + codes[:, level]
        codes[ended, level] = -1
    return codes


def split(
    vectors: Floats, rows: Longs, drawn: Longs, children: int, seed: int, iterations: int
) -> tuple[Points, Longs]:
    """Centroids of one node's children and the child of each of its rows, clustered on ``drawn``."""
    points = np.asarray(vectors[drawn], dtype=np.float32)
    book = cluster(points, children, seed=seed, iterations=iterations)
    nearest = _distances(vectors, rows, book.astype(np.float64)).argmin(axis=1)
    # A centroid that is the nearest of no item would be a node without items.
    used, chosen = np.unique(nearest, return_inverse=True)
    return book[used], chosen


def drawn_rows(rows: Longs, most: int, seed: int, node: int) -> Longs:
    """At most ``most`` of a node's rows, drawn without repetition, in their order."""
    if len(rows) <= most:
        return rows
    picked = np.random.default_rng([seed, node]).choice(len(rows), most, replace=False)
    return rows[np.sort(picked)]


def _distances(vectors: Floats, rows: Longs, centroids: Distances) -> Distances:
    out = np.empty((len(rows), len(centroids)))
    norms = np.einsum("ij,ij->i", centroids, centroids)
    for where, block in blocks(vectors, rows=rows, size=_BLOCK):
        costs = norms - 2 * (block @ centroids.T)
        costs += np.einsum("ij,ij->i", block, block)[:, None]
        out[where] = np.maximum(costs, 0)[: where.stop - where.start]
    return out


LEARNER = Learner(
    about="clusters, each divided again on its own; a code means something only under its prefix",
    settings=KmeansSettings,
    fit=fits(fit_hierarchical_kmeans),
    defaults={"sizes": (20, 20, 20), "collisions": "suffix"},
)
