"""The queries of a study with their relevant items, as flat arrays.

Owns: which queries count, their positives sorted by query, and evidence weights. Duplicate judgments keep the
highest grade (``rars.data.Judgments``). Ignores trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rars.analysis.study import Scene, StudySettings
from rars.arrays import Bools, Doubles, Ints, Longs
from rars.data.relevance import mass
from rars.errors import RarsError
from rars.tree import PrefixTree, Relevance

EVIDENCE = {"binary": "Binary", "linear": "Graded"}
"""The two readings of grades that the paper compares, and what its tables call them."""


@dataclass(frozen=True, eq=False)
class Population:
    """Positives (grade above 0) of queries, sorted by query, then item.

    ``queries``  (n,) queries with a positive, as row numbers of the dataset, increasing
    ``start``    (n + 1,) where each query's positives begin
    ``item``     (pairs,) the items
    ``grade``    (pairs,) their grades
    ``source``   how many queries were asked for, those without a positive included
    """

    queries: Ints
    start: Longs
    item: Ints
    grade: Doubles
    source: int

    @classmethod
    def of(cls, scene: Scene, settings: StudySettings) -> Population:
        """The positives of a scene's queries; a split without any is refused."""
        dataset, split = scene.dataset, settings.split
        asked = dataset.queries_in(split, eligible=settings.eligible)
        judged = dataset.judged(split)
        found = judged.where((judged.grade > 0) & np.isin(judged.query, asked))
        if not len(found):
            raise RarsError(
                f"The split {split!r} of {dataset.where} has no query with a positive item."
            )
        return cls.grouped(found.query, found.item, found.grade.astype(np.float64), len(asked))

    @classmethod
    def grouped(cls, query: Ints, item: Ints, grade: Doubles, source: int) -> Population:
        """From pairs that are sorted by query."""
        queries, first = np.unique(query, return_index=True)
        return cls(queries, np.append(first, len(query)).astype(np.int64), item, grade, source)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def counts(self) -> Longs:
        """(n,) how many positives each query has."""
        return np.diff(self.start)

    @property
    def row(self) -> Longs:
        """(pairs,) the query of each pair, counted from 0."""
        return np.repeat(np.arange(len(self)), self.counts)

    def where(self, chosen: Bools) -> Population:
        """The queries that a mask (n,) chooses."""
        kept = np.repeat(chosen, self.counts)
        start = np.append(0, np.cumsum(self.counts[chosen]))
        return Population(
            self.queries[chosen], start, self.item[kept], self.grade[kept], self.source
        )

    def several(self) -> Population:
        """The queries with at least two positives."""
        return self.where(self.counts > 1)

    def weights(self, evidence: str) -> Doubles:
        """(pairs,) rho(q, d) under a preset of ``rars.data.relevance``."""
        return mass(self.grade, evidence)

    def relevance(self, evidence: str) -> Relevance:
        """mu(d|q), rows in the order of ``queries`` (for presets that give every positive some mass)."""
        return Relevance.of(self.row, self.item, self.weights(evidence))

    def grade_counts(self) -> tuple[Doubles, Longs]:
        """The grades there are, and (n, grades) how many positives of each a query has.

        >>> some = Population.grouped(np.array([4, 4, 9]), np.arange(3), np.array([3.0, 1.0, 3.0]), 2)
        >>> [a.tolist() for a in some.grade_counts()]
        [[1.0, 3.0], [[1, 1], [0, 1]]]
        """
        grades, kind = np.unique(self.grade, return_inverse=True)
        flat = np.bincount(self.row * len(grades) + kind, minlength=len(self) * len(grades))
        return grades, flat.reshape(len(self), len(grades))

    def collides(self, tree: PrefixTree) -> Bools:
        """(n,) whether two positives of the query share an identifier."""
        leaf = tree.leaves_of(self.item).astype(np.int64)
        distinct = np.unique(self.row * tree.n_leaves + leaf) // tree.n_leaves
        return np.asarray(np.bincount(distinct, minlength=len(self)) < self.counts)


def equal_pairs(kinds: Ints, random: np.random.Generator) -> Longs:
    """(pairs, 2) disjoint random pairs of rows that have equal ``kinds``; of an odd number one is left over.

    >>> equal_pairs(np.array([[1, 0], [2, 0], [1, 0]]), np.random.default_rng(0)).tolist()
    [[2, 0]]
    """
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    order = random.permutation(len(kinds))
    order = order[np.argsort(kind.ravel()[order], kind="stable")]
    sorted_kind = kind.ravel()[order]
    size = np.bincount(sorted_kind)
    place = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    paired = place < (size // 2 * 2)[sorted_kind]
    return np.asarray(order[paired].reshape(-1, 2))
