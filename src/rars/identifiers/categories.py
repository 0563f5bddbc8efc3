"""The categories of a catalogue: its own, or induced by clustering where it has none.

Owns: which of the two. A learner of identifiers and the training of a model get the same tree for the same
number of levels, vectors and seed. Ignores how clusters are found (``hierarchical``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rars.arrays import Points
from rars.data import Dataset
from rars.data.categories import path_codes
from rars.identifiers.hierarchical import induce_categories
from rars.tree.categories import CategoryTree

LEVELS = 3
BRANCHING = 20
"""Induced categories that one may be divided into, at the most."""


def catalogue_categories(
    dataset: Dataset, levels: int, vectors: Callable[[], Points], seed: int
) -> CategoryTree:
    """The first ``levels`` of every item's category path; if no item has one, clusters of ``vectors()``."""
    own = path_codes(dataset.items(["category"])["category"], levels)
    if own is not None:
        return CategoryTree.of_codes(*own)
    codes = np.asarray(induce_categories(vectors(), (BRANCHING,) * levels, seed=seed))
    # Of a few items nothing is left to divide after the first level.
    return CategoryTree.of_codes(codes[:, : max(1, int((codes >= 0).any(axis=0).sum()))])
