"""A tree made of trees: each is built of the items of some first codes, and they are put side by side.

Owns: cutting the first codes and joining the arrays. Items are sorted by SID, so those of smaller first codes
come first at every depth: joining is concatenation, pointers plus what stands before them. The result is that
of ``PrefixTree.build`` over all items, to the bit. Ignores who builds the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from rars.arrays import Ints
from rars.tree.prefix_tree import PrefixTree

Build = Callable[[Iterable[Ints]], Iterable[PrefixTree]]
"""Builds a tree of each code matrix, in order."""


def build_by_first_code(codes: Ints, parts: int, build: Build) -> PrefixTree:
    """The tree of a code matrix (items, depth), of at most ``parts`` trees of about equal size.

    >>> codes = np.array([[0, 1], [2, 0], [0, 1], [0, 3]])
    >>> tree = build_by_first_code(codes, 2, lambda some: map(PrefixTree.build, some))
    >>> tree.order.tolist(), [a.tolist() for a in tree.codes]
    ([0, 2, 3, 1], [[0, 2], [1, 3, 0]])
    """
    first = np.asarray(codes[:, 0])
    owner = _owners(first, parts)
    rows = [np.flatnonzero(owner == part) for part in range(int(owner.max(initial=0)) + 1)]
    trees = build(np.asarray(codes[some]) for some in rows)
    return joined(list(trees), rows)


def joined(trees: Sequence[PrefixTree], rows: Sequence[Ints]) -> PrefixTree:
    """Trees side by side; ``rows`` are the catalogue rows of each one's items."""
    depth = trees[0].depth
    order = np.concatenate([some[tree.order] for tree, some in zip(trees, rows, strict=True)])
    # All are children of one root.
    root = np.array([0, sum(tree.n_nodes(1) for tree in trees)], dtype=np.int32)
    below = [_shifted([tree.children[level] for tree in trees]) for level in range(1, depth)]
    codes = [np.concatenate([tree.codes[level] for tree in trees]) for level in range(depth)]
    buckets = _shifted([tree.buckets for tree in trees])
    return PrefixTree(order.astype(np.int32), (root, *below), tuple(codes), buckets)


def _shifted(pointers: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    """Pointers of several partitions as those of one."""
    ends = np.cumsum([0, *(int(one[-1]) for one in pointers)])
    moved = [one[:-1] + end for one, end in zip(pointers, ends, strict=False)]
    return np.append(np.concatenate(moved), ends[-1]).astype(np.int32)


def _owners(first: Ints, parts: int) -> Ints:
    """The part of each item: first codes in order, cut where another share of the items is reached."""
    codes, inverse, counts = np.unique(first, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    cut = before * min(parts, len(codes)) // max(len(first), 1)
    _, number = np.unique(cut, return_inverse=True)
    return np.asarray(number[inverse])
