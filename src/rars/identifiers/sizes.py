"""Code sizes for a catalogue: how wide the branches of its tree would be, had it the paper's shape.

Owns: scaling the paper's branching to another number of items. Ignores what the items are.

On 288,372 products the paper's tree of four codes offers 5.5 / 3.5 / 1.86 / 0.31 nats of choice on the way
down (mean log of legal children; 4 x 256 codes, most of which no prefix below the first uses). A catalogue
of ``n`` items has ``log n`` nats in all, so each depth gets its share of those. The same 4 x 256 over ten
thousand items would spend nearly everything on the first two codes and leave nothing to divide below.
"""

from __future__ import annotations

import math

from rars.errors import RarsError

_NATS = (5.5, 3.5, 1.86, 0.31)
_ITEMS = 288_372
_SMALLEST = 4


def proposed_sizes(items: int) -> tuple[int, int, int, int]:
    """Powers of two for four codes whose branches are, for so many items, as wide as the paper's.

    The first code gets its share of nats; the others are all as large as the second needs, because deeper
    branches are narrow for want of items, not of codes.

    >>> proposed_sizes(10_000)
    (64, 16, 16, 16)
    """
    if items < 1:
        raise RarsError(f"A catalogue of {items} items has no identifiers.")
    share = math.log(items) / math.log(_ITEMS)
    first, second = (_power(share * nats) for nats in _NATS[:2])
    return first, second, second, second


def _power(nats: float) -> int:
    """The power of two nearest to so many nats, at least a few codes."""
    power: int = 2 ** round(nats / math.log(2))
    return max(_SMALLEST, power)
