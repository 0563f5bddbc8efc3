"""Items worth a look, instead of every item: a few thousand whose vectors are probably near the query's.

Owns: finding them, by one of two ways that cost what they look at and not the catalogue. Ignores evidence and
models: what is found is then scored with its own vectors.

``CellCandidates``  what lies in the cells of vectors nearest to the query (``rars.search.cells``).
``TreeCandidates``  the tree as such an index. Where the vector of an item is nearly the sum of its codewords,
q . x of all items below a prefix starts from the partial sum of q . codeword, so a pass that keeps the best
prefixes of every depth (``rars.tree.descent``) ends at items near the query. It needs no file of its own, and
looks at more items for the same recall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from rars.arrays import Floats, Ints, Points
from rars.config import SearchSettings
from rars.identifiers.quantizer import Quantizer
from rars.search import cells
from rars.search.routing import Matching
from rars.search.vectors import Vectors
from rars.tree import PrefixTree
from rars.tree.descent import code_terms, descend

LOOKED = 100_000
"""Catalogues of no more items are looked at whole, unless told otherwise."""
CELLED = 4096
"""Of larger ones, segments of so many vectors have cells; all of a smaller segment is looked at."""


def looks_at_some(settings: SearchSettings, items: int) -> bool:
    """Whether a search of a catalogue looks at a part of it alone."""
    wanted = settings.candidates
    return wanted in ("cells", "tree") or (wanted == "auto" and items > LOOKED)


def celled_from(settings: SearchSettings, items: int) -> int | None:
    """From how many vectors on a stored segment of a catalogue has cells; None: never."""
    if settings.candidates == "tree" or not looks_at_some(settings, items):
        return None
    return 1 if settings.candidates == "cells" else CELLED


class Candidates(Protocol):
    """Finds items worth a look."""

    @property
    def reach(self) -> int:
        """How many they are, about."""
        ...

    def positions(
        self, queries: Points, matching: Sequence[Matching | None] | None = None
    ) -> list[Ints]:
        """For each query (queries, dim) the places, sorted, of items in SID order.

        ``matching`` says what each may find; where that is no more than ``reach`` items, it is all of them.
        """
        ...


@dataclass(frozen=True, eq=False)
class CellCandidates:
    """The cells of a catalogue's vectors."""

    tree: PrefixTree
    vectors: Vectors
    reach: int

    def positions(
        self, queries: Points, matching: Sequence[Matching | None] | None = None
    ) -> list[Ints]:
        """The places of the items in the nearest cells, of those that may be found."""
        asked = [None] * len(queries) if matching is None else matching
        return [self._found(query, only) for query, only in zip(queries, asked, strict=True)]

    def _found(self, query: Points, only: Matching | None) -> Ints:
        if only is None:
            return np.sort(self.tree.positions[self.vectors.near(query, self.reach)])
        if len(only) <= self.reach:
            return np.flatnonzero(only.marks)
        # Of matches spread evenly, so many rows hold enough.
        rows = math.ceil(self.reach * self.tree.n_items / len(only))
        places = np.sort(self.tree.positions[self.vectors.near(query, rows)])
        return np.asarray(places[only.marks[places]])


def tree_reach(items: int) -> int:
    """How many items a pass down the tree should reach: with codes of one size, more of a larger catalogue.

    >>> [tree_reach(items) for items in (10_000, 300_000, 1_000_000)]
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


def looked_beside(candidates: Candidates) -> int:
    """How many items that others found are looked at as well: few are enough, the best come first."""
    return max(1, candidates.reach // 4)


def nearest(
    candidates: Candidates, tree: PrefixTree, vectors: Vectors, queries: Points, k: int
) -> list[tuple[Ints, Floats]]:
    """The best ``k`` of the candidates by their own vectors: catalogue rows and inner products."""
    found: list[tuple[Ints, Floats]] = []
    for query, places in zip(queries, candidates.positions(queries), strict=True):
        rows = tree.order[places]
        scores = vectors.scores_of(query, rows)
        best = np.argsort(-scores, kind="stable")[:k]
        found.append((np.asarray(rows[best]), scores[best]))
    return found


def candidates_of(
    settings: SearchSettings, tree: PrefixTree, vectors: Vectors | None, quantizer: Quantizer
) -> Candidates | None:
    """What a search looks at under its settings; None for everything."""
    if not looks_at_some(settings, tree.n_items):
        return None
    if settings.candidates != "tree" and vectors is not None and vectors.celled:
        return CellCandidates(tree, vectors, settings.reach or cells.usual_reach(tree.n_items))
    return TreeCandidates.of(tree, quantizer, settings.reach or tree_reach(tree.n_items))
