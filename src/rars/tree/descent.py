"""A wide pass down the tree: prefixes scored by sums of terms, the best of each depth kept.

Owns: s(v) = sum over the codes of v of terms_l(code), for the prefixes that a pass reaches and no others,
of many queries at once. Ignores what the terms mean: for query vectors and shared codebooks they are inner
products with codewords, and s(v) is the similarity to what the codes of v stand for. Needs NumPy alone.

Terms are tables (queries, codes + 1) for each depth. The last column is zero and stands for END, which is
code -1: to end adds nothing. A pass of width w reaches at most w x fan-out prefixes a depth, however large
the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rars.arrays import Bools, Floats, Ints
from rars.tree.prefix_tree import PrefixTree

_CHILDREN = 2
"""Children that the prefixes kept at a depth may have, for each of the pass's width."""

Legal = Callable[[int, Ints, Ints], Bools]
"""Whether each query may use each node at ``depth + 1``: (depth, query, node)."""


@dataclass(frozen=True, eq=False)
class Reached:
    """Prefixes of one depth: ``query`` (n,) non-decreasing, ``node`` (n,) and its ``score`` (n,), s(v)."""

    query: Ints
    node: Ints
    score: Floats

    @classmethod
    def roots(cls, terms: Sequence[Floats]) -> Reached:
        """The root, for every query."""
        queries = len(terms[0])
        return cls(
            np.arange(queries), np.zeros(queries, np.int64), np.zeros(queries, terms[0].dtype)
        )

    def __len__(self) -> int:
        return len(self.node)

    def __getitem__(self, rows: Ints | Bools) -> Reached:
        return Reached(self.query[rows], self.node[rows], self.score[rows])


def code_terms(vectors: Floats, codewords: Sequence[Floats]) -> tuple[Floats, ...]:
    """The terms of query vectors (queries, dim): their inner products with the codewords of each depth.

    >>> [found.tolist() for found in code_terms(np.ones((1, 2)), [np.array([[1.0, 2.0], [3.0, 4.0]])])]
    [[[3.0, 7.0, 0.0]]]
    """
    products = (vectors @ words.T.astype(vectors.dtype) for words in codewords)
    return tuple(np.pad(found, ((0, 0), (0, 1))) for found in products)


def below(
    tree: PrefixTree, depth: int, reached: Reached, terms: Sequence[Floats]
) -> tuple[Ints, Reached]:
    """All children of nodes at ``depth``: which of them each continues, and the children, scored."""
    owner, child = tree.expand(depth, reached.node)
    table = terms[depth]
    query = reached.query[owner]
    # One flat look-up; END is -1 and falls on the last column.
    slot = tree.codes[depth][child].astype(np.int64)
    slot += table.shape[1] * (query + (slot < 0))
    return owner, Reached(query, child, reached.score[owner] + table.ravel().take(slot))


def best(tree: PrefixTree, depth: int, reached: Reached, width: int) -> Reached:
    """The best prefixes of each query at ``depth``, in the order given: no more than ``width``.

    Above the leaves they also have no more than ``2 x width`` children together (but there is always one),
    which bounds the work of the next depth. What more would find is not worth its time: docs/results.md.
    """
    if len(reached) <= 1:
        return reached
    starts = np.flatnonzero(np.diff(reached.query, prepend=-1))
    ends = np.append(starts[1:], len(reached))
    kept = [
        low + _first(tree, depth, reached.node[low:high], reached.score[low:high], width)
        for low, high in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return reached[np.concatenate(kept)]


def _first(tree: PrefixTree, depth: int, nodes: Ints, scores: Floats, width: int) -> Ints:
    """The places of one query's best nodes, in order."""
    chosen = np.arange(len(nodes))
    if len(nodes) > width:
        chosen = np.argpartition(scores, -width)[-width:]
    if depth < tree.depth:
        children = tree.n_children(depth, nodes[chosen])
        if children.sum() > _CHILDREN * width:
            order = np.argsort(-scores[chosen], kind="stable")
            fits = np.cumsum(children[order]) <= _CHILDREN * width
            chosen = chosen[order[: max(1, int(fits.sum()))]]
    return np.sort(chosen)


def descend(
    tree: PrefixTree, terms: Sequence[Floats], width: int, legal: Legal | None = None
) -> Reached:
    """The leaves that a pass reaches: at most ``width`` of each query, in the order of the tree.

    >>> tree = PrefixTree.build([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> terms = [np.array([[1.0, 0.9, 0.0]]), np.array([[0.0, 0.5, 0.0]])]
    >>> [descend(tree, terms, width).node.tolist() for width in (1, 2)]
    [[1], [1, 3]]
    """
    reached = Reached.roots(terms)
    for depth in range(tree.depth):
        _, reached = below(tree, depth, reached, terms)
        if legal is not None:
            reached = reached[legal(depth, reached.query, reached.node)]
        reached = best(tree, depth + 1, reached, width)
    return reached
