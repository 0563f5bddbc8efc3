"""Hard negatives: items that look right to BM25 and are not.

Owns: which items those are, query by query. Ignores what is trained with them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rars.arrays import Ints
from rars.baselines.bm25 import Bm25
from rars.data import Dataset
from rars.progress import Advance

_BEYOND = 20
"""BM25 results looked at beyond the positives of a query."""


def hard_negatives(dataset: Dataset, count: int, *, advance: Advance | None = None) -> Ints:
    """Row numbers of items for every query, (queries of the dataset, count); -1 where there are fewer.

    Of a training query: the items judged irrelevant first, by their place in BM25's list (those outside of it
    last), then the best of BM25 that is no positive. Of other queries: none.
    """
    made = np.full((dataset.n_queries, count), -1, dtype=np.int64)
    judged = dataset.judged("train")
    asked, start = np.unique(judged.query, return_index=True)
    if not len(asked):
        return made
    stop = np.r_[start[1:], len(judged.query)]
    positive = judged.grade > 0
    most = max(int(np.add.reduceat(positive, start).max()), 1)
    texts: list[str] = dataset.query_texts.take(pa.array(asked)).to_pylist()
    found = Bm25.of(dataset).search(texts, most + count + _BEYOND, advance=advance)
    for row, query in enumerate(asked):
        part = slice(start[row], stop[row])
        wanted = set(judged.item[part][positive[part]].tolist())
        refused = judged.item[part][~positive[part]].tolist()
        ranked = found.row(row)[0].tolist()
        place = {item: at for at, item in enumerate(ranked)}
        first = sorted(refused, key=lambda item: (place.get(item, len(ranked)), item))
        others = [item for item in ranked if item not in wanted and item not in set(refused)]
        chosen = [*first, *others][:count]
        made[query, : len(chosen)] = chosen
    return made
