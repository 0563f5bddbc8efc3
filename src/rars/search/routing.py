"""Category routing: which identifiers a query may reach, S_C(q) of the paper.

Owns: the sorted set of nodes of every terminal category at every depth, and their union for a query's best C
categories. Category probabilities select; they never score. Ignores the model and evidence.

A terminal category is one in which some item's path ends. A query's tree is the union of its categories'
leaves; a prefix is admitted if any admitted leaf is below it. The node sets are made once, so a query's tree
is a few of them marked in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rars.arrays import Bools, Floats, Ints
from rars.tree import PrefixTree
from rars.tree.categories import NONE, CategoryTree
from rars.tree.sorting import distinct, runs, stable_order

_CELLS = 1 << 26
"""The largest table of marks, queries x leaves."""


class Admission(Protocol):
    """Says which prefixes each query of a batch may use."""

    def allows(self, depth: int, query: Ints, node: Ints) -> Bools:
        """Whether each query admits each node at ``depth + 1``."""


@dataclass(frozen=True, eq=False)
class Shared:
    """The same prefixes for every query: ``tables[l]`` (nodes at depth l + 1,) says which."""

    tables: tuple[Bools, ...]

    @classmethod
    def of(cls, tree: PrefixTree, leaves: Bools) -> Shared:
        """Admit marked leaves (leaves,), and every prefix above them."""
        tables = [leaves]
        for depth in range(tree.depth - 1, 0, -1):
            tables.append(np.logical_or.reduceat(tables[-1], tree.children[depth][:-1]))
        return cls(tuple(tables[::-1]))

    def allows(self, depth: int, query: Ints, node: Ints) -> Bools:
        """Whether each node at ``depth + 1`` is admitted."""
        return np.asarray(self.tables[depth][node])


@dataclass(frozen=True, eq=False)
class Matching:
    """The same prefixes for every query: those that hold an item that may be found.

    A prefix is a range of sorted items, so how many of them match is a difference of two counts. Nothing is
    written down for each prefix: what a query asks about is looked up, and making this costs one pass.

    ``marks``   (items,) in the order of the tree: which may be found
    ``bits``    the same, eight to a byte; ``before`` how many are marked before each byte

    >>> tree = PrefixTree.build([[0, 1], [2, 0], [0, 1], [0, 3]])
    >>> only = Matching.of(tree, np.array([False, False, True, False]))
    >>> only.count(1, np.arange(2)).tolist(), only.allows(1, np.zeros(3), np.arange(3)).tolist()
    ([1, 0], [True, False, False])
    """

    tree: PrefixTree
    marks: Bools
    bits: Ints
    before: Ints

    @classmethod
    def of(cls, tree: PrefixTree, items: Bools) -> Matching:
        """From marks in catalogue order."""
        marks = np.take(items, tree.order)
        bits = np.append(np.packbits(marks), np.uint8(0))
        before = np.zeros(len(bits), dtype=np.int32)
        np.cumsum(np.bitwise_count(bits[:-1]), dtype=np.int32, out=before[1:])
        return cls(tree, marks, bits, before)

    def __len__(self) -> int:
        return int(self.before[-1])

    @property
    def leaves(self) -> int:
        """How many identifiers hold an item that may be found."""
        return int((self.count(self.tree.depth, np.arange(self.tree.n_leaves)) > 0).sum())

    def has(self, items: Ints) -> Bools:
        """Whether each item (a catalogue row) may be found."""
        return np.asarray(self.marks[self.tree.positions[items]])

    def count(self, depth: int, nodes: Ints) -> Ints:
        """How many items that may be found are below each node at ``depth``."""
        low, high = self.tree.item_ranges(depth, nodes)
        return np.asarray(self._until(high) - self._until(low))

    def _until(self, position: Ints) -> Ints:
        """How many marks stand before each position."""
        byte = position >> 3
        rest = self.bits[byte] >> (8 - (position & 7)).astype(np.uint8)
        return np.asarray(self.before[byte] + np.bitwise_count(rest))

    def allows(self, depth: int, query: Ints, node: Ints) -> Bools:
        """Whether each node at ``depth + 1`` is admitted."""
        return self.count(depth + 1, node) > 0


@dataclass(frozen=True, eq=False)
class Marked:
    """The prefixes each query may use: ``tables[l]`` (queries, nodes at depth l + 1) says which."""

    tables: tuple[Bools, ...]

    def allows(self, depth: int, query: Ints, node: Ints) -> Bools:
        """Whether each query admits each node at ``depth + 1``."""
        return np.asarray(self.tables[depth][query, node])


@dataclass(frozen=True, eq=False)
class Admitted:
    """The prefixes each query of a batch may use.

    ``keys[l]`` are the sorted numbers query * nodes + node of the admitted nodes at depth l + 1.
    """

    keys: tuple[Ints, ...]
    nodes: tuple[int, ...]

    def allows(self, depth: int, query: Ints, node: Ints) -> Bools:
        """Whether each query admits each node at ``depth + 1``."""
        wanted = query.astype(np.int64) * self.nodes[depth] + node
        keys = self.keys[depth]
        if not len(keys):
            return np.zeros(len(wanted), dtype=bool)
        at = np.searchsorted(keys, wanted)
        found: Bools = keys[np.minimum(at, len(keys) - 1)] == wanted
        return found & (at < len(keys))


@dataclass(frozen=True, eq=False)
class Several:
    """Different admissions for the queries of one batch.

    ``parts``  the admissions; None admits everything
    ``part``   (queries,) which one is whose; ``place`` (queries,) as which of its queries
    """

    parts: tuple[Admission | None, ...]
    part: Ints
    place: Ints

    @classmethod
    def of(cls, parts: Sequence[Admission | None], members: Sequence[Ints]) -> Admission | None:
        """Of groups of queries, ``members`` (their rows in the batch); one for all is itself."""
        if len(parts) == 1:
            return parts[0]
        part = np.zeros(sum(map(len, members)), dtype=np.int64)
        place = np.zeros_like(part)
        for number, rows in enumerate(members):
            part[rows], place[rows] = number, np.arange(len(rows))
        return cls(tuple(parts), part, place)

    def allows(self, depth: int, query: Ints, node: Ints) -> Bools:
        """Whether each query admits each node at ``depth + 1``."""
        allowed = np.ones(len(node), dtype=bool)
        which = self.part[query]
        for number, one in enumerate(self.parts):
            if one is not None:
                own = np.flatnonzero(which == number)
                allowed[own] = one.allows(depth, self.place[query[own]], node[own])
        return allowed


@dataclass(frozen=True, eq=False)
class Routes:
    """The leaves of the tree below every terminal category.

    ``level``, ``node``  (terminals,) the category each is; ``names`` its path
    ``start``, ``leaves`` CSR: the sorted leaves that hold an item of the category
    ``above``            the same of the nodes above them, for depths 1 to L - 1
    """

    tree: PrefixTree
    names: tuple[str, ...]
    level: Ints
    node: Ints
    start: Ints
    leaves: Ints
    above: tuple[tuple[Ints, Ints], ...]

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
        ends = np.append(start, len(leaf))
        return cls(tree, names, level[start], node[start], ends, leaf, _above(tree, ends, leaf))

    def best(self, log_probabilities: Sequence[Floats], count: int) -> Ints:
        """The ``count`` most probable terminal categories (B, count) of each query.

        ``log_probabilities[j]`` is (B, nodes at level j), of whole paths.
        """
        return self._ordered(log_probabilities)[:, :count]

    def holding(
        self,
        log_probabilities: Sequence[Floats],
        count: int,
        matching: Matching | None,
        wanted: Sequence[int],
    ) -> list[Ints]:
        """The most probable categories of each query among those that hold a matching item (None: any).

        ``count`` of them; more where they hold fewer matching identifiers than are ``wanted`` (B,).
        """
        full = np.ones(len(self.leaves), dtype=bool)
        if matching is not None:
            full = matching.count(self.tree.depth, self.leaves) > 0
        sizes = np.add.reduceat(full, self.start[:-1])
        found = []
        for order, least in zip(self._ordered(log_probabilities), wanted, strict=True):
            order = order[sizes[order] > 0]
            # Categories may share identifiers, so their sizes together are no less than what they hold.
            enough = int(np.searchsorted(np.cumsum(sizes[order]), least)) + 1
            taken = min(max(count, enough), len(order))
            while taken < len(order) and self._held(order[:taken], full) < least:
                taken += 1
            found.append(order[:taken])
        return found

    def _held(self, terminals: Ints, full: Bools) -> int:
        """How many of the leaves that ``full`` marks some categories hold together."""
        spans = [slice(self.start[t], self.start[t + 1]) for t in terminals.tolist()]
        leaves = np.concatenate([self.leaves[span][full[span]] for span in spans])
        return len(np.unique(leaves))

    def _ordered(self, log_probabilities: Sequence[Floats]) -> Ints:
        """All terminal categories of each query, the most probable first."""
        scores = np.empty((len(log_probabilities[0]), len(self.level)))
        for level, values in enumerate(log_probabilities):
            own = self.level == level
            scores[:, own] = values[:, self.node[own]]
        # A stable sort: equal probabilities in the order of the categories.
        return np.argsort(-scores, axis=1, kind="stable")

    def admit(self, terminals: Ints, always: Shared | None = None) -> Admission:
        """The query trees of a batch: the union over each query's categories (B, C), and ``always``.

        Where tables for a whole batch would be too large, the union is sorted instead.
        """
        if len(terminals) * self.tree.n_leaves > _CELLS:
            return admit_leaves(self.tree, *self.leaves_of(terminals, always))
        tables = []
        for depth, (start, nodes) in enumerate((*self.above, (self.start, self.leaves))):
            table = np.zeros((len(terminals), self.tree.n_nodes(depth + 1)), dtype=bool)
            if always is not None:
                table |= always.tables[depth]
            for row, chosen in zip(table, terminals.tolist(), strict=True):
                for terminal in chosen:
                    row[nodes[start[terminal] : start[terminal + 1]]] = True
            tables.append(table)
        return Marked(tuple(tables))

    def leaves_of(self, terminals: Ints, always: Shared | None = None) -> tuple[Ints, Ints]:
        """The leaves of each query's categories (B, C), and of ``always``: whose each is, and the leaf."""
        _, chosen = terminals.shape
        flat = terminals.ravel()
        counts = self.start[flat + 1] - self.start[flat]
        owner = np.repeat(np.arange(len(flat)), counts)
        first = np.cumsum(counts) - counts
        leaf = self.leaves[self.start[flat][owner] + np.arange(len(owner)) - first[owner]]
        query = owner // max(chosen, 1)
        if always is None:
            return query, leaf
        more = np.flatnonzero(always.tables[-1])
        return (
            np.append(query, np.repeat(np.arange(len(terminals)), len(more))),
            np.append(leaf, np.tile(more, len(terminals))),
        )


def _above(tree: PrefixTree, start: Ints, leaves: Ints) -> tuple[tuple[Ints, Ints], ...]:
    """The nodes above the leaves of every category, as CSR, for depths 1 to L - 1."""
    owner, node = np.repeat(np.arange(len(start) - 1), np.diff(start)), leaves
    found = []
    for depth in range(tree.depth, 1, -1):
        node = tree.parents(depth, node)
        # Nodes are sorted inside a category, so equal ones stand side by side.
        first, _ = runs(owner, node)
        owner, node = owner[first], node[first]
        found.append((np.searchsorted(owner, np.arange(len(start))), node))
    return tuple(found[::-1])


def admit_leaves(tree: PrefixTree, query: Ints, leaf: Ints) -> Admitted:
    """Admit given leaves, and every prefix above them, for each query of a batch."""
    keys: list[Ints] = []
    node = leaf.astype(np.int64)
    for depth in range(tree.depth, 0, -1):
        found = distinct(query.astype(np.int64) * tree.n_nodes(depth) + node)
        keys.append(found)
        query, node = found // tree.n_nodes(depth), found % tree.n_nodes(depth)
        node = tree.parents(depth, node).astype(np.int64)
    nodes = tuple(tree.n_nodes(depth) for depth in range(1, tree.depth + 1))
    return Admitted(tuple(keys[::-1]), nodes)
