"""The last codes of items that are added to identifiers already given.

Owns: choosing last codes one item after the other, in the order given, against what is taken. Items under
different prefixes do not compete, so each round takes the next item of every prefix at once: the result is
that of one item after the other, and ten items give what ten calls with one item give. Ignores vectors.

Shapes: codes (n, depth); costs (m, K) of every one of the K last codes for m items. A parent is a prefix, an
identifier without its last code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Codes, Longs
from rars.identifiers.keys import grouped, row_keys
from rars.identifiers.quantizer import Distances

Full = Literal["nearest", "emptiest", "refuse"]
"""Where no code under a prefix has room: share the nearest, share the emptiest, or give none."""

_CELLS = 2**22
_LAST = float(np.finfo(np.float64).max)


def settle(
    kept: Codes,
    moving: Codes,
    costs_of: Callable[[Longs], Distances],
    *,
    limit: int,
    full: Full,
) -> npt.NDArray[np.int32]:
    """(m,): the last code of each of ``moving`` (m, depth): the cheapest with fewer than ``limit`` holders.

    ``kept`` (n, depth) are the codes already given. ``costs_of`` gives for rows of ``moving`` (r,) the costs
    (r, K), inf for codes without a codeword (used last, lowest number first). An item's own last code comes
    first whatever its cost; a negative one says it has none. The result is -1 where an item was refused.
    """
    chosen = np.empty(len(moving), dtype=np.int32)
    if not len(moving):
        return chosen
    kept = kept[_beside(kept[:, :-1], moving[:, :-1])]
    parents = row_keys(np.concatenate([kept[:, :-1], moving[:, :-1]]))
    groups = grouped(parents[len(kept) :])
    names = parents[len(kept) :][groups.order[groups.starts]]
    at, last = _holders(parents[: len(kept)], kept[:, -1], names)
    width = costs_of(np.zeros(0, dtype=np.int64)).shape[1]
    for first, stop in _spans(groups.counts, max(1, _CELLS // width)):
        end = groups.starts[stop - 1] + groups.counts[stop - 1]
        rows = groups.order[groups.starts[first] : end]
        here = slice(*np.searchsorted(at, [first, stop]))
        taken = np.zeros((stop - first, width), dtype=np.int64)
        np.add.at(taken, (at[here] - first, last[here]), 1)
        costs = _ranked(costs_of(rows), moving[rows, -1])
        chosen[rows] = in_turn(groups.member[rows] - first, costs, taken, limit=limit, full=full)
    return chosen


def in_turn(
    member: Longs, costs: Distances, taken: Longs, *, limit: int, full: Full
) -> npt.NDArray[np.int32]:
    """(m,): the last codes of items that choose one after the other, each the cheapest with room.

    ``member`` (m,) is the parent of each item, ``costs`` (m, K); ``taken`` (parents, K) counts the holders of
    each code and is changed in place.
    """
    groups = grouped(member)
    longest = np.argsort(-groups.counts, kind="stable")
    starts, counts = groups.starts[longest], groups.counts[longest]
    chosen = np.empty(len(member), dtype=np.int32)
    for turn in range(int(counts[0])):
        rows = groups.order[starts[: np.searchsorted(-counts, -turn)] + turn]
        held = taken[member[rows]]
        open_ = held < limit
        choice = np.where(open_, costs[rows], np.inf).argmin(axis=1)
        crowded = ~open_.any(axis=1)
        if full == "nearest":
            choice[crowded] = costs[rows[crowded]].argmin(axis=1)
        elif full == "emptiest":
            choice[crowded] = held[crowded].argmin(axis=1)
        taken[member[rows], choice] += 1
        chosen[rows] = np.where(crowded & (full == "refuse"), -1, choice)
    return chosen


def _beside(kept: Codes, moving: Codes) -> Bools:
    """(n,): whether the first two codes of ``kept`` (n, l) are those of any row of ``moving`` (m, l).

    Nobody else is a sibling; of a large catalogue that leaves few to look at.
    """
    radix = int(max(kept.max(initial=0), moving.max(initial=0))) + 2  # -1 pads shorter ones
    if not kept.shape[1] or radix**2 > _CELLS:
        return np.ones(len(kept), dtype=bool)
    wanted = np.zeros((radix, radix), dtype=bool)
    wanted[moving[:, 0] + 1, moving[:, min(1, moving.shape[1] - 1)] + 1] = True
    found: Bools = wanted[kept[:, 0] + 1, kept[:, min(1, kept.shape[1] - 1)] + 1]
    return found


def _holders(parents: Longs, lasts: Codes, names: Longs) -> tuple[Longs, Codes]:
    """The h items already under ``names`` (parents, sorted): (h,) index into it, ascending; (h,) last code.

    ``parents`` (n,) and ``lasts`` (n,) are those of all items already given codes.
    """
    found = np.searchsorted(names, parents).clip(max=len(names) - 1)
    near = np.flatnonzero(names[found] == parents)
    near = near[np.argsort(found[near], kind="stable")]
    return found[near], lasts[near]


def _spans(counts: Longs, most: int) -> Iterator[tuple[int, int]]:
    """Ranges (first, stop) of parents with at most ``most`` items together; ``counts`` (parents,) items each.

    A parent with more items is a range of its own.
    """
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        before = ends[first] - counts[first]
        stop = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield first, stop
        first = stop


def _ranked(costs: Distances, own: Codes) -> Distances:
    """Costs (m, K) that put an item's own code first and codes without a codeword last; ``own`` (m,)."""
    costs = np.minimum(costs, _LAST)
    has = np.flatnonzero(own >= 0)
    costs[has, own[has]] = -1.0
    return costs
