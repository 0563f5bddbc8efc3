"""What happens when items get the same identifier: four named policies, all linear in the items.

=======  ============================================================================================
share    they share it; a search result expands to all of them in catalogue order
suffix   one more code tells them apart, counted from 0 in catalogue order; as many codes as are needed
repair   up to 20 rounds: colliding items spread over the free last codes of their prefix, at the least
         total distance (Sinkhorn); what still collides shares
cap      at most n items per identifier: the n nearest stay, the others move to the nearest last code
         of their prefix that has room
=======  ============================================================================================

Owns: a whole catalogue at once. New items against an existing catalogue are ``placement``'s. Only the last
code ever changes, so an item never leaves its prefix.

Shapes: ``codes`` (n, depth), n items in catalogue order. The prefix of an item is its codes without the last;
``parents`` (n,) numbers the prefixes. K (``width`` below) is the number of last codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rars.arrays import Bools, Codes, Longs
from rars.config import Policy
from rars.errors import RarsError
from rars.identifiers import placement
from rars.identifiers.keys import grouped, row_keys, sharing
from rars.identifiers.quantizer import Distances

DistancesOf = Callable[[Longs], Distances]
"""Rows of the catalogue (m,) -> squared distance to every last code under their prefix, (m, K)."""

_CELLS = 2**22
"""Distances held in memory at once."""


@dataclass(frozen=True)
class Resolution:
    """Codes after a policy, with how many items shared their identifier before and share it now."""

    codes: Codes
    sizes: tuple[int, ...]
    before: int
    after: int
    moved: int
    """Items whose last code changed."""


def resolve(
    policy: Policy,
    codes: Codes,
    sizes: tuple[int, ...],
    distances_of: DistancesOf,
    *,
    limit: int = 5,
) -> Resolution:
    """Apply a named policy to a catalogue's codes (n, depth)."""
    before = sharing(codes)
    match policy:
        case "share":
            resolved = codes
        case "suffix":
            resolved, width = suffix(codes)
            return Resolution(resolved, (*sizes, width), before, 0, 0)
        case "repair":
            resolved = repair(codes, distances_of)
        case "cap":
            resolved = cap(codes, distances_of, limit)
    moved = int((resolved[:, -1] != codes[:, -1]).sum())
    return Resolution(resolved, sizes, before, sharing(resolved), moved)


def suffix(codes: Codes) -> tuple[Codes, int]:
    """Codes (n, depth + 1), the last an item's place among those of the same codes; and how many places.

    >>> longer, width = suffix(np.array([[4], [7], [4]], dtype=np.int32))
    >>> longer.tolist(), width
    ([[4, 0], [7, 0], [4, 1]], 2)
    """
    groups = grouped(row_keys(codes))
    width = int(groups.counts.max(initial=1))
    return np.column_stack([codes, groups.rank.astype(np.int32)]), width


def repair(
    codes: Codes, distances_of: DistancesOf, *, rounds: int = 20, epsilon: float = 0.003
) -> Codes:
    """Codes (n, depth), colliding items spread over free last codes of their prefix; never more collisions.

    In each round every colliding group is assigned at once: an item needs one code, a code takes one
    item, codes that other items hold take none, and codes left over cost nothing. Two groups of one
    prefix may choose the same code; the next round separates them. A prefix is done when a round leaves
    it no better. ``crowd`` and ``active`` are (prefixes,).
    """
    parents = grouped(row_keys(codes[:, :-1])).member
    crowd = _crowd(codes, parents)
    active = crowd > 0
    for _ in range(rounds):
        following = codes.copy()
        for members, taken in _colliding(codes, parents, active, distances_of):
            costs = distances_of(members.ravel()).reshape(*members.shape, -1)
            following[members, -1] = _spread(costs, taken, epsilon)
        left = _crowd(following, parents)
        better = left < crowd
        if not better.any():
            break
        codes = np.where(better[parents, None], following, codes)
        crowd = np.minimum(left, crowd)
        active = better & (crowd > 0)
    return codes


def cap(codes: Codes, distances_of: DistancesOf, limit: int) -> Codes:
    """Codes (n, depth): each identifier keeps its ``limit`` nearest items, the others move to free codes."""
    groups = grouped(row_keys(codes))
    crowded = np.flatnonzero(groups.counts[groups.member] > limit)
    if not len(crowded):
        return codes
    own = _own_distances(codes, crowded, distances_of)
    order = np.lexsort((crowded, own, groups.member[crowded]))
    excess = order[grouped(groups.member[crowded][order]).rank >= limit]
    moving = crowded[excess[np.lexsort((crowded[excess], own[excess]))]]
    kept = np.delete(codes, moving, axis=0)
    chosen = placement.settle(
        kept, codes[moving], lambda rows: distances_of(moving[rows]), limit=limit, full="refuse"
    )
    if (chosen < 0).any():
        prefix = codes[moving[chosen.argmin()], :-1].tolist()
        raise RarsError(
            f"More items begin with the codes {prefix} than a cap of {limit} has room for; "
            "raise the cap or the codebook sizes."
        )
    resolved = codes.copy()
    resolved[moving, -1] = chosen
    return resolved


def _own_distances(codes: Codes, rows: Longs, distances_of: DistancesOf) -> Distances:
    """(m,): the squared distance of each item of ``rows`` (m,) to the codeword it has."""
    parts = np.array_split(rows, 1 + len(rows) * _width(distances_of) // _CELLS)
    own = [distances_of(part)[np.arange(len(part)), codes[part, -1]] for part in parts]
    return np.concatenate(own)


def _crowd(codes: Codes, parents: Longs) -> Longs:
    """(prefixes,): how many items of each prefix share their identifier with another."""
    groups = grouped(row_keys(codes))
    shares = groups.counts[groups.member] > 1
    return np.bincount(parents[shares], minlength=int(parents.max(initial=-1)) + 1)


def _colliding(
    codes: Codes, parents: Longs, active: Bools, distances_of: DistancesOf
) -> Iterator[tuple[Longs, Bools]]:
    """Groups of items that share an identifier, under prefixes that are ``active``; equal sizes together.

    Yields (g, members) rows of the catalogue, and (g, K) which last codes others hold under their prefix.
    """
    groups = grouped(row_keys(codes))
    width = _width(distances_of)
    first = groups.order[groups.starts]
    above, lasts = parents[first], codes[first, -1]  # ascending, as the groups are
    collides = (groups.counts > 1) & active[above]
    for count in np.unique(groups.counts[collides]):
        same = np.flatnonzero(collides & (groups.counts == count))
        for part in np.array_split(same, 1 + len(same) * int(count) * width // _CELLS):
            members = groups.order[groups.starts[part][:, None] + np.arange(count)]
            yield members, _taken(above, lasts, part, width)


def _taken(parents: Longs, lasts: Codes, picked: Longs, width: int) -> Bools:
    """(picked, K): which last codes the other identifiers under the same prefix hold.

    ``parents`` (i,) are the identifiers' prefixes, sorted, ``lasts`` (i,) their last codes; ``picked``
    indexes both.
    """
    low = np.searchsorted(parents, parents[picked], side="left")
    counts = np.searchsorted(parents, parents[picked], side="right") - low
    row = np.repeat(np.arange(len(picked)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    taken = np.zeros((len(picked), width), dtype=bool)
    taken[row, lasts[low[row] + within]] = True
    taken[np.arange(len(picked)), lasts[picked]] = False
    return taken


def _spread(costs: Distances, taken: Bools, epsilon: float) -> Codes:
    """Last codes (g, members) for costs (g, members, K) and ``taken`` (g, K), by one balanced assignment."""
    import torch

    from rars.identifiers.sinkhorn import sinkhorn

    members = costs.shape[1]
    costs = np.where(taken[:, None, :], np.inf, costs)
    # One more row takes the codes that are left over; its constant cost favours none of them.
    lowest = costs.min(axis=(1, 2), keepdims=True)
    idle = np.where(taken[:, None, :], np.inf, lowest)
    free = (~taken).sum(axis=1)
    each = np.maximum(1.0, members / free)
    rows = np.ones((len(costs), members + 1))
    rows[:, -1] = np.maximum(free * each - members, 0)
    columns = np.where(taken, 0.0, each[:, None])
    plan = sinkhorn(
        torch.from_numpy(np.concatenate([costs, idle], axis=1)),
        epsilon=epsilon,
        rows=torch.from_numpy(rows),
        columns=torch.from_numpy(columns),
    )
    # A plan may split a code between two items: in turn, each takes its best that is still free.
    likely = plan[:, :-1].reshape(-1, costs.shape[2]).numpy()
    groups = np.repeat(np.arange(len(costs)), members)
    chosen = placement.in_turn(groups, -likely, taken.astype(np.int64), limit=1, full="nearest")
    return chosen.reshape(len(costs), members)


def _width(distances_of: DistancesOf) -> int:
    return int(distances_of(np.zeros(0, dtype=np.int64)).shape[1])
