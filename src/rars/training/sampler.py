"""What makes up each batch: a pure function of the seed and the epoch.

Owns: shuffling, and cutting an epoch into batches: of whole queries (bucketed by size, to a budget of pairs),
or of single (query, item) pairs, as the expectation of Eq. leaf is written. Nothing here has a state, so a
resumed run needs only its epoch and step to go on exactly. Ignores what is in a batch (``packing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rars.arrays import Ints
from rars.training.packing import Drawn, TrainingSet
from rars.tree.sorting import distinct

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
    at_most: int | None = None,
    batching: str = "queries",
) -> list[Drawn]:
    """The batches of one epoch, of about ``pairs`` relevant pairs and no fewer than ``at_least`` queries.

    ``at_most``   so many batches, drawn from all; ``None``: all
    ``batching``  ``queries``: whole queries; ``pairs``: drawn pairs, every pair once an epoch
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
    if batching == "pairs":
        return _of_pairs(data, queries, pairs, at_least, rng)[:at_most]
    rng.shuffle(queries)
    queries = _bucketed(queries, data, pairs)
    count = data.n_pairs[queries]
    number = ((np.cumsum(count) - count) // pairs).astype(np.int64)
    cut = np.flatnonzero(np.diff(number)) + 1
    found = _merged(np.split(queries, cut), at_least)
    return [Drawn(found[index]) for index in rng.permutation(len(found))[:at_most]]


def _of_pairs(
    data: TrainingSet, queries: Ints, pairs: int, at_least: int, rng: np.random.Generator
) -> list[Drawn]:
    """All pairs of the queries in random order, cut into parts as equal as can be."""
    taken = np.zeros(len(data), dtype=bool)
    taken[queries] = True
    every = rng.permutation(np.flatnonzero(taken[data.pairs.query]))
    parts = np.array_split(every, max(1, round(len(every) / pairs)))
    found: list[Drawn] = []
    for index in range(len(parts)):
        drawn = np.sort(parts[index])
        present = distinct(data.pairs.query[drawn])
        if len(present) < at_least and index + 1 < len(parts):
            parts[index + 1] = np.concatenate([drawn, parts[index + 1]])
        elif len(present) < at_least and found:
            before = found.pop().pairs
            assert before is not None
            drawn = np.sort(np.concatenate([before, drawn]))
            found.append(Drawn(distinct(data.pairs.query[drawn]), drawn))
        else:
            found.append(Drawn(present, drawn))
    return found


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
