"""Where single items go when others are already there.

Owns: choosing last codes one item after the other, in the order given, against what is taken. Items under
different prefixes do not meet, so each round takes the next item of every prefix at once: the result is
that of one item after the other, and ten items give what ten calls with one item give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from rars.arrays import Codes, Longs
from rars.identifiers.keys import grouped, row_keys
from rars.identifiers.quantizer import Distances

Full = Literal["nearest", "emptiest", "refuse"]
"""What an item does when no code under its prefix has room: join the nearest, the emptiest, or nobody."""

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
    """The last code of each moving item, (m,): the cheapest with fewer than ``limit`` holders.

    ``kept`` (n, depth) are the codes already given; ``costs_of`` gives for rows of ``moving`` the cost of
    every last code, inf for codes that mean nothing yet (used last, lowest number first). An item's own
    last code comes first whatever its cost; a negative one says it has none. -1 = refused.
    """
    chosen = np.empty(len(moving), dtype=np.int32)
    if not len(moving):
        return chosen
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
    """Let the items of each parent choose one after the other, each the cheapest code with room.

    ``member`` (m,) is the parent of each item, ``costs`` (m, codes), ``taken`` (parents, codes) counts
    who holds each code and goes on counting.
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


def _holders(parents: Longs, lasts: Codes, names: Longs) -> tuple[Longs, Codes]:
    """The items already under the named parents: which parent (ascending) and which last code."""
    found = np.searchsorted(names, parents).clip(max=len(names) - 1)
    near = np.flatnonzero(names[found] == parents)
    near = near[np.argsort(found[near], kind="stable")]
    return found[near], lasts[near]


def _spans(counts: Longs, most: int) -> Iterator[tuple[int, int]]:
    """Consecutive parents with at most ``most`` items together (a larger parent goes alone)."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        before = ends[first] - counts[first]
        stop = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield first, stop
        first = stop


def _ranked(costs: Distances, own: Codes) -> Distances:
    """Costs in the order they are to be tried: the own code first, codes without meaning last."""
    costs = np.minimum(costs, _LAST)
    has = np.flatnonzero(own >= 0)
    costs[has, own[has]] = -1.0
    return costs
