"""Families: the same product offered again.

Owns: which items are copies of an earlier one, and what a copy changes. A position is a copy with probability
s, of a position drawn evenly among those before it; followed back, the chain ends at the product's first
offer, its *root*. So families grow in proportion to their size (Yule), a few are large and most items stand
alone, and yet every root is found from positions alone: no item needs the items before it.

A copy has the facts of its root but often another color, size or pack, and words of its own choice.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Longs
from rars.data.shop.draws import key, uniform_table, uniforms

OTHER_VALUE = 0.6
"""How often one of the facts of a copy differs from its root's."""
OWN_WORDS = 0.3
"""How often a copy chooses its own words where its root has chosen."""


def roots(seed: int, positions: Longs, share: float) -> Longs:
    """The first offer of the product at each position.

    >>> found = roots(0, np.arange(1000), 0.5)
    >>> bool((found <= np.arange(1000)).all()), bool((roots(0, found, 0.5) == found).all())
    (True, True)
    """
    found = positions.astype(np.int64)
    open_ = np.arange(len(found)) if share > 0 else np.arange(0)
    while len(open_):
        at = found[open_]
        copied = (uniforms(key(seed, "copy"), at) < share) & (at > 0)
        open_, at = open_[copied], at[copied]
        found[open_] = (uniforms(key(seed, "copied"), at) * at).astype(np.int64)
    return found


def changed_slot(seed: int, positions: Longs, slots: int) -> Longs:
    """Which of the fields each copy changes, -1 if none."""
    draw = uniforms(key(seed, "changed"), positions)
    return np.where(draw < OTHER_VALUE, (draw / OTHER_VALUE * slots).astype(np.int64), -1)


def own_words(seed: int, positions: Longs, columns: int) -> Bools:
    """Which choices of words, (positions, columns), a copy makes for itself."""
    return uniform_table(_streams(seed, columns), positions) < OWN_WORDS


@cache
def _streams(seed: int, columns: int) -> npt.NDArray[np.uint64]:
    return np.array([key(seed, "own words", one) for one in range(columns)], dtype=np.uint64)
