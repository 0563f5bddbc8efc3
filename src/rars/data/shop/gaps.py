"""Gaps: fields that nobody filled in.

Owns: which items lack their description, brand or color, and which attributes are left out. An item's
attributes are more or less complete as a whole: item i leaves each of its own out with a probability of its
own, drawn evenly from 0 to ``ATTRIBUTES`` times the share. Ignores what the fields say.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Bools, Longs
from rars.data.shop.draws import key, uniforms

FIELDS = {"text": 1.0, "brand": 1.5, "color": 5.0}
"""How often a field is empty, in shares of ``Realism.empty``."""
ATTRIBUTES = 20.0
MOST_ATTRIBUTES = 64
"""More attributes than any item has: the stream of an entry is its place among them."""


def with_gaps(column: pa.Array, name: str, seed: int, start: int, share: float) -> pa.Array:
    """A column of consecutive items with some of its values missing."""
    if share == 0:
        return column
    draw = uniforms(key(seed, "gap", name), np.arange(start, start + len(column)))
    return pc.if_else(pa.array(draw < FIELDS[name] * share), pa.scalar(None, column.type), column)


def filled(seed: int, positions: Longs, entries: Longs, share: float) -> Bools:
    """Which attributes are there, by the positions of their items and their own among their item's."""
    if share == 0:
        return np.ones(len(positions), dtype=bool)
    careless = uniforms(key(seed, "careless"), positions) * min(1.0, ATTRIBUTES * share)
    return uniforms(key(seed, "gap"), positions * MOST_ATTRIBUTES + entries) >= careless
