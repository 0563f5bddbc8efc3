"""Hi-Gen's identifiers: the category path, then clusters inside the category.

Owns: turning vectors towards what is wanted together (a linear map, triplet loss), the tree of categories and
clusters, and the codes of the catalogue, which follow from categories as well as vectors. The order of the
items inside a cluster, by training relevance, is the collision policy's (``ordered-suffix``).

z = x + x W at length one; L = mean of max(0, |z_a - z_p| - |z_a - z_n| + margin) over items a with a partner
p of the same training query and an item n drawn at random.

A new item goes, level by level, to the category or cluster with the nearest centroid: its own category is not
asked, because a category that came later would have no code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from rars.arrays import Codes, Floats, Ints, Longs, Points
from rars.errors import RarsError
from rars.identifiers.hierarchical import VariableTree, drawn_rows, split
from rars.identifiers.keys import grouped
from rars.identifiers.kmeans import KmeansSettings
from rars.identifiers.learner import Fitted, Learner, Scene
from rars.identifiers.maps import turned
from rars.identifiers.mates import NONE, Mates
from rars.identifiers.quantizer import Distances, Tensors, check_width, needs_vectors
from rars.tree.categories import CategoryTree


class RefineSettings(KmeansSettings):
    """Clusters inside a category, and how vectors are turned before."""

    clusters: tuple[PositiveInt, ...] = (32, 32)
    """Clusters inside a category, clusters inside those, and so on."""
    epochs: int = Field(default=10, ge=0)
    """Passes over the items that turn the vectors; 0 leaves them as they are."""
    batch: PositiveInt = 512
    learning_rate: float = Field(default=1e-3, gt=0)
    margin: float = Field(default=0.2, ge=0)


@dataclass(frozen=True, eq=False)
class TurnedTree:
    """A tree of centroids over turned vectors; ``matrix`` is (input, input)."""

    kind: ClassVar[str] = "turned tree"
    shared_codebooks: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    takes_vectors: ClassVar[bool] = True
    variable_length: ClassVar[bool] = True

    tree: VariableTree
    matrix: Points

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per depth."""
        return self.tree.sizes

    @property
    def inputs(self) -> int:
        """Width of the vectors it takes."""
        return self.tree.inputs

    def encode(self, vectors: Floats) -> Codes:
        """Codes of each vector, (n, depth): at every node the nearest child."""
        return self.tree.encode(self.project(vectors))

    def place_new(self, count: int, taken: Codes) -> Codes:
        """Not possible: codes follow from vectors."""
        raise needs_vectors()

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Squared distance to each child of the last inner node."""
        return self.tree.last_distances(self.project(vectors), codes)

    def codewords(self, depth: int) -> Points:
        """Not possible: every node has centroids of its own."""
        return self.tree.codewords(depth)

    def project(self, vectors: Floats) -> Points:
        """The turned vectors, (n, input)."""
        check_width(self, vectors)
        return turned(vectors, self.matrix)

    def reconstruct(self, codes: Codes) -> Points:
        """The centroid of the deepest node that each identifier reaches, (n, input)."""
        return self.tree.reconstruct(codes)

    def decode(self, codes: Codes) -> Points:
        """The same: turned vectors are compared with turned vectors."""
        return self.tree.reconstruct(codes)

    def similarities(self, vectors: Floats, codes: Codes) -> Points:
        """Turned vectors (q, input) times the deepest centroid each identifier reaches, (q, n)."""
        return self.tree.similarities(self.project(vectors), codes)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """The tree's arrays and the map."""
        return self.tree.tensors() | {"matrix": self.matrix}

    @classmethod
    def restore(cls, tensors: Tensors) -> TurnedTree:
        """Build it again from ``tensors``."""
        tree = VariableTree.restore(tensors)
        assert isinstance(tree, VariableTree)
        return cls(tree, np.asarray(tensors["matrix"], dtype=np.float32))


def refined(scene: Scene, settings: RefineSettings) -> Points:
    """The map W (input, input) that brings items of one training query together; zero without such items."""
    import torch
    from torch.nn import functional

    dim = scene.points.shape[1]
    mates = Mates.of(scene.dataset)
    matrix = torch.zeros(dim, dim, device=scene.device, requires_grad=True)
    optimizer = torch.optim.AdamW([matrix], lr=settings.learning_rate, weight_decay=0.0)
    rng = np.random.default_rng([scene.seed, 17])

    def points(rows: Ints | Longs) -> torch.Tensor:
        vectors = torch.from_numpy(np.asarray(scene.points[rows], dtype=np.float32))
        vectors = vectors.to(matrix.device)
        return functional.normalize(vectors + vectors @ matrix, dim=-1)

    for _ in range(settings.epochs if len(mates) else 0):
        order = rng.permutation(len(scene.points))
        for start in range(0, len(order), settings.batch):
            place = mates.drawn(order[start : start + settings.batch], rng)
            partner = mates.mates(place, rng)
            known = partner != NONE
            if not known.any():
                continue
            anchor, positive = mates.item[place[known]], mates.item[partner[known]]
            negative = rng.integers(len(scene.points), size=len(anchor))
            loss = functional.triplet_margin_loss(
                points(anchor), points(positive), points(negative), margin=settings.margin
            )
            if not torch.isfinite(loss):
                raise RarsError("Turning the vectors diverged; lower its learning_rate.")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return np.asarray(matrix.detach().cpu().numpy(), dtype=np.float32)


def grown(
    vectors: Floats, categories: CategoryTree, settings: RefineSettings, seed: int
) -> tuple[VariableTree, Codes]:
    """The tree of categories and clusters, and every item's codes (n, depth), -1 after a shorter path.

    The children of a category are its sub-categories in their order, then the clusters of the items that no
    sub-category holds.
    """
    nodes = np.asarray(categories.nodes)
    own = (nodes >= 0).sum(axis=1)  # so many categories lie above an item's clusters
    levels, count = nodes.shape[1] + len(settings.clusters), 1
    at = np.zeros(len(vectors), dtype=np.int64)
    codes = np.full((len(vectors), levels), -1, dtype=np.int32)
    centroids: list[Points] = []
    starts: list[Longs] = []
    for level in range(levels):
        going = np.flatnonzero(level < own + len(settings.clusters))
        if not len(going):
            break
        books: list[Points] = []
        before = 0
        children = np.zeros(count, dtype=np.int64)
        groups = grouped(at[going])
        for start, size in zip(groups.starts, groups.counts, strict=True):
            rows = going[groups.order[start : start + size]]
            node = int(at[rows[0]])
            book, chosen = _children(vectors, rows, nodes, own, settings, seed, level, node)
            codes[rows, level] = chosen
            at[rows] = before + chosen
            books.append(book)
            before += len(book)
            children[node] = len(book)
        centroids.append(np.concatenate(books))
        starts.append(np.concatenate([[0], np.cumsum(children)]))
        count = len(centroids[-1])
    branching = tuple(int(np.diff(one).max()) for one in starts)
    return VariableTree(branching, tuple(centroids), tuple(starts)), codes[:, : len(starts)]


def _children(
    vectors: Floats,
    rows: Longs,
    nodes: Ints,
    own: Longs,
    settings: RefineSettings,
    seed: int,
    level: int,
    node: int,
) -> tuple[Points, Longs]:
    """The centroids of one node's children, and the child of each of its rows."""
    chosen = np.zeros(len(rows), dtype=np.int64)
    deeper = level < own[rows]
    books: list[Points] = []
    if deeper.any():
        kinds, child = np.unique(nodes[rows[deeper], level], return_inverse=True)
        means = np.zeros((len(kinds), vectors.shape[1]))
        np.add.at(means, child, np.asarray(vectors[rows[deeper]], dtype=np.float64))
        books.append((means / np.bincount(child)[:, None]).astype(np.float32))
        chosen[deeper] = child
    left = rows[~deeper]
    if len(left):
        width = settings.clusters[int(level - own[left[0]])]
        drawn = drawn_rows(left, settings.points * width, seed + level, node)
        book, child = split(vectors, left, drawn, width, seed + level, settings.iterations)
        chosen[~deeper] = sum(map(len, books)) + child
        books.append(book)
    return np.concatenate(books), chosen


def _fit(scene: Scene, settings: RefineSettings) -> Fitted:
    assert scene.categories is not None
    matrix = refined(scene, settings)
    tree, codes = grown(turned(scene.points, matrix), scene.categories, settings, scene.seed)
    return Fitted(TurnedTree(tree, matrix), codes)


LEARNER = Learner(
    about="the category path, then clusters inside the category, of vectors turned by triplets (Hi-Gen)",
    settings=RefineSettings,
    fit=_fit,
    defaults={"collisions": "ordered-suffix"},
    takes_sizes=False,
    needs_categories=True,
)
