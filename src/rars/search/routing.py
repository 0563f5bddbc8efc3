"""Category routing: which identifiers a query may reach, S_C(q) of the paper.

Owns: the sorted set of leaves below every terminal category, their union for a query's best C categories, and
the prefixes above them. Category probabilities select; they never score. Ignores the model and evidence.

A terminal category is one in which some item's path ends. A query's tree is the union of its categories'
leaf sets; a prefix is admitted if any admitted leaf is below it. All of it is sorted arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rars.tree import PrefixTree
from rars.tree.categories import NONE, CategoryTree
from rars.tree.sorting import runs, stable_order

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]


class Admission(Protocol):
    """Says which prefixes each query of a batch may use."""

    def allows(self, depth: int, query: Ints, node: Ints) -> npt.NDArray[np.bool_]:
        """Whether each query admits each node at ``depth + 1``."""


@dataclass(frozen=True, eq=False)
class Shared:
    """The same prefixes for every query: ``tables[l]`` (nodes at depth l + 1,) says which."""

    tables: tuple[npt.NDArray[np.bool_], ...]

    @classmethod
    def of(cls, tree: PrefixTree, leaves: npt.NDArray[np.bool_]) -> Shared:
        """Admit marked leaves (leaves,), and every prefix above them."""
        tables = [leaves]
        for depth in range(tree.depth - 1, 0, -1):
            tables.append(np.logical_or.reduceat(tables[-1], tree.children[depth][:-1]))
        return cls(tuple(tables[::-1]))

    def allows(self, depth: int, query: Ints, node: Ints) -> npt.NDArray[np.bool_]:
        """Whether each node at ``depth + 1`` is admitted."""
        return np.asarray(self.tables[depth][node])


@dataclass(frozen=True, eq=False)
class Admitted:
    """The prefixes each query of a batch may use.

    ``keys[l]`` are the sorted numbers query * nodes + node of the admitted nodes at depth l + 1.
    """

    keys: tuple[Ints, ...]
    nodes: tuple[int, ...]

    def allows(self, depth: int, query: Ints, node: Ints) -> npt.NDArray[np.bool_]:
        """Whether each query admits each node at ``depth + 1``."""
        wanted = query.astype(np.int64) * self.nodes[depth] + node
        keys = self.keys[depth]
        if not len(keys):
            return np.zeros(len(wanted), dtype=bool)
        at = np.searchsorted(keys, wanted)
        found: npt.NDArray[np.bool_] = keys[np.minimum(at, len(keys) - 1)] == wanted
        return found & (at < len(keys))


@dataclass(frozen=True, eq=False)
class Routes:
    """The leaves of the tree below every terminal category.

    ``level``, ``node``  (terminals,) the category each is; ``names`` its path
    ``start``, ``leaves`` CSR: the sorted leaves that hold an item of the category
    """

    tree: PrefixTree
    names: tuple[str, ...]
    level: Ints
    node: Ints
    start: Ints
    leaves: Ints

    @classmethod
    def of(cls, categories: CategoryTree, tree: PrefixTree) -> Routes:
        """Sort every item into the category where its path ends."""
        depth = (categories.nodes != NONE).sum(axis=1)
        item = np.flatnonzero(depth > 0)
        level = depth[item] - 1
        node = categories.nodes[item, level]
        leaf = tree.leaves_of(item)
        order = stable_order(level, node, leaf)
        level, node, leaf = level[order], node[order], leaf[order]
        first, _ = runs(level, node, leaf)
        level, node, leaf = level[first], node[first], leaf[first]
        start, _ = runs(level, node)
        names = tuple(
            categories.names[one][other]
            for one, other in zip(level[start].tolist(), node[start].tolist(), strict=True)
        )
        return cls(tree, names, level[start], node[start], np.append(start, len(leaf)), leaf)

    def best(self, log_probabilities: Sequence[Floats], count: int) -> Ints:
        """The ``count`` most probable terminal categories (B, count) of each query.

        ``log_probabilities[j]`` is (B, nodes at level j), of whole paths.
        """
        scores = np.empty((len(log_probabilities[0]), len(self.level)))
        for level, values in enumerate(log_probabilities):
            own = self.level == level
            scores[:, own] = values[:, self.node[own]]
        count = min(count, scores.shape[1])
        # A stable sort: equal probabilities in the order of the categories.
        return np.argsort(-scores, axis=1, kind="stable")[:, :count]

    def admit(self, terminals: Ints) -> Admitted:
        """The query trees of a batch: the union over each query's categories (B, C)."""
        return admit_leaves(self.tree, *self.leaves_of(terminals))

    def leaves_of(self, terminals: Ints) -> tuple[Ints, Ints]:
        """The leaves of each query's categories (B, C): whose each is, and the leaf."""
        _, chosen = terminals.shape
        flat = terminals.ravel()
        counts = self.start[flat + 1] - self.start[flat]
        owner = np.repeat(np.arange(len(flat)), counts)
        first = np.cumsum(counts) - counts
        leaf = self.leaves[self.start[flat][owner] + np.arange(len(owner)) - first[owner]]
        return owner // max(chosen, 1), leaf

    def find(self, name: str) -> Ints:
        """The terminal categories at or below a category path."""
        below = [
            index
            for index, path in enumerate(self.names)
            if path == name or path.startswith(name + " > ")
        ]
        return np.array(below, dtype=np.int64)


def admit_leaves(tree: PrefixTree, query: Ints, leaf: Ints) -> Admitted:
    """Admit given leaves, and every prefix above them, for each query of a batch."""
    keys: list[Ints] = []
    node = leaf.astype(np.int64)
    for depth in range(tree.depth, 0, -1):
        found = np.unique(query.astype(np.int64) * tree.n_nodes(depth) + node)
        keys.append(found)
        query, node = found // tree.n_nodes(depth), found % tree.n_nodes(depth)
        node = tree.parents(depth, node).astype(np.int64)
    nodes = tuple(tree.n_nodes(depth) for depth in range(1, tree.depth + 1))
    return Admitted(tuple(keys[::-1]), nodes)
