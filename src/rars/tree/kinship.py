"""How far apart the items below siblings are: distances between the centroids of a parent's children.

Owns: those distances, for every node of a tree at once. Ignores what they are for. Needs NumPy alone.

The centroid of a node is the mean vector of the items below it; |c(v) - c(v')| is the distance of v to its
sibling v'. A node is a sibling of itself, at distance 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rars.arrays import Floats, Ints
from rars.tree.prefix_tree import PrefixTree
from rars.tree.vocabulary import SidVocabulary


@dataclass(frozen=True, eq=False)
class Kin:
    """The siblings of every node of one depth, node after node; k in all.

    ``start``  (nodes + 1,) where each node's siblings begin
    ``slot``   (k,) the slot of a sibling; ``apart`` (k,) its distance
    """

    start: Ints
    slot: Ints
    apart: Floats


def kinship(tree: PrefixTree, vocabulary: SidVocabulary, vectors: Floats) -> tuple[Kin, ...]:
    """The siblings of all nodes, depth after depth; ``vectors`` (items, dim) in catalogue order.

    >>> tree = PrefixTree.build([[0, 0], [0, 1], [1, 0]])
    >>> first, _ = kinship(tree, SidVocabulary.of(tree), np.array([[0.0], [2.0], [4.0]]))
    >>> first.start.tolist(), first.slot.tolist(), first.apart.tolist()
    ([0, 2, 4], [0, 1, 0, 1], [0.0, 3.0, 3.0, 0.0])
    """
    ordered = np.asarray(vectors)[tree.order]
    return tuple(_of_depth(tree, vocabulary, depth, ordered) for depth in range(tree.depth))


def _of_depth(tree: PrefixTree, vocabulary: SidVocabulary, depth: int, ordered: Floats) -> Kin:
    pointers = tree.children[depth].astype(np.int64)
    slot = vocabulary.slot(tree.codes[depth], depth).astype(np.int64)
    nodes = len(slot)
    low, high = tree.item_ranges(depth + 1, np.arange(nodes))
    centroids = np.add.reduceat(ordered, low, axis=0) / (high - low)[:, None]
    sizes = np.diff(pointers)
    start = np.concatenate([[0], np.cumsum(np.repeat(sizes, sizes))])
    # The siblings of a node are the children of its parent, who stand side by side.
    first = np.repeat(pointers[:-1], sizes)
    owner = np.repeat(np.arange(nodes), np.diff(start))
    other = first[owner] + np.arange(len(owner)) - start[:-1][owner]
    apart = np.zeros(len(owner), dtype=np.float32)
    for parent in np.flatnonzero(sizes > 1):
        one, last = pointers[parent], pointers[parent + 1]
        apart[start[one] : start[last]] = _distances(centroids[one:last]).ravel()
    return Kin(start, slot[other], apart)


def _distances(points: Floats) -> Floats:
    """(n, n) Euclidean distances of points (n, dim) to each other, a point's own exactly 0."""
    norms = np.einsum("ij,ij->i", points, points)
    squares = norms[:, None] + norms[None, :] - 2 * points @ points.T
    np.fill_diagonal(squares, 0.0)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
