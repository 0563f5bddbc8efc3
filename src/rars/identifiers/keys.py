"""Rows of codes as single numbers, and items grouped by them.

Owns: equality of identifiers and of prefixes, for any depth and codebook size. Ignores what codes mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rars.arrays import Codes, Longs

_ROOM = 2**62


def row_keys(codes: Codes) -> Longs:
    """One number per row; two rows have the same number exactly when they are equal.

    >>> keys = row_keys(np.array([[1, 2], [1, 3], [1, 2]], dtype=np.int32))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    keys = np.zeros(len(codes), dtype=np.int64)
    if not codes.size:
        return keys
    highest = 0
    for column in codes.T:
        radix = int(column.max()) + 2  # -1 pads a shorter identifier and must not look like code 0
        if (highest + 1) * radix >= _ROOM:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            highest = int(keys.max())
        keys = keys * radix + (column.astype(np.int64) + 1)
        highest = (highest + 1) * radix
    return keys


@dataclass(frozen=True)
class Groups:
    """Rows grouped by key: group g holds ``order[starts[g] : starts[g] + counts[g]]``, ascending.

    ``member`` is the group of each row, ``rank`` its place inside the group, both in row order.
    """

    order: Longs
    starts: Longs
    counts: Longs
    member: Longs
    rank: Longs


def grouped(keys: Longs) -> Groups:
    """Group rows by key; groups come in ascending key order.

    >>> groups = grouped(np.array([7, 3, 7]))
    >>> groups.counts.tolist(), groups.rank.tolist()
    ([1, 2], [0, 0, 1])
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(keys)))
    member, rank = np.empty_like(order), np.empty_like(order)
    member[order] = np.cumsum(new) - 1
    rank[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return Groups(order, starts, counts, member, rank)


def distinct(codes: Codes) -> int:
    """How many different identifiers there are."""
    return len(np.unique(row_keys(codes)))


def sharing(codes: Codes) -> int:
    """How many items do not have their identifier for themselves."""
    counts = grouped(row_keys(codes)).counts
    return int(counts[counts > 1].sum())
