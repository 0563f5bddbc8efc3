"""Which queries make up each batch: a pure function of the seed and the epoch.

Owns: shuffling, bucketing by size, and cutting whole queries to a budget of pairs. Nothing here has a state,
so a resumed run needs only its epoch and step to go on exactly. Ignores what is in a batch (``packing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rars.arrays import Ints
from rars.training.packing import TrainingSet

# Queries of similar size share a batch (less padding), among this many batches at a time (still shuffled).
_WINDOW = 16


class QueryRange(NamedTuple):
    """Queries ``start`` to ``stop`` - 1 of the training set; an epoch takes all, or ``sample`` at random."""

    start: int
    stop: int
    sample: int | None = None


def batches(
    data: TrainingSet,
    taken: Sequence[QueryRange],
    *,
    pairs: int,
    seed: int,
    epoch: int,
    at_least: int = 1,
) -> list[Ints]:
    """The batches of one epoch, each an array of whole queries (row numbers of the training set).

    A batch holds about ``pairs`` relevant pairs, and no fewer than ``at_least`` queries.
    """
    rng = np.random.default_rng([seed, epoch])
    chosen: list[Ints] = []
    for start, stop, sample in taken:
        size = stop - start
        if sample is None:
            chosen.append(np.arange(start, stop))
        elif sample:
            chosen.append(rng.choice(size, min(sample, size), replace=False) + start)
    queries = np.concatenate(chosen)
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
