"""What a view keeps: rows, judgments, splits. The mathematics behind the methods of ``Dataset``.

Owns: checking what a user asks a view to keep, renumbering judgments, and the subsample of judgments. Ignores
texts and where tables are. Nothing here costs more than the judgments and the ids.

Subsample of the judgments J_q of query q: a seeded random order of J_q in which the first ``at_least``
positives are moved to the front; kept are the first max(round(share |J_q|), those positives). A smaller share
keeps a beginning of the same order, so it is a subset of a larger one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Bools
from rars.data.columns import SPLIT_NAMES
from rars.data.judgments import Ints, Judgments
from rars.data.problems import quoted
from rars.data.schema import SPLITS
from rars.errors import RarsError


def rows_of(chosen: npt.ArrayLike, count: int, what: str) -> npt.NDArray[np.int64]:
    """Row numbers in order, from row numbers or a mask of ``count``.

    >>> rows_of([2, 0], 3, "items").tolist(), rows_of([True, False, True], 3, "items").tolist()
    ([0, 2], [0, 2])
    """
    given = np.asarray(chosen)
    if given.ndim != 1:
        raise RarsError(f"The {what} of a view are row numbers or a mask, not {given.ndim}-D.")
    if given.dtype == bool:
        if len(given) != count:
            raise RarsError(f"The mask has {len(given)} values, but there are {count} {what}.")
        return np.flatnonzero(given)
    if not len(given):
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(given.dtype, np.integer):
        raise RarsError(f"The {what} of a view are row numbers or a mask, not {given.dtype}.")
    rows = np.sort(given).astype(np.int64)
    if rows[0] < 0 or rows[-1] >= count:
        wrong = rows[0] if rows[0] < 0 else rows[-1]
        raise RarsError(f"There is no row {wrong} among {count} {what}, counted from 0.")
    twice = np.flatnonzero(rows[1:] == rows[:-1])
    if len(twice):
        raise RarsError(f"Row {rows[twice[0]]} of the {what} is chosen twice.")
    return rows


def without_queries(judgments: Judgments, rows: npt.NDArray[np.int64], count: int) -> Judgments:
    """The judgments of the queries in ``rows``, renumbered."""
    place = _places(rows, count)
    kept = judgments.where(place[judgments.query] >= 0)
    return Judgments(place[kept.query], kept.item, kept.grade)


def without_items(judgments: Judgments, rows: npt.NDArray[np.int64], count: int) -> Judgments:
    """The judgments of the items in ``rows``, renumbered."""
    place = _places(rows, count)
    kept = judgments.where(place[judgments.item] >= 0)
    return Judgments(kept.query, place[kept.item], kept.grade)


def checked_judgments(judgments: Judgments, n_queries: int, n_items: int) -> Judgments:
    """Judgments in order, each pair once, if they are of so many queries and items."""
    for what, found, count in (
        ("query", judgments.query, n_queries),
        ("item", judgments.item, n_items),
    ):
        if len(found) != len(judgments.grade):
            raise RarsError(
                f"There are {len(found)} {what} rows for {len(judgments.grade)} grades."
            )
        outside = np.flatnonzero((found < 0) | (found >= count))
        if len(outside):
            at = int(outside[0])
            raise RarsError(f"Judgment {at + 1} is of {what} row {found[at]}; there are {count}.")
    wrong = np.flatnonzero(~np.isfinite(judgments.grade) | (judgments.grade < 0))
    if len(wrong):
        at = int(wrong[0])
        raise RarsError(f"Judgment {at + 1} has the grade {judgments.grade[at]:g}.")
    return Judgments.merged(judgments.query, judgments.item, judgments.grade)


def subsample(
    judgments: Judgments, positive: Bools, share: float, seed: int, at_least: int, thinned: Bools
) -> Bools:
    """Which judgments stay; those that ``thinned`` does not mark all do."""
    if not 0 <= share <= 1:
        raise RarsError(f"share {share} is not between 0 and 1.")
    if at_least < 0:
        raise RarsError(f"at_least {at_least} is negative.")
    query = judgments.query
    # Drawn for every judgment, so that what is thinned does not change the order of the rest.
    chance = np.random.default_rng(seed).random(len(query))
    first = _rank(query, ~positive, chance)
    forced = positive & (first < at_least)
    rank = _rank(query, ~forced, chance)
    count = np.bincount(query) if len(query) else np.zeros(0, dtype=np.int64)
    kept = np.floor(share * count + 0.5)
    return np.asarray(~thinned | forced | (rank < kept[query]), dtype=bool)


def split_of(
    split: npt.ArrayLike | Mapping[str, str], query_ids: pa.Array, known: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """Each query's index into ``SPLITS``: from names or indices for all, or from names for some ids."""
    if isinstance(split, Mapping):
        made = known.copy()
        ids = list(split)
        found = pc.index_in(pa.array(ids, pa.string()), query_ids)
        if found.null_count:
            unknown = ids[int(np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))[0])]
            raise RarsError(f"The split names the query {quoted(unknown)}, which is not there.")
        names = np.array([_split(name) for name in split.values()], dtype=np.int8)
        made[found.to_numpy(zero_copy_only=False)] = names
        return made
    given = np.asarray(split)
    if given.shape != known.shape:
        raise RarsError(f"The split has {len(given)} values, but there are {len(known)} queries.")
    if np.issubdtype(given.dtype, np.integer):
        wrong = np.flatnonzero((given < 0) | (given >= len(SPLITS)))
        if len(wrong):
            raise RarsError(f"{given[wrong[0]]} is the index of no split; there are {len(SPLITS)}.")
        return given.astype(np.int8)
    names, code = np.unique(given.astype(str), return_inverse=True)
    return np.array([_split(name) for name in names.tolist()], dtype=np.int8)[code]


def _split(name: Any) -> int:
    ours = SPLIT_NAMES.get(str(name).strip().lower())
    if ours is None:
        raise RarsError(f"Unknown split {quoted(name)}; expected train, validation or test.")
    return SPLITS.index(ours)


def _places(rows: npt.NDArray[np.int64], count: int) -> Ints:
    """Where each of ``count`` rows is among the chosen ones, -1 where it is not."""
    place = np.full(count, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    return place


def _rank(query: Ints, later: Bools, chance: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Place of each judgment within its query, by ``later`` and then by chance."""
    order = np.lexsort((chance, later, query))
    start = np.searchsorted(query, query)  # judgments are sorted by query
    rank = np.empty(len(query), dtype=np.int64)
    rank[order] = np.arange(len(query))
    return rank - start
