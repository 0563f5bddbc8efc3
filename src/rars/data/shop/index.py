"""Which items meet a condition, as bits that are kept.

Owns: for a leaf and a condition, one bit per item of the leaf (in the order of ``Facts.rows_of``), made by
one pass over that leaf and kept while there is room; and the exact items and substitutes of a query by
operations on these bits. With conditions c_1 .. c_n,

    exact = c_1 & .. & c_n        substitutes = OR over i of (not c_i) & AND over j != i of c_j

so a query over ten million items touches a few hundred kilobytes. Ignores grades' meaning and sampling.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rars.data.shop.facts import Facts, Rows
from rars.data.shop.intents import Condition, Intent
from rars.data.shop.meeting import meets

Bits = npt.NDArray[np.uint8]

ROOM = 256 * 2**20
"""Bytes of bits that are kept; the longest unused go first."""


class Index:
    """The bits of a catalogue's facts.

    >>> from rars.data.shop.facts import make_facts
    >>> facts = make_facts(0, 0, 500)
    >>> exact, substitutes = Index(facts).divided(Intent(int(facts.leaf[0]), ()))
    >>> bool((exact == facts.rows_of(int(facts.leaf[0]))).all()), len(substitutes)
    (True, 0)
    """

    def __init__(self, facts: Facts, room: int = ROOM) -> None:
        self.facts = facts
        self._room = room
        self._held = 0
        self._bits: OrderedDict[tuple[int, Condition], Bits] = OrderedDict()

    def divided(self, intent: Intent) -> tuple[Rows, Rows]:
        """The items of the query's leaf that meet all conditions, and those that miss exactly one."""
        rows = self.facts.rows_of(intent.leaf)
        if not intent.conditions:
            return rows, rows[:0]
        none = np.full(
            (len(rows) + 7) // 8, 255, dtype=np.uint8
        )  # bits of items that missed none so far
        one = np.zeros_like(none)
        for condition in intent.conditions:
            met = self._met(intent.leaf, condition)
            one = (one & met) | (none & ~met)
            none = none & met
        return self._rows(rows, none), self._rows(rows, one)

    def meeting(self, leaf: int, condition: Condition) -> Rows:
        """The items of a leaf that meet a condition."""
        return self._rows(self.facts.rows_of(leaf), self._met(leaf, condition))

    def _rows(self, rows: Rows, bits: Bits) -> Rows:
        found: Rows = rows[np.flatnonzero(np.unpackbits(bits, count=len(rows)))]
        return found

    def _met(self, leaf: int, condition: Condition) -> Bits:
        if condition.kind == "product":
            # A product is hardly ever asked for twice: its bits are not worth their room.
            return np.packbits(self._roots(leaf) == condition.target)
        place = (leaf, condition)
        found = self._bits.get(place)
        if found is None:
            rows = self.facts.rows_of(leaf)
            found = self._bits[place] = np.packbits(meets(condition, leaf, self.facts, rows))
            self._held += found.nbytes
            while self._held > self._room and len(self._bits) > 1:
                self._held -= self._bits.popitem(last=False)[1].nbytes
        self._bits.move_to_end(place)
        return found

    def _roots(self, leaf: int) -> Rows:
        start, stop = self.facts.range_of(leaf)
        return self._sorted_roots[start:stop]

    @cached_property
    def _sorted_roots(self) -> Rows:
        """Roots in the order of leaves: one product is then looked for in one stretch of memory."""
        found: Rows = self.facts.root[self.facts.by_leaf]
        return found
