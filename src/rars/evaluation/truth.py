"""The ground truth of an evaluation: the relevant items of each query, with their gains.

Owns: which queries count, what is relevant, and the same for identifiers instead of items. Ignores rankings.

Relevant (the set G_q of the paper) is every item judged above grade 0: Exact, Substitute and Complement. The
gain of a grade is a separate, named choice (``rars.data.relevance.GAINS``). Unjudged items and those judged
irrelevant gain nothing. A query without a relevant item has no defined recall: it is left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.arrays import Ints
from rars.data import Dataset, Judgments
from rars.data.relevance import gain
from rars.errors import RarsError
from rars.tree import PrefixTree


@dataclass(frozen=True, eq=False)
class Truth:
    """Relevant items of queries, sorted by query, then item.

    ``queries``   (n,) queries with a relevant item, as row numbers of the dataset, increasing
    ``row``       (pairs,) index into ``queries``, non-decreasing
    ``item``      (pairs,) item number (or, at identifier level, leaf number)
    ``gain``      (pairs,) its gain
    ``size``      how many items (or leaves) there are in all
    ``left_out``  queries without any relevant item
    """

    queries: npt.NDArray[np.int32]
    row: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    gain: npt.NDArray[np.float64]
    size: int
    left_out: int

    @classmethod
    def of(
        cls, dataset: Dataset, split: str, *, gains: str = "linear", eligible: bool = False
    ) -> Truth:
        """The judgments of one split; with ``eligible``, of its eligible queries alone."""
        asked = dataset.queries_in(split, eligible=eligible)
        return cls.of_judgments(dataset.judged(split), asked, dataset.n_items, gains=gains)

    @classmethod
    def of_judgments(
        cls, judgments: Judgments, asked: Ints, size: int, *, gains: str = "linear"
    ) -> Truth:
        """Judgments of the queries ``asked``; those that none of the judgments concerns count as left out.

        >>> judged = Judgments.merged(np.array([4, 4, 6]), np.array([1, 0, 2]), np.array([3., 1., 0.]))
        >>> truth = Truth.of_judgments(judged, np.array([4, 6, 9]), size=3)
        >>> truth.queries.tolist(), truth.item.tolist(), truth.gain.tolist(), truth.left_out
        ([4], [0, 1], [1.0, 3.0], 2)
        """
        relevant = judgments.where((judgments.grade > 0) & np.isin(judgments.query, asked))
        queries, row = np.unique(relevant.query, return_inverse=True)
        return cls(
            queries.astype(np.int32),
            row.astype(np.int64),
            relevant.item.astype(np.int64),
            gain(relevant.grade, gains),
            size,
            len(np.unique(asked)) - len(queries),
        )

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def keys(self) -> npt.NDArray[np.int64]:
        """(pairs,) query and item as one number, increasing."""
        return self.row * self.size + self.item

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """(n,) |G_q|: how many relevant items each query has."""
        return np.bincount(self.row, minlength=len(self)).astype(np.int64)

    def at_identifiers(self, tree: PrefixTree) -> Truth:
        """The same for identifiers: one is as relevant as the best item it stands for."""
        if tree.n_items != self.size:
            raise RarsError(
                f"The tree holds {tree.n_items} items, but the judgments are of {self.size}."
            )
        key = self.row * tree.n_leaves + tree.leaves_of(self.item)
        pair, group = np.unique(key, return_inverse=True)
        best = np.zeros(len(pair))
        np.maximum.at(best, group, self.gain)
        return Truth(
            self.queries,
            pair // tree.n_leaves,
            pair % tree.n_leaves,
            best,
            tree.n_leaves,
            self.left_out,
        )
