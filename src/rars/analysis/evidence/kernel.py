"""The inner loop of the evidence study, compiled: every measure of every query, mask, weight and depth.

Owns: one pass over a query's positives in the order of their slots, in which groups of a depth are runs. With
P the mass of a group, K what is kept of it, R = sum K and Q = K / R:

TV              sum |P - Q| / 2
JS              (KL(P || M) + KL(Q || M)) / 2 with M = (P + Q) / 2, in nats
missing         sum of P over groups with nothing kept
coverage        withheld mass in groups with something kept, over all withheld mass; NaN if none is withheld
support         how many items of the catalogue are in groups with something kept
false           sum of P over parents with several relevant children, exactly one of which has something kept
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rars.analysis.kernels import shared_depth, sort_by_slot

TV, JS, MISSING, COVERAGE, SUPPORT, FALSE = range(6)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _depth(level: Any, n: Any, mass: Any, kept: Any, common: Any, size: Any, found: Any) -> None:
    """The measures of one depth; ``common[i]`` is how many codes positive i shares with the one before."""
    whole = withheld = 0.0
    for i in range(n):
        if kept[i]:
            whole += mass[i]
        else:
            withheld += mass[i]
    distance = divergence = missing = covered = support = false = 0.0
    group = held = lost = parent = 0.0
    some = False  # whether anything of the group is kept
    children = alive = 0  # of the parent: groups, and those with something kept
    for i in range(n + 1):
        closes = i == n or (i > 0 and common[i] <= level)
        if closes:
            if some:
                q = held / whole
                distance += abs(group - q)
                middle = (group + q) / 2.0
                divergence += group * math.log(group / middle) + q * math.log(q / middle)
                covered += lost
                support += size[i - 1]
                alive += 1
            else:
                distance += group
                divergence += group * math.log(2.0)
                missing += group
            children += 1
            group = held = lost = 0.0
            some = False
            if i == n or common[i] < level:
                if children > 1 and alive == 1:
                    false += parent
                parent = 0.0
                children = alive = 0
        if i < n:
            group += mass[i]
            parent += mass[i]
            if kept[i]:
                held += mass[i]
                some = True
            else:
                lost += mass[i]
    found[TV] = distance / 2.0
    found[JS] = divergence / 2.0
    found[MISSING] = missing
    found[COVERAGE] = covered / withheld if withheld > 0.0 else math.nan
    found[SUPPORT] = support
    found[FALSE] = false


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def measured(
    slot: Any, start: Any, mass: Any, keep: Any, nodes: Any, sizes: Any, found: Any
) -> None:
    """Every measure under one assignment into ``found`` (queries, masks, weights, L + 1, 6).

    ``mass`` (weights, pairs) sums to one in each query; ``keep`` (masks, pairs); ``nodes`` and ``sizes``
    (slots, L) are the prefixes of a slot and how many items are below them. The last depth is the item's own.
    """
    depth = nodes.shape[1]
    n_weights, n_masks = len(mass), len(keep)
    longest = np.max(start[1:] - start[:-1])
    slots, place = np.empty(longest, np.int32), np.empty(longest)
    own, kept = np.empty(longest), np.empty(longest, np.bool_)
    common, size = np.zeros(longest, np.int64), np.empty((depth + 1, longest))
    size[depth] = 1.0
    for q in range(len(start) - 1):
        n = start[q + 1] - start[q]
        for i in range(n):
            slots[i] = slot[start[q] + i]
            place[i] = start[q] + i
        sort_by_slot(slots, place, n)
        for i in range(n):
            if i > 0:
                common[i] = shared_depth(nodes, slots[i - 1], slots[i])
            for level in range(depth):
                size[level, i] = sizes[slots[i], level]
        for m in range(n_masks):
            for i in range(n):
                kept[i] = keep[m, np.int64(place[i])]
            for w in range(n_weights):
                for i in range(n):
                    own[i] = mass[w, np.int64(place[i])]
                for level in range(depth + 1):
                    _depth(level, n, own, kept, common, size[level], found[q, m, w, level])
