"""What a model makes of given prefixes: the scores of all their legal children, for many queries at once.

Owns: one decoder pass along chosen paths. It is the beam's own pass with the beam's own functions, but which
prefixes go on is said beforehand, not decided by scores; so whoever compares scoring rules compares them at
the same prefixes. Ignores what the prefixes were chosen for.

At a parent u and its catalogue-legal children v in Ch(u):
``model``     log p(v | q, u), softmax of the decoder's logits over Ch(u)
``evidence``  lambda_comp F_t(v, q), what the rule adds to it (Eq. rars-score)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from rars.arrays import Doubles, Ints, Longs
from rars.search.beam import code_rows, on, step_gain
from rars.search.retriever import Readied, Retriever
from rars.systems import Query
from rars.tree import PrefixTree

_ROWS = 4096
"""Most decoder rows (queries x parents) of a batch."""
_QUERIES = 32


@dataclass(frozen=True, eq=False)
class Choices:
    """The children of p parents at one depth, c in all.

    ``parent``    (c,) which of the parents each child belongs to; non-decreasing
    ``child``     (c,) its node, one depth further down
    ``model``     (c,) log-probabilities; those of a parent's children sum to one
    ``evidence``  (c,) what the rule adds
    """

    parent: Longs
    child: Longs
    model: Doubles
    evidence: Doubles


@dataclass(frozen=True, eq=False)
class Places:
    """Nodes of one depth that queries are looked at: ``query`` (p,) non-decreasing, ``node`` (p,) increasing
    inside a query. Every node's parent is among the places of the depth above.
    """

    query: Ints
    node: Ints


@torch.inference_mode()
def choices(
    retriever: Retriever, queries: Sequence[Query], places: Sequence[Places]
) -> list[Choices]:
    """The choice at every place, depth by depth from the root (depth 0) on, in the order of the places."""
    _check(retriever.tree, places)
    found: list[list[Choices]] = [[] for _ in places]
    for rows in _batches(len(queries), places):
        own = [_cut(one, rows) for one in places]
        readied = retriever.readied([queries[row] for row in range(rows.start, rows.stop)])
        for depth, one in enumerate(_along(retriever, readied, own)):
            before = int(np.searchsorted(places[depth].query, rows.start))
            found[depth].append(replace(one, parent=one.parent + before))
    return [_joined(parts) for parts in found]


def _along(retriever: Retriever, readied: Readied, places: Sequence[Places]) -> list[Choices]:
    """One batch: decode the places of each depth as the beams of their queries."""
    model, tree = retriever.ready.model, retriever.tree
    vocabulary, begun = retriever.ready.architecture.vocabulary, readied.begun
    guide = replace(readied.guide, normaliser="children", score="probability")
    projected = None if readied.projected is None else readied.projected[:, None]
    hidden, cache = begun.hidden, begun.cache
    before = np.zeros((len(begun), 1), dtype=np.int64)
    found = []
    for depth, here in enumerate(places):
        grid, slot = _grid(here, len(begun))
        if depth:
            came_from = _came_from(tree, depth, grid, before)
            inputs = code_rows(model, tree, vocabulary, depth - 1, grid)
            cache = cache.reordered(on(hidden.device, came_from))
            hidden, cache = model.decoder.step(inputs, cache, begun.memory)
        parent, child = tree.expand(depth, here.node)
        logits = model.logits(depth, hidden, projected)
        gained = step_gain(
            tree, vocabulary, depth, grid.ravel(), slot[parent], child, logits, guide
        )
        added = guide.added(tree, depth, here.query[parent], child, len(begun))
        found.append(
            Choices(
                parent.astype(np.int64),
                child.astype(np.int64),
                gained.astype(np.float64, copy=False),
                added.astype(np.float64, copy=False),
            )
        )
        before = grid
    return found


def _grid(places: Places, queries: int) -> tuple[Longs, Longs]:
    """Nodes as a table (queries, most), filled with each query's first; and the slot of every place."""
    counts = np.bincount(places.query, minlength=queries)
    first = np.cumsum(counts) - counts
    column = np.arange(len(places.query)) - first[places.query]
    wide = max(1, int(counts.max(initial=0)))
    grid = np.zeros((queries, wide), dtype=np.int64)
    some = counts > 0
    grid[some] = places.node[first[some]][:, None]
    grid[places.query, column] = places.node
    return grid, (places.query * wide + column).astype(np.int64)


def _came_from(tree: PrefixTree, depth: int, grid: Longs, before: Longs) -> Longs:
    """The column of each node's parent in the table of the depth above; 0 for a query without any."""
    parents = tree.parents(depth, grid.ravel()).reshape(grid.shape)
    return np.asarray((before[:, None, :] == parents[:, :, None]).argmax(axis=2))


def _cut(places: Places, rows: slice) -> Places:
    low, high = np.searchsorted(places.query, [rows.start, rows.stop])
    return Places(places.query[low:high] - rows.start, places.node[low:high])


def _batches(queries: int, places: Sequence[Places]) -> list[slice]:
    """Runs of queries whose tables of places stay small."""
    most = np.max([np.bincount(one.query, minlength=queries) for one in places], axis=0)
    found, start = [], 0
    while start < queries:
        wide = np.maximum.accumulate(most[start : start + _QUERIES])
        fit = int((wide * np.arange(1, len(wide) + 1) <= _ROWS).sum())
        found.append(slice(start, start + max(1, fit)))
        start += max(1, fit)
    return found


def _check(tree: PrefixTree, places: Sequence[Places]) -> None:
    if not 0 < len(places) <= tree.depth:
        raise ValueError(f"Places are needed at 1 to {tree.depth} depths, not {len(places)}.")
    for depth in range(1, len(places)):
        here, above = places[depth], places[depth - 1]
        size = tree.n_nodes(depth - 1)
        wanted = here.query.astype(np.int64) * size + tree.parents(depth, here.node)
        if not np.isin(wanted, above.query.astype(np.int64) * size + above.node).all():
            raise ValueError(f"A place at depth {depth} has no parent among those above.")


def _joined(parts: Sequence[Choices]) -> Choices:
    return Choices(
        *(
            np.concatenate([getattr(one, name) for one in parts])
            for name in ("parent", "child", "model", "evidence")
        )
    )
