"""The inner loops of the studies, compiled. Imported only by what is about to use them.

Owns: drawing reassigned identifiers, and entropies of queries on them. Ignores what is made of the numbers.

A slot is a place in the sorted order of all identifiers (``PrefixTree.order``); an assignment gives every
item a slot. A prefix is a range of slots, so sorting a query's slots puts the items of each prefix side by
side, and one pass closes the groups of all depths: with s the mass of a group and W the query's total,
H(Z_l) = log W - (1 / W) sum_groups s log s, and Delta_l = H(Z_l) - H(Z_{l-1}).

Only the slots of relevant items are drawn: the first steps of a Fisher-Yates shuffle of each group. Every
assignment is drawn from a state of its own, so results do not depend on how assignments are divided.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

_LONG = 48
"""Queries with more positives than this are sorted by quicksort, others by insertion."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def uniform(state: Any) -> Any:
    """The next state of a SplitMix64 generator, and a number in [0, 1) of 53 bits."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def draw_slots(pool: Any, begin: Any, end: Any, state: Any, slot: Any) -> None:
    """A slot for each wanted item from what is left of its group: ``pool[begin : end]``, changed here."""
    state = np.uint64(state)
    for i in range(len(begin)):
        state, u = uniform(state)
        at = begin[i]
        j = at + np.int64(u * (end[i] - at))
        found = pool[j]
        pool[j] = pool[at]
        pool[at] = found
        slot[i] = found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _plogp(mass: Any, table: Any) -> Any:
    return table[np.int64(mass)] if len(table) else mass * math.log(mass)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sort_by_slot(slot: Any, weight: Any, n: Any) -> None:
    """Sort the first ``n`` slots, weights with them."""
    if n > _LONG:
        order = np.argsort(slot[:n])
        slot[:n] = slot[:n][order]
        weight[:n] = weight[:n][order]
        return
    for i in range(1, n):
        key, own = slot[i], weight[i]
        j = i - 1
        while j >= 0 and slot[j] > key:
            slot[j + 1] = slot[j]
            weight[j + 1] = weight[j]
            j -= 1
        slot[j + 1] = key
        weight[j + 1] = own


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shared_depth(nodes: Any, one: Any, other: Any) -> Any:
    """How many codes the identifiers of two slots have in common."""
    depth = nodes.shape[1]
    common = 0
    while common < depth and nodes[one, common] == nodes[other, common]:
        common += 1
    return common


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _entropies(
    slot: Any, weight: Any, n: Any, nodes: Any, table: Any, open_: Any, found: Any
) -> None:
    """H(Z_l) of one query for l = 1..L into ``found``; its slots are sorted here."""
    depth = nodes.shape[1]
    sort_by_slot(slot, weight, n)
    whole = 0.0
    for i in range(n):
        whole += weight[i]
    for level in range(depth):
        open_[level] = weight[0]
        found[level] = 0.0
    split = depth  # the depth of the first branching: above it there is one group, of entropy 0
    for i in range(1, n):
        common = shared_depth(nodes, slot[i - 1], slot[i])
        split = min(split, common)
        for level in range(depth):
            if level >= common:
                found[level] += _plogp(open_[level], table)
                open_[level] = weight[i]
            else:
                open_[level] += weight[i]
    for level in range(depth):
        if level < split:
            found[level] = 0.0
        else:
            found[level] += _plogp(open_[level], table)
            found[level] = math.log(whole) - found[level] / whole


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def entropies(slot: Any, weight: Any, start: Any, nodes: Any, table: Any) -> Any:
    """(queries, L) H(Z_l) of every query under one assignment; ``slot`` and ``weight`` are (pairs,)."""
    depth = nodes.shape[1]
    found = np.empty((len(start) - 1, depth))
    longest = np.max(start[1:] - start[:-1])
    slots, weights = np.empty(longest, np.int32), np.empty(longest)
    open_ = np.empty(depth)
    for q in range(len(start) - 1):
        n = start[q + 1] - start[q]
        for i in range(n):
            slots[i] = slot[start[q] + i]
            weights[i] = weight[start[q] + i]
        _entropies(slots, weights, n, nodes, table, open_, found[q])
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def reassigned(
    base: Any,
    begin: Any,
    end: Any,
    states: Any,
    member: Any,
    weight: Any,
    start: Any,
    nodes: Any,
    table: Any,
) -> Any:
    """Sums over queries under each of many assignments: (assignments, L + 2).

    The columns are Delta_1..Delta_L over all queries, tau over those with positive entropy, and how many
    those are. ``member`` (pairs,) says which wanted item a pair is.
    """
    depth = nodes.shape[1]
    sums = np.zeros((len(states), depth + 2))
    longest = np.max(start[1:] - start[:-1])
    slots, weights = np.empty(longest, np.int32), np.empty(longest)
    open_, found = np.empty(depth), np.empty(depth)
    slot = np.empty(len(begin), np.int32)
    pool = np.empty_like(base)
    for a in range(len(states)):
        pool[:] = base
        draw_slots(pool, begin, end, states[a], slot)
        for q in range(len(start) - 1):
            n = start[q + 1] - start[q]
            if n < 2:
                continue
            for i in range(n):
                slots[i] = slot[member[start[q] + i]]
                weights[i] = weight[start[q] + i]
            _entropies(slots, weights, n, nodes, table, open_, found)
            before = 0.0
            inner = 0.0
            for level in range(depth):
                sums[a, level] += found[level] - before
                before = found[level]
                if level < depth - 1:
                    inner += found[level]
            if found[depth - 1] > 0.0:
                sums[a, depth] += depth - inner / found[depth - 1]
                sums[a, depth + 1] += 1.0
    return sums


def plogp_table(weights: npt.NDArray[np.float64], largest: float) -> npt.NDArray[np.float64]:
    """S log s of every whole number up to ``largest``; empty where weights are not whole or too large."""
    if largest > 1 << 20 or not (weights == np.floor(weights)).all():
        return np.empty(0)
    numbers = np.arange(int(largest) + 1, dtype=np.float64)
    return numbers * np.log(np.maximum(numbers, 1.0))
