"""How much of the relevant part of the tree the final ranking still holds, depth by depth.

Owns: prefix coverage and loss events of the paper's "Prediction alignment and prefix coverage". Both are
computed from the best identifiers of the final ranking, never from the beam on the way. Ignores grades.

Coverage@Ll  = share of the query's relevant prefixes of length l that begin one of its best K identifiers
Loss@Ll-Lm   = 1 where coverage is above 0 at depth l and 0 at the next depth m, else 0

At the last depth coverage is the recall of identifiers. A single identifier of the right first code gives
coverage at depth 1, so coverage can only fall to 0 once on the way down.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rars.arrays import Doubles, Longs
from rars.errors import RarsError
from rars.evaluation.measures import PerQuery, rows_in
from rars.evaluation.ranking import Ranking
from rars.evaluation.truth import Truth
from rars.tree import PrefixTree


def coverage(identifiers: Ranking, truth: Truth, tree: PrefixTree, k: int = 100) -> PerQuery:
    """Coverage at every depth, and loss events between depths.

    ``identifiers`` ranks leaves (``identifier_ranking``); ``truth`` is that of ``at_identifiers``.
    """
    if truth.size != tree.n_leaves:
        raise RarsError("Prefix coverage needs the truth at identifier level (at_identifiers).")
    row = rows_in(identifiers, truth)
    ranked = identifiers.ranked.cut(k)
    shown_row, shown = row[ranked.owner], ranked.items.astype(np.int64)
    answered = len(np.unique(shown_row[shown_row >= 0]))
    keep = shown_row >= 0
    by_depth = _climb(tree, truth, shown_row[keep], shown[keep])
    values = {f"Coverage@L{depth + 1}": column for depth, column in enumerate(by_depth)}
    for depth, (above, below) in enumerate(pairwise(by_depth), start=1):
        lost = (above > 0) & (below == 0)
        values[f"Loss@L{depth}-L{depth + 1}"] = lost.astype(np.float64)
    return PerQuery(truth.queries, values, truth.left_out, len(truth) - answered)


def _climb(tree: PrefixTree, truth: Truth, shown_row: Longs, shown: Longs) -> list[Doubles]:
    """Coverage (queries,) at depth 1..L, computed from the leaves up to the first code.

    ``shown_row``, ``shown`` (r,): query and leaf of each ranked identifier.
    """
    row, wanted = truth.row, truth.item
    found: list[Doubles] = []
    for depth in range(tree.depth, 0, -1):
        row, wanted = _distinct(row, wanted, tree.n_nodes(depth))
        shown_row, shown = _distinct(shown_row, shown, tree.n_nodes(depth))
        size = tree.n_nodes(depth)
        hit = np.isin(row * size + wanted, shown_row * size + shown)
        n = len(truth)
        found.append(np.bincount(row, weights=hit, minlength=n) / np.bincount(row, minlength=n))
        if depth > 1:
            wanted = tree.parents(depth, wanted).astype(np.int64)
            shown = tree.parents(depth, shown).astype(np.int64)
    return found[::-1]


def _distinct(row: Longs, node: Longs, size: int) -> tuple[Longs, Longs]:
    """The distinct (row, node) pairs, sorted; ``size`` is above every node."""
    key = np.unique(row * size + node)
    return key // size, key % size
