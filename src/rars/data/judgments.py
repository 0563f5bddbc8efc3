"""Judgments as sorted arrays.

Owns: the order of graded pairs, and that a pair is there once. Ignores ids and what a grade is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Judgments:
    """Graded pairs sorted by query, then item; one row per pair (the highest grade is kept).

    Shapes: ``query``, ``item``, ``grade`` are all (pairs,).
    """

    query: Ints
    item: Ints
    grade: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.query)

    def where(self, keep: npt.NDArray[np.bool_]) -> Judgments:
        """The pairs that ``keep`` marks, in the same order."""
        return Judgments(self.query[keep], self.item[keep], self.grade[keep])

    def table(
        self, query_ids: pa.Array | pa.ChunkedArray, item_ids: pa.Array | pa.ChunkedArray
    ) -> pa.Table:
        """The pairs with ids in place of positions, as a dataset folder stores them."""
        return pa.table(
            {
                "query_id": query_ids.take(pa.array(self.query)),
                "item_id": item_ids.take(pa.array(self.item)),
                "grade": pa.array(self.grade),
            }
        )

    @staticmethod
    def merged(
        query: npt.NDArray[Any], item: npt.NDArray[Any], grade: npt.NDArray[Any]
    ) -> Judgments:
        """Sort by query and item; of duplicate judgments keep the highest grade.

        >>> j = Judgments.merged(np.array([1, 0, 1]), np.array([5, 2, 5]), np.array([1., 3., 2.]))
        >>> j.query.tolist(), j.item.tolist(), j.grade.tolist()
        ([0, 1], [2, 5], [3.0, 2.0])
        """
        order = np.lexsort((-grade, item, query))
        query, item, grade = query[order], item[order], grade[order]
        first = np.ones(len(query), dtype=bool)
        first[1:] = (query[1:] != query[:-1]) | (item[1:] != item[:-1])
        return Judgments(
            query[first].astype(np.int32),
            item[first].astype(np.int32),
            grade[first].astype(np.float32),
        )
