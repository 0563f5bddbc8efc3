"""Conditions and facts: which items of a leaf meet a condition.

Owns: the meaning of every kind and operator of ``intents.Condition``. Ignores grades.
"""

from __future__ import annotations

import numpy as np

from rars.arrays import Bools
from rars.data.shop.facts import Facts, Rows
from rars.data.shop.intents import Condition
from rars.data.shop.world import world


def meets(condition: Condition, leaf: int, facts: Facts, rows: Rows) -> Bools:
    """Which of these items of a leaf meet one condition."""
    met: Bools
    match condition.kind:
        case "brand":
            met = facts.brand[rows] == condition.target
        case "line":
            met = facts.line[rows] == condition.target
        case "theme":
            met = facts.theme[rows] == condition.target
        case "product":
            met = facts.root[rows] == condition.target
        case "feature":
            wanted = 1 if condition.op == "has" else 0
            met = (facts.features[rows] >> np.uint8(condition.place) & 1) == wanted
        case _:
            values = world().leaves[leaf].fields[condition.place].values
            met = _allowed(condition, values)[facts.values[rows, condition.place]]
    return met


def _allowed(condition: Condition, values: tuple[str, ...]) -> Bools:
    """Which values of the field meet the condition."""
    allowed: Bools
    places = np.arange(len(values))
    match condition.op:
        case "eq":
            allowed = places == condition.target
        case "ne":
            allowed = places != condition.target
        case "at_least":
            numbers = np.array([float(value) for value in values])
            allowed = numbers >= numbers[condition.target]
        case _:
            numbers = np.array([float(value) for value in values])
            allowed = numbers <= numbers[condition.target]
    return allowed
