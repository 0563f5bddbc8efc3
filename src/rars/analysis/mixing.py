"""Where identifiers and meaning part: prefixes that mix unrelated items, queries that are torn apart.

Owns: both measures, for every prefix and query at once, and the worst of each with examples. Ignores how
identifiers were learned and what a model makes of them.

mixed(u)   the chance that two items below prefix u are of different categories, at the first category level
           that tells items apart: 1 - sum_c n_c (n_c - 1) / (n (n - 1)); without categories, one minus the
           mean cosine of two items' vectors, (n |m|^2 - 1) / (n - 1) for the mean m of unit vectors
torn_l(q)  the chance that two of the query's relevant items, drawn by relevance mass, have different prefixes
           of length l: (1 - sum_z mu_l(z|q)^2) / (1 - sum_d mu(d|q)^2)

Prefixes are ranked by mixed(u) x items below x depth: a large muddle comes before a small one, and a long
prefix promises more than a short one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rars.arrays import Doubles, Floats, Ints, Longs
from rars.data import Dataset
from rars.data.categories import path_codes
from rars.errors import RarsError
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.identifiers.categories import LEVELS
from rars.tree import END, PrefixTree, Relevance, code_name, project
from rars.tree.categories import NONE, CategoryTree
from rars.tree.sorting import runs, stable_order

SHOWN = 5
"""Prefixes and queries that are listed."""
FEWEST = 5
"""A smaller prefix is no muddle."""
EXAMPLES = 3
_CELLS = 1 << 22
"""Numbers of vectors that are summed at a time."""


@dataclass(frozen=True)
class MixedPrefix:
    """A prefix whose items have little to do with each other.

    ``groups``    its largest categories and how many items each has
    ``examples``  titles, one of each of the largest categories
    """

    prefix: str
    depth: int
    items: int
    mixed: float
    groups: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]


@dataclass(frozen=True)
class TornQuery:
    """A query whose relevant items have different first codes.

    ``branches``  first codes that hold a relevant item; ``torn`` the chance that two items part there
    ``examples``  a relevant item of each of the largest branches: prefix and title
    """

    query_id: str
    query: str
    relevant: int
    branches: int
    torn: float
    examples: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Mixing:
    """What is mixed and what is torn.

    ``by``        what tells items apart: ``categories, level n``, or ``vectors``; None: nothing
    ``mean``      mixed(u) at each depth, mean over items in prefixes of at least two
    ``apart``     torn_l(q) at each depth, mean over queries with several relevant items
    ``queries``   how many those are
    """

    split: str
    by: str | None
    mean: tuple[float, ...]
    apart: tuple[float, ...]
    queries: int
    prefixes: tuple[MixedPrefix, ...]
    torn: tuple[TornQuery, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def tables(self) -> list[Table]:
        """By depth, the most mixed prefixes, the most torn queries; those that there are."""
        made = [self._depths()]
        if self.prefixes:
            made.append(self._prefixes())
        if self.torn:
            made.append(self._queries())
        return made

    def _depths(self) -> Table:
        rows = []
        for at in range(max(len(self.mean), len(self.apart))):
            cells = (
                Cell(f"{100 * one[at]:.1f}" if at < len(one) else "—")
                for one in (self.mean, self.apart)
            )
            rows.append(Row((f"L{at + 1}",), tuple(cells)))
        return Table(
            "mixing",
            "What shares a prefix, and what does not",
            ("depth",),
            ("items mixed %", "relevance torn %"),
            (Block(tuple(rows)),),
            f"items mixed: {_meaning(self.by)}, mean over items; relevance torn: two relevant items of a "
            f"{self.split} query have different prefixes, mean over {self.queries:,} queries with several.",
        )

    def _prefixes(self) -> Table:
        held = [_groups(one) for one in self.prefixes]
        known = any(held)  # a catalogue without categories has no names for what a prefix holds
        rows = tuple(
            Row(
                (one.prefix, *((holds,) if known else ()), "; ".join(one.examples)),
                (Cell(f"{one.items:,}"), Cell(f"{100 * one.mixed:.0f}")),
            )
            for one, holds in zip(self.prefixes, held, strict=True)
        )
        labels = ("prefix", *(("holds",) if known else ()), "for example")
        return Table(
            "mixed", "Prefixes that mix most", labels, ("items", "mixed %"), (Block(rows),)
        )

    def _queries(self) -> Table:
        rows = tuple(
            Row(
                (one.query, "; ".join(f"{prefix}: {title}" for prefix, title in one.examples)),
                (Cell(f"{one.relevant}"), Cell(f"{one.branches}"), Cell(f"{100 * one.torn:.0f}")),
            )
            for one in self.torn
        )
        columns = ("relevant", "first codes", "torn %")
        labels = ("query", "for example")
        return Table("torn", "Queries that are torn apart most", labels, columns, (Block(rows),))


def mixing(
    dataset: Dataset,
    tree: PrefixTree,
    split: str,
    *,
    vectors: Callable[[], Floats | None] = lambda: None,
    shown: int = SHOWN,
) -> Mixing:
    """Measure a tree; ``vectors`` are asked for where items have no categories."""
    if tree.n_items != dataset.n_items:
        raise RarsError(f"The tree holds {tree.n_items} items, but {dataset.where} others.")
    categories, level = _categories(dataset)
    points = vectors() if categories is None else None
    by = None if categories is None and points is None else "vectors"
    found: list[Doubles] = []
    if categories is not None:
        by = f"categories, level {level + 1}"
        found = mixed_by_category(tree, categories.nodes[:, level])
    elif points is not None:
        found = mixed_by_vectors(tree, points)
    asked = Relevance.of(*dataset.positives(split))
    apart, distinct = torn(tree, asked)
    some = np.flatnonzero(distinct > 1)
    return Mixing(
        split=split,
        by=by,
        mean=tuple(_mean(tree, depth, one) for depth, one in enumerate(found, start=1)),
        apart=tuple(map(float, apart[some].mean(axis=0))) if len(some) else (),
        queries=len(some),
        prefixes=_worst_prefixes(dataset, tree, found, categories, level, shown),
        torn=_worst_queries(dataset, tree, asked, apart, some, shown),
    )


# -- measures --------------------------------------------------------------------------------------


def mixed_by_category(tree: PrefixTree, category: Ints) -> list[Doubles]:
    """mixed(u) of every node at depth 1..L; an item without a category is like no other.

    ``category`` (items,) by catalogue row.
    """
    sorted_kind = category[tree.order].astype(np.int64)
    found = []
    for depth in range(1, tree.depth + 1):
        size = _sizes(tree, depth)
        node = np.repeat(np.arange(len(size)), size)
        known = sorted_kind != NONE
        owner, same = _pair_counts(node[known], sorted_kind[known])
        alike = np.bincount(owner, same * (same - 1.0), len(size))
        found.append(_chance(alike.astype(np.float64, copy=False), size))
    return found


def mixed_by_vectors(tree: PrefixTree, vectors: Floats) -> list[Doubles]:
    """The same by vectors (items, dim) in catalogue order: one minus the mean cosine of two items."""
    found = []
    starts = [_starts(tree, depth) for depth in range(1, tree.depth + 1)]
    squared = [np.zeros(len(one)) for one in starts]
    step = max(1, _CELLS // max(tree.n_items, 1))
    norm = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)[tree.order]
    for first in range(
        0, vectors.shape[1], step
    ):  # a few dimensions at a time: memory stays bounded
        part = vectors[:, first : first + step][tree.order] / norm[:, None]
        for at, begin in enumerate(starts):
            sums = np.add.reduceat(part, begin, axis=0)
            squared[at] += (sums.astype(np.float64) ** 2).sum(axis=1)
    for depth, total in enumerate(squared, start=1):
        size = _sizes(tree, depth)
        found.append(_chance(total - size, size))
    return found


def torn(tree: PrefixTree, relevance: Relevance) -> tuple[Doubles, Longs]:
    """(queries, L) torn_l(q), zero for a query with one relevant item; and how many items each has."""
    n = len(relevance.queries)
    counts = np.bincount(relevance.row, minlength=n)
    whole = 1.0 - np.bincount(relevance.row, relevance.mass**2, n)
    projection = project(tree, relevance)
    columns = []
    for level in projection.levels[1:]:
        apart = 1.0 - np.bincount(level.row, level.mass**2, n)
        share = np.divide(apart, whole, out=np.zeros(n), where=counts > 1)
        columns.append(np.clip(share, 0.0, 1.0))
    return np.stack(columns, axis=1), counts.astype(np.int64)


def _chance(alike: Doubles, size: Longs) -> Doubles:
    """The share of ordered pairs of different items that are not alike; 0 where there is no pair."""
    pairs = size * (size - 1.0)
    return np.asarray(1.0 - np.divide(alike, pairs, out=np.ones(len(size)), where=pairs > 0))


def _pair_counts(node: Ints, kind: Ints) -> tuple[Ints, Longs]:
    """How many items each (node, kind) has; nodes are sorted already."""
    order = stable_order(node, kind)
    first, number = runs(node[order], kind[order])
    return node[order][first], np.bincount(number, minlength=len(first)).astype(np.int64)


def _sizes(tree: PrefixTree, depth: int) -> Longs:
    low, high = tree.item_ranges(depth, np.arange(tree.n_nodes(depth)))
    return np.asarray(high - low, dtype=np.int64)


def _starts(tree: PrefixTree, depth: int) -> Ints:
    return tree.item_ranges(depth, np.arange(tree.n_nodes(depth)))[0]


def _mean(tree: PrefixTree, depth: int, found: Doubles) -> float:
    size = _sizes(tree, depth)
    weight = np.where(size > 1, size, 0)
    return float((found * weight).sum() / weight.sum()) if weight.any() else 0.0


# -- the worst -------------------------------------------------------------------------------------


def _categories(dataset: Dataset) -> tuple[CategoryTree | None, int]:
    """The catalogue's own categories and the first level that tells items apart; None without any."""
    own = path_codes(dataset.items(["category"])["category"], LEVELS)
    if own is None:
        return None, 0
    made = CategoryTree.of_codes(*own)
    level = next((at for at, size in enumerate(made.sizes) if size > 1), None)
    return (None, 0) if level is None else (made, level)


def _worst_prefixes(
    dataset: Dataset,
    tree: PrefixTree,
    found: list[Doubles],
    categories: CategoryTree | None,
    level: int,
    shown: int,
) -> tuple[MixedPrefix, ...]:
    """The largest muddles; a prefix of one that is listed, or one below it, is not listed again."""
    depth, node, weight = [], [], []
    for at, one in enumerate(found, start=1):
        size = _sizes(tree, at)
        fit = np.flatnonzero((size >= FEWEST) & (one > 0))
        depth.append(np.full(len(fit), at))
        node.append(fit)
        weight.append(one[fit] * size[fit] * at)
    if not found:
        return ()
    depths, nodes, weights = (np.concatenate(part) for part in (depth, node, weight))
    listed: list[tuple[int, int]] = []
    taken = np.zeros(tree.n_leaves, dtype=bool)
    for place in np.argsort(-weights, kind="stable"):
        if len(listed) == shown:
            break
        where, muddle = int(depths[place]), int(nodes[place])
        low, high = (int(end) for end in tree.leaf_ranges(where, muddle))
        if not taken[low:high].any():
            taken[low:high] = True
            listed.append((where, muddle))
    return tuple(
        _mixed_prefix(dataset, tree, at, one, float(found[at - 1][one]), categories, level)
        for at, one in listed
    )


def _mixed_prefix(
    dataset: Dataset,
    tree: PrefixTree,
    depth: int,
    node: int,
    mixed: float,
    categories: CategoryTree | None,
    level: int,
) -> MixedPrefix:
    items = tree.items_below(depth, node)
    groups: list[tuple[str, int]] = []
    examples = items[np.linspace(0, len(items) - 1, min(EXAMPLES, len(items))).astype(int)]
    if categories is not None:
        kinds, counts = np.unique(categories.nodes[items, level], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        names = categories.names[level]
        groups = [
            (names[kind] if kind != NONE else "(none)", int(count))
            for kind, count in zip(kinds[order].tolist(), counts[order].tolist(), strict=True)
        ]
        firsts = [items[categories.nodes[items, level] == kind][0] for kind in kinds[order]]
        examples = np.array(firsts[:EXAMPLES])
    codes = tree.paths(depth, [node])[0].tolist()
    return MixedPrefix(
        prefix=_name(codes),
        depth=depth,
        items=len(items),
        mixed=mixed,
        groups=tuple(groups[:EXAMPLES]),
        examples=tuple(_titles(dataset, examples)),
    )


def _worst_queries(
    dataset: Dataset,
    tree: PrefixTree,
    relevance: Relevance,
    apart: Doubles,
    some: Longs,
    shown: int,
) -> tuple[TornQuery, ...]:
    """Those that part at the first code with the highest chance; of equal ones, those with more items."""
    counts = np.bincount(relevance.row, minlength=len(relevance.queries))
    rows = some[np.lexsort((-counts[some], -apart[some, 0]))][:shown]
    found = []
    for row in rows.tolist():
        if apart[row, 0] <= 0:
            break
        own = relevance.row == row
        items, mass = relevance.item[own], relevance.mass[own]
        first = tree.identifiers(items)[:, 0]
        codes, branch = np.unique(first, return_inverse=True)
        held = np.bincount(branch, mass)
        largest = np.argsort(-held, kind="stable")[:EXAMPLES]
        best = [items[branch == one][np.argmax(mass[branch == one])] for one in largest]
        query = int(relevance.queries[row])
        names = [_name([int(codes[one])]) for one in largest]
        found.append(
            TornQuery(
                query_id=str(dataset.query_ids[query].as_py()),
                query=str(dataset.query_texts[query].as_py()),
                relevant=int(counts[row]),
                branches=len(codes),
                torn=float(apart[row, 0]),
                examples=tuple(zip(names, _titles(dataset, np.array(best)), strict=True)),
            )
        )
    return tuple(found)


def _titles(dataset: Dataset, items: Ints) -> list[str]:
    order = np.argsort(items, kind="stable")
    found = [""] * len(items)
    for rows, block in dataset.item_blocks(["title"], items[order]):
        for at, title in zip(np.searchsorted(items[order], rows), block["title"], strict=True):
            found[int(order[at])] = str(title.as_py())
    return found


def _name(codes: list[int]) -> str:
    return " ".join(code_name(depth, code) for depth, code in enumerate(codes) if code != END)


def _groups(one: MixedPrefix) -> str:
    return ", ".join(f"{count} {name}" for name, count in one.groups)


def _meaning(by: str | None) -> str:
    if by is None:
        return "not known, as items have neither categories nor vectors"
    if by == "vectors":
        return "one minus the mean cosine of two items"
    return f"two items are of different categories ({by.partition(', ')[2]})"
