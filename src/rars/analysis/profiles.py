"""Depth profiles of queries, and distances between them.

Owns: r_l(q), the share of a query's entropy at each depth; total variation between profiles; whether two
profiles have their maxima at different depths. Ignores which queries are compared.
"""

from __future__ import annotations

import numpy as np

from rars.arrays import Bools, Doubles, Ints
from rars.tree import PrefixTree, Relevance, ambiguity, project

TIED = 1e-12
"""Shares that differ by no more than this are equally large."""


def profiles(tree: PrefixTree, row: Ints, item: Ints, weight: Doubles) -> Doubles:
    """(rows, L) the depth profiles r of rows 0, 1, ... with their items; NaN where there is no entropy."""
    return ambiguity(tree, project(tree, Relevance.of(row, item, weight))).allocation


def total_variation(one: Doubles, other: Doubles) -> Doubles:
    """(n,) half the sum of absolute differences.

    >>> total_variation(np.array([[1.0, 0.0]]), np.array([[0.25, 0.75]])).tolist()
    [0.75]
    """
    return np.asarray(np.abs(one - other).sum(axis=-1) / 2)


def apart(one: Doubles, other: Doubles) -> Bools:
    """(n,) whether the sets of maximising depths are disjoint.

    >>> apart(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])).tolist()
    [False, True]
    """
    return np.asarray(~(_peaks(one) & _peaks(other)).any(axis=-1))


def _peaks(found: Doubles) -> Bools:
    return np.asarray(found >= found.max(axis=-1, keepdims=True) - TIED)
