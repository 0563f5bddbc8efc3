"""One relevance measure per query, projected onto every depth of the tree.

Owns: mu(d|q) and its projections mu_l(z|q) (Eq. projection) with the conditional child distributions
mu_l(v|u,q). Ignores where judgments come from and what a model predicts. Needs NumPy alone.

All queries are projected at once. Pairs are sorted by (query, leaf); because a prefix is a range of
leaves, the relevance-bearing nodes of every depth are runs of that order and masses are grouped sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles, Ints
from rars.errors import RarsError
from rars.tree.prefix_tree import PrefixTree
from rars.tree.sorting import runs, stable_order


@dataclass(frozen=True, eq=False)
class Relevance:
    """mu(d|q) for many queries, sparse: the mass of each query's items sums to one.

    ``queries``  (rows,) which query each row is, in increasing order
    ``row``      (pairs,) the row of each pair, non-decreasing
    ``item``     (pairs,) its item
    ``mass``     (pairs,) mu(d|q) > 0
    ``total``    (rows,) the evidence rho(q, d) of a query's items, summed: what the masses are shares of
    """

    queries: Ints
    row: Ints
    item: Ints
    mass: Doubles
    total: Doubles | None = None

    @classmethod
    def of(cls, query: npt.ArrayLike, item: npt.ArrayLike, rho: npt.ArrayLike) -> Relevance:
        """Normalise evidence rho(q, d) >= 0 per query; pairs without evidence are left out.

        >>> relevance = Relevance.of([7, 7, 9], [0, 4, 4], [3, 1, 2])
        >>> relevance.queries.tolist(), relevance.mass.tolist()
        ([7, 9], [0.75, 0.25, 1.0])
        """
        query, item = np.asarray(query), np.asarray(item)
        rho = np.asarray(rho, dtype=np.float64)
        if not np.isfinite(rho).all() or (rho < 0).any():
            raise RarsError("Relevance evidence must be finite and not negative.")
        if not (rho > 0).all():
            query, item, rho = query[rho > 0], item[rho > 0], rho[rho > 0]
        if (query[1:] < query[:-1]).any():
            order = stable_order(query)
            query, item, rho = query[order], item[order], rho[order]
        first, row = runs(query)
        total = np.bincount(row, weights=rho, minlength=len(first)).astype(np.float64, copy=False)
        return cls(query[first], row, item, rho / np.take(total, row), total)


@dataclass(frozen=True, eq=False)
class Level:
    """The relevance-bearing nodes of one depth, for all queries, sorted by query and node.

    ``row``     (entries,) the query's row
    ``node``    (entries,) the tree node at this depth
    ``mass``    (entries,) mu_l(z|q)
    ``parent``  (entries,) the entry one level up that holds its parent prefix; non-decreasing
    """

    row: Ints
    node: Ints
    mass: Doubles
    parent: Ints


@dataclass(frozen=True, eq=False)
class Projection:
    """mu projected to every depth: ``levels[0]`` is the root with mass 1, ``levels[L]`` the leaves."""

    n_rows: int
    levels: tuple[Level, ...]

    def conditional(self, depth: int) -> Doubles:
        """mu_l(v|u,q): the share of its parent's mass that each entry of ``depth`` holds."""
        level, above = self.levels[depth], self.levels[depth - 1]
        return level.mass / np.take(above.mass, level.parent)

    def branching(self, depth: int) -> Ints:
        """How many relevance-bearing children each entry of ``depth - 1`` has."""
        above = self.levels[depth - 1]
        return np.bincount(self.levels[depth].parent, minlength=len(above.mass))


def project(tree: PrefixTree, relevance: Relevance) -> Projection:
    """Project mu onto every depth of the tree (Eq. projection); items sharing a SID add up.

    >>> tree = PrefixTree.build([[0, 0], [0, 1], [1, 0]])
    >>> projection = project(tree, Relevance.of([0, 0, 0], [0, 1, 2], [3, 1, 4]))
    >>> projection.levels[1].mass.tolist(), projection.conditional(2).tolist()
    ([0.5, 0.5], [0.75, 0.25, 1.0])
    """
    leaf = tree.leaves_of(relevance.item)
    order = stable_order(relevance.row, leaf)
    row, node = np.take(relevance.row, order), np.take(leaf, order)
    mass: Doubles = np.take(relevance.mass, order)
    levels: list[Level] = []
    for depth in range(tree.depth, -1, -1):
        # Same row and same node: one entry. Node numbers increase with the leaves' order.
        first, entry = runs(row, node)
        if levels:
            levels[-1] = replace(levels[-1], parent=entry)
        row, node = np.take(row, first), np.take(node, first)
        mass = np.bincount(entry, mass, len(first)).astype(np.float64, copy=False)
        levels.append(Level(row, node, mass, np.zeros(len(row), dtype=np.int32)))
        if depth:
            node = tree.parents(depth, node)
    return Projection(len(relevance.queries), tuple(levels[::-1]))
