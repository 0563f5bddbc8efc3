"""Synthetic data of the paper's sizes: identifiers, and queries whose relevance branches as there.

Owns: a tree of 288,372 items with four codes of 256, and 6,014 queries with as many positives as the paper's
strata say (ESCI-US). Relevance is a star: one item drawn at random, the others share 0 to 3 codes with it,
with probabilities chosen so that entropy, queries that branch and mass at branching prefixes come near the
paper's table (a). Grades are drawn apart from the tree, two in three of them Exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.analysis.population import Population
from rars.tree import PrefixTree

ITEMS, QUERIES = 288_372, 6_014
STRATA = ((1, 1, 1365), (2, 3, 1810), (4, 7, 1756), (8, 15, 917), (16, 40, 166))
"""Positives from, to, and how many queries; with several, the paper's strata, cut to its 4,649."""
SHARED = (0.46, 0.35, 0.07, 0.12)
"""How likely a positive shares 0, 1, 2 or 3 codes with the first one of its query."""
PAPER = {
    "entropy": (0.700, 0.399, 0.065, 0.020),
    "queries": (68.8, 52.4, 20.5, 8.5),
    "mass": (68.8, 38.1, 8.1, 2.5),
}
"""The paper's table (a), ESCI-US."""


@dataclass(frozen=True, eq=False)
class Made:
    """The tree, the queries, and a made-up category of every item."""

    tree: PrefixTree
    people: Population
    category: npt.NDArray[np.int64]


def codes(random: np.random.Generator, items: int = ITEMS) -> npt.NDArray[np.int32]:
    """Unevenly used codes: items gather in a share of the prefixes at every depth, as learned ones do."""
    found = np.zeros((items, 4), dtype=np.int32)
    key = np.zeros(items, dtype=np.int64)
    for depth, exponent in enumerate((0.3, 0.9, 1.0, 1.6)):
        weight = 1.0 / np.arange(1, 257) ** exponent
        rank = random.choice(256, items, p=weight / weight.sum())
        # Every prefix prefers other codes.
        turned = (rank + key * 2_654_435_761 % 256) % 256
        found[:, depth] = turned
        key = key * 256 + turned
    return found


def made(
    *, items: int = ITEMS, scale: float = 1.0, pairs_scale: float = 1.0, seed: int = 0
) -> Made:
    """The data; ``scale`` has fewer queries, ``pairs_scale`` more positives of each."""
    random = np.random.default_rng(seed)
    tree = PrefixTree.build(codes(random, items))
    counts = np.concatenate(
        [random.integers(low, high + 1, round(scale * many)) for low, high, many in STRATA]
    )
    counts = np.maximum(1, np.round(pairs_scale * counts)).astype(np.int64)
    rows = [_positives(tree, random, int(n)) for n in random.permutation(counts)]
    query = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    grade = random.choice([3.0, 2.0, 1.0], len(query), p=[0.66, 0.27, 0.07])
    people = Population.grouped(query, np.concatenate(rows), grade, len(rows))
    # A category runs across prefixes but is mostly of one: items nearby in the order, blurred.
    blurred = tree.positions + random.normal(0, items / 500, items)
    category = np.clip(blurred // (items / 1500), 0, 1499).astype(np.int64)
    return Made(tree, people, category)


def _positives(tree: PrefixTree, random: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    first = int(random.integers(tree.n_items))
    path = tree.identifiers([first])[0].tolist()
    found = {first}
    for shared in random.choice(4, 4 * n, p=SHARED):
        if len(found) == n:
            break
        node = tree.find(path[: int(shared)])
        low, high = tree.item_ranges(int(shared), node if node is not None else 0)
        found.add(int(tree.order[random.integers(int(low), int(high))]))
    while len(found) < n:
        found.add(int(random.integers(tree.n_items)))
    return np.array(sorted(found))
