"""How items that got the same identifier are told apart: the work behind the policies.

Owns: a whole catalogue at once, linear in the items: counting (``suffix``), spreading over free codes
(``repair``), moving what is too many (``cap``). Which policies there are, and new items against an existing
catalogue, are ``policies``' and ``placement``'s. ``repair`` and ``cap`` change only the last code, so an item
never leaves its prefix.

Shapes: ``codes`` (n, depth), n items in catalogue order, -1 after a shorter identifier (``suffix`` alone
takes such). The prefix of an item is its codes without the last; ``parents`` (n,) numbers the prefixes. K
(``width`` below) is the number of last codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rars.arrays import Bools, Codes, Longs
from rars.errors import RarsError
from rars.identifiers import placement
from rars.identifiers.keys import grouped, row_keys
from rars.identifiers.quantizer import Distances

DistancesOf = Callable[[Longs], Distances]
"""Rows of the catalogue (m,) -> squared distance to every last code under their prefix, (m, K)."""

_CELLS = 2**22
"""Distances held in memory at once."""


def suffix(
    codes: Codes, *, rank: Longs | None = None, most: int | None = None
) -> tuple[Codes, tuple[int, ...]]:
    """Codes (n, depth + 1), the one after an identifier's last being its place among those of the same codes.

    Also how many codes each depth needs for such places, (depth + 1,). Places are counted from 0 in the order
    of ``rank`` (n,) (left out: in catalogue order); beyond ``most`` items they begin anew, and items share.

    >>> longer, widths = suffix(np.array([[4], [7], [4]], dtype=np.int32))
    >>> longer.tolist(), widths
    ([[4, 0], [7, 0], [4, 1]], (0, 2))
    """
    keys = row_keys(codes)
    order = np.arange(len(codes)) if rank is None else np.argsort(rank, kind="stable")
    place = np.empty(len(codes), dtype=np.int32)
    place[order] = grouped(keys[order]).rank
    if most is not None:
        place %= most
    return joined(codes, place), _widths(codes, place)


def joined(prefixes: Codes, last: Codes) -> Codes:
    """Codes (n, depth + 1): each prefix (n, depth), -1 after a shorter one, followed by its ``last`` (n,)."""
    longer = np.column_stack([prefixes, np.full(len(prefixes), -1, dtype=np.int32)])
    longer[np.arange(len(longer)), lengths(prefixes)] = last
    return longer.astype(np.int32, copy=False)


def parted(codes: Codes) -> tuple[Codes, Codes]:
    """The inverse of ``joined``: prefixes (n, depth - 1) and the last code of each identifier, (n,)."""
    rows, at = np.arange(len(codes)), lengths(codes) - 1
    last = codes[rows, at]
    prefixes = np.array(codes)
    prefixes[rows, at] = -1
    return prefixes[:, :-1], last


def lengths(codes: Codes) -> Longs:
    """(n,): how many codes each identifier has."""
    return np.asarray((codes >= 0).sum(axis=1), dtype=np.int64)


def _widths(codes: Codes, place: Codes) -> tuple[int, ...]:
    widths = np.zeros(codes.shape[1] + 1, dtype=np.int64)
    np.maximum.at(widths, lengths(codes), place + 1)
    return tuple(widths.tolist())


def repair(
    codes: Codes, distances_of: DistancesOf, *, rounds: int = 20, epsilon: float = 0.003
) -> Codes:
    """Codes (n, depth), colliding items spread over free last codes of their prefix; never more collisions.

    In each round every colliding group is assigned at once: an item needs one code, a code takes one
    item, codes that other items hold take none, and codes left over cost nothing. Two groups of one
    prefix may choose the same code; the next round separates them. A prefix is done when a round leaves
    it no better, and then has no say in what follows: ``rows`` are the items of the others. ``crowd`` and
    ``active`` are (prefixes,).
    """
    codes = codes.copy()
    rows = np.arange(len(codes))
    prefixes = grouped(row_keys(codes[:, :-1]))
    parents, count = prefixes.member, len(prefixes.counts)
    crowd = _crowd(codes, parents, count)
    active = crowd > 0
    for _ in range(rounds):
        kept = active[parents]
        rows, parents = rows[kept], parents[kept]
        following = codes[rows]
        for members, taken in _colliding(codes[rows], parents, distances_of):
            costs = distances_of(rows[members].ravel()).reshape(*members.shape, -1)
            following[members, -1] = _spread(costs, taken, epsilon)
        left = _crowd(following, parents, count)
        better = active & (left < crowd)
        if not better.any():
            break
        settled = better[parents]
        codes[rows[settled]] = following[settled]
        crowd = np.where(better, left, crowd)
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


def _crowd(codes: Codes, parents: Longs, prefixes: int) -> Longs:
    """(prefixes,): how many items of each prefix share their identifier with another."""
    groups = grouped(row_keys(codes))
    shares = groups.counts[groups.member] > 1
    return np.bincount(parents[shares], minlength=prefixes)


def _colliding(
    codes: Codes, parents: Longs, distances_of: DistancesOf
) -> Iterator[tuple[Longs, Bools]]:
    """Groups of items that share an identifier; equal sizes together.

    Yields (g, members) rows of ``codes``, and (g, K) which last codes others hold under their prefix.
    """
    groups = grouped(row_keys(codes))
    width = _width(distances_of)
    first = groups.order[groups.starts]
    above, lasts = parents[first], codes[first, -1]  # ascending, as the groups are
    collides = groups.counts > 1
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

    from rars.identifiers.scaling import scale  # compiled where it is used first
    from rars.identifiers.sinkhorn import kernel_of

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
    plan = kernel_of(torch.from_numpy(np.concatenate([costs, idle], axis=1)), epsilon).numpy()
    scale(plan, rows, columns)
    # A plan may split a code between two items: in turn, each takes its best that is still free.
    likely = plan[:, :-1].reshape(-1, costs.shape[2])
    groups = np.repeat(np.arange(len(costs)), members)
    chosen = placement.in_turn(groups, -likely, taken.astype(np.int64), limit=1, full="nearest")
    return chosen.reshape(len(costs), members)


def _width(distances_of: DistancesOf) -> int:
    return int(distances_of(np.zeros(0, dtype=np.int64)).shape[1])
