"""Grades follow from the facts.

Owns: the rule. An item of the query's leaf is Exact (3) if it meets every condition and a Substitute (2)
if it misses exactly one; an item of a declared complementary leaf is a Complement (1), but if the query
names a device and the item belongs to a device of that family, it must be the same device. Everything
else is Irrelevant (0). Also: which of the truth is kept, and which items are judged. Ignores words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.data.shop.draws import Draw
from rars.data.shop.facts import Facts, Rows
from rars.data.shop.index import Index
from rars.data.shop.intents import Condition, Intent
from rars.data.shop.meeting import meets
from rars.data.shop.world import world

EXACT, SUBSTITUTE, COMPLEMENT, IRRELEVANT = 3, 2, 1, 0

MOST_TRUTH = 1000
"""Positives kept per query in the truth table; of more, a fixed random part is kept."""
MOST_COMPLEMENTS = 100
LEAST_SUBSTITUTES = 300

Grades = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Graded:
    """Items and their grades, both (items,)."""

    rows: Rows
    grades: Grades

    def of(self, grade: int) -> Rows:
        """The items of one grade."""
        found: Rows = self.rows[self.grades == grade]
        return found

    @staticmethod
    def joined(*groups: tuple[Rows, int]) -> Graded:
        """Groups of items, each of one grade."""
        rows = np.concatenate([rows for rows, _ in groups])
        grades = np.repeat([grade for _, grade in groups], [len(rows) for rows, _ in groups])
        return Graded(rows.astype(np.int32), grades.astype(np.int8))


@dataclass(frozen=True, eq=False)
class Query:
    """A text, what it means, and the positives that are known of it."""

    text: str
    intent: Intent
    known: Graded


Pool = Callable[[int], Graded]
"""So many exact items and substitutes of a query."""


def grade(intent: Intent, facts: Facts, rows: Rows) -> Grades:
    """The grade of each of these items for a query."""
    grades = np.zeros(len(rows), dtype=np.int8)
    leaves = facts.leaf[rows]
    own = leaves == intent.leaf
    missed = misses(intent, facts, rows[own])
    grades[own] = np.select([missed == 0, missed == 1], [EXACT, SUBSTITUTE], IRRELEVANT)
    for leaf in world().leaves[intent.leaf].complements:
        beside = leaves == leaf
        device = _wanted_device(intent, leaf)
        right = True if device is None else meets(device, leaf, facts, rows[beside])
        grades[beside] = np.where(right, COMPLEMENT, 0)
    return grades


def misses(intent: Intent, facts: Facts, rows: Rows) -> npt.NDArray[np.int8]:
    """How many conditions each of these items of the query's leaf misses."""
    missed = np.zeros(len(rows), dtype=np.int8)
    for condition in intent.conditions:
        missed += ~meets(condition, intent.leaf, facts, rows)
    return missed


def truth(intent: Intent, index: Index, draw: Draw) -> Graded:
    """The positives of a query, Exact first; the complements and, beyond 1,000, the rest are a sample."""
    exact, substitute = index.divided(intent)
    leaves = world().leaves[intent.leaf].complements
    beside = np.concatenate([_beside(intent, index, leaf) for leaf in leaves])
    beside = draw.some(beside, MOST_COMPLEMENTS)
    room = MOST_TRUTH - len(beside)
    substitute = draw.some(substitute, max(LEAST_SUBSTITUTES, room - len(exact)))
    exact = draw.some(exact, room - len(substitute))
    return Graded.joined((exact, EXACT), (substitute, SUBSTITUTE), (beside, COMPLEMENT))


def judge(
    query: Query,
    facts: Facts,
    draw: Draw,
    complements: float = 1.0,
    effort: float = 1.0,
    pool: Pool | None = None,
) -> Graded:
    """About 20 items of a query: some of its truth and, mostly near it, irrelevant ones.

    ``complements`` is the share of queries of which complements are judged, ``effort`` how many items are
    judged relative to the usual number (one exact item always is). ``pool`` says which items of the query's
    own leaf are judged; left out, they are drawn at random.
    """
    intent, known = query.intent, query.known

    def much(count: int, least: int = 0) -> int:
        return max(least, round(effort * count))

    size = much(18 + draw.below(5))
    if pool is None:
        exact = draw.some(known.of(EXACT), much(4 + draw.below(6), 1))
        # Where one grade is scarce the other fills in, so that most queries have 5 to 16 positives.
        fill = max(0, much(4) - len(exact))
        substitute = draw.some(known.of(SUBSTITUTE), much(3 + draw.below(4)) + fill)
        if len(substitute) < 3:
            exact = draw.some(known.of(EXACT), much(7 + draw.below(6), 1))
    else:
        own = pool(much(4 + draw.below(6), 1))
        exact, substitute = own.of(EXACT), own.of(SUBSTITUTE)
    beside = draw.some(known.of(COMPLEMENT), much(1 + draw.below(3)))
    if complements < 1 and len(exact) + len(substitute) > 1 and draw.chance(1 - complements):
        beside = beside[:0]
    positives = len(exact) + len(substitute) + len(beside)
    wrong = _irrelevant(intent, facts, max(2, size - positives), draw)
    return Graded.joined(
        (exact, EXACT), (substitute, SUBSTITUTE), (beside, COMPLEMENT), (wrong, IRRELEVANT)
    )


def _irrelevant(intent: Intent, facts: Facts, count: int, draw: Draw) -> Rows:
    """Half from the same leaf (two conditions missed), then from leaves beside it, then from anywhere."""
    own = world().leaves[intent.leaf]
    beside = [
        leaf.index
        for leaf in world().leaves
        if leaf.middle == own.middle and leaf.index != own.index
    ]
    pools = [draw.some(facts.rows_of(own.index), 20 * count)]
    pools += [draw.some(facts.rows_of(leaf), count) for leaf in beside]
    anywhere = np.array([draw.below(len(facts)) for _ in range(4 * count)], dtype=np.int32)
    near = _zeros(intent, facts, pools[0])[: (count + 1) // 2]
    sibling = _zeros(intent, facts, np.concatenate([*pools[1:], anywhere[:0]]))
    sibling = draw.some(sibling, (count + 1) // 3)
    far = _zeros(intent, facts, anywhere)
    ordered: Rows = np.concatenate([near, sibling, far])
    _, first = np.unique(ordered, return_index=True)
    return ordered[np.sort(first)[:count]]


def _zeros(intent: Intent, facts: Facts, rows: Rows) -> Rows:
    kept: Rows = rows[grade(intent, facts, rows) == IRRELEVANT]
    return kept


def _beside(intent: Intent, index: Index, leaf: int) -> Rows:
    """The items of a complementary leaf that are complements."""
    device = _wanted_device(intent, leaf)
    return index.facts.rows_of(leaf) if device is None else index.meeting(leaf, device)


def _wanted_device(intent: Intent, leaf: int) -> Condition | None:
    """What items of a complementary leaf must meet: the device that the query names, if they have one."""
    spec, wanted = world().leaves[leaf], intent.device
    slot = spec.device_slot
    if wanted is None or slot is None or spec.fields[slot].devices != wanted[0]:
        return None
    return Condition("field", spec.fields[slot].name, "eq", slot, wanted[1])
