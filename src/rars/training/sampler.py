"""Which queries make up each batch: a pure function of the seed and the epoch.

Owns: shuffling, bucketing by size, and cutting whole queries to a budget of pairs. Nothing here has a state,
so a resumed run needs only its epoch and step to go on exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rars.training.packing import TrainingSet

Ints = npt.NDArray[np.integer[Any]]

# Queries of similar size share a batch (less padding), among this many batches at a time (still shuffled).
_WINDOW = 16


def batches(
    data: TrainingSet,
    pool: int,
    *,
    pairs: int,
    seed: int,
    epoch: int,
    sampled: int = 0,
    at_least: int = 1,
) -> list[Ints]:
    """The batches of one epoch: every query from the first ``pool`` once, ``sampled`` of the others.

    Each batch holds whole queries with about ``pairs`` relevant pairs, and ``at_least`` so many queries.
    """
    rng = np.random.default_rng([seed, epoch])
    queries: Ints = np.arange(pool)
    if sampled:
        others = rng.choice(len(data) - pool, min(sampled, len(data) - pool), replace=False) + pool
        queries = np.concatenate([queries, others])
    rng.shuffle(queries)
    queries = _bucketed(queries, data, pairs)
    count = data.n_pairs[queries]
    number = ((np.cumsum(count) - count) // pairs).astype(np.int64)
    cut = np.flatnonzero(np.diff(number)) + 1
    found = _merged(np.split(queries, cut), at_least)
    return [found[index] for index in rng.permutation(len(found))]


def _bucketed(queries: Ints, data: TrainingSet, pairs: int) -> Ints:
    """Sort by number of decoder rows inside windows of the shuffled order."""
    per_batch = max(1, int(pairs / max(1.0, float(data.n_pairs[queries].mean()))))
    window = np.arange(len(queries)) // (per_batch * _WINDOW)
    return queries[np.lexsort((data.n_rows[queries], window))]


def _merged(parts: list[Ints], at_least: int) -> list[Ints]:
    """Join a batch of too few queries to the one before it."""
    found: list[Ints] = []
    for part in parts:
        if found and (len(part) < at_least or len(found[-1]) < at_least):
            found[-1] = np.concatenate([found[-1], part])
        else:
            found.append(part)
    return found
