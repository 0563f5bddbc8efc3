"""Items worth a look: what a wide, cheap pass down the tree reaches, instead of every item.

Owns: the tree as an index of nearest neighbours. Where the vector of an item is nearly the sum of its
codewords, q . x of all items below a prefix starts from the partial sum of q . codeword, so a pass that
keeps the best prefixes of every depth (``rars.tree.descent``) ends at items whose vectors are near the
query's. It costs the width of the pass, not the catalogue. Those few thousand items are then scored with
their own vectors. Ignores evidence and models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from rars.arrays import Floats, Ints, Points
from rars.identifiers.quantizer import Quantizer
from rars.search.routing import Matching
from rars.search.store import Vectors
from rars.tree import PrefixTree
from rars.tree.descent import code_terms, descend


def usual_reach(items: int) -> int:
    """How many items of a catalogue are worth a look: with codes of one size, more of a larger one.

    >>> [usual_reach(items) for items in (10_000, 300_000, 1_000_000)]
    [4000, 4382, 8000]
    """
    return max(4000, round(8 * math.sqrt(items)))


@dataclass(frozen=True, eq=False)
class TreeCandidates:
    """A tree whose identifiers stand for sums of codewords; ``reach`` is how many items a query looks at."""

    tree: PrefixTree
    codewords: Sequence[Points]
    reach: int

    @classmethod
    def of(cls, tree: PrefixTree, quantizer: Quantizer, reach: int) -> Self | None:
        """None where the codes of a prefix do not say where its items lie."""
        if not quantizer.additive:
            return None
        return cls(tree, [quantizer.codewords(d) for d in range(len(quantizer.sizes))], reach)

    @cached_property
    def _words(self) -> list[Floats]:
        """Codewords of every depth of the tree; codes that only tell items apart stand for nothing."""
        dim = self.codewords[0].shape[1]
        own = list(self.codewords[: self.tree.depth])
        return own + [
            np.zeros((int(c.max()) + 1, dim), np.float32) for c in self.tree.codes[len(own) :]
        ]

    @property
    def told(self) -> int:
        """How many items that others found are looked at as well: few are enough, the best come first."""
        return max(1, self.reach // 4)

    def positions(
        self, queries: Points, matching: Sequence[Matching | None] | None = None
    ) -> list[Ints]:
        """For each query (queries, dim) the places, sorted, of the items that are reached: at most ``reach``.

        ``matching`` says what each may find; where that is no more than ``reach`` items, it is all of them.
        """
        terms = code_terms(np.asarray(queries, dtype=np.float32), self._words)
        asked = [None] * len(queries) if matching is None else matching
        return [
            self._reached([one[row : row + 1] for one in terms], only)
            for row, only in enumerate(asked)
        ]

    def _reached(self, terms: Sequence[Floats], only: Matching | None) -> Ints:
        if only is not None and len(only) <= self.reach:
            return np.flatnonzero(only.marks)
        legal = None if only is None else only.allows
        found = descend(self.tree, terms, self.reach, legal)
        order = np.argsort(-found.score, kind="stable")
        low, high = self.tree.item_ranges(self.tree.depth, found.node[order])
        counts = high - low
        first = np.cumsum(counts) - counts
        places = np.repeat(low - first, counts) + np.arange(counts.sum())
        if only is not None:
            places = places[only.marks[places]]
        return np.sort(places[: self.reach])

    def search(self, vectors: Vectors, queries: Points, k: int) -> list[tuple[Ints, Floats]]:
        """The best ``k`` of the reached items by their own vectors: catalogue rows and inner products."""
        found: list[tuple[Ints, Floats]] = []
        for query, places in zip(queries, self.positions(queries), strict=True):
            rows = self.tree.order[places]
            scores = vectors.scores_of(query, rows)
            best = np.argsort(-scores, kind="stable")[:k]
            found.append((np.asarray(rows[best]), scores[best]))
        return found
