"""Raters: people who judge, more of one query than of another, and now and then wrongly.

Owns: how many items of a query are judged relative to the usual number, exp(s z - s^2 / 2) with z normal and
s the unevenness (its mean is 1), and grades that are one step off. Ignores the rule (``grading``).
"""

from __future__ import annotations

import math

import numpy as np

from rars.arrays import Bools
from rars.data.shop.draws import Draw
from rars.data.shop.grading import COMPLEMENT, EXACT, IRRELEVANT, SUBSTITUTE, Graded

MOST = 6.0
"""No query is judged more thoroughly than so many others."""

NEXT = {EXACT: SUBSTITUTE, SUBSTITUTE: EXACT, COMPLEMENT: IRRELEVANT, IRRELEVANT: SUBSTITUTE}
"""What a rater who is one step off takes a grade for; only things of the same kind become substitutes."""


def effort(uneven: float, draw: Draw) -> float:
    """How thoroughly one query is judged: 1 is usual.

    >>> effort(0.0, Draw(7))
    1.0
    """
    if uneven == 0:
        return 1.0
    # Box and Muller's normal number from two even ones.
    radius = math.sqrt(-2 * math.log(1 - draw.uniform()))
    normal = radius * math.cos(2 * math.pi * draw.uniform())
    return min(MOST, math.exp(uneven * normal - uneven**2 / 2))


def misjudged(judged: Graded, kin: Bools, share: float, draw: Draw) -> Graded:
    """The same items, some of them a step off; the first, which is Exact, stays.

    ``kin`` marks items of the category that the query asks for.
    """
    grades = judged.grades.copy()
    for place in range(1, len(grades)):
        if draw.chance(share) and (kin[place] or grades[place] != IRRELEVANT):
            grades[place] = NEXT[int(grades[place])]
    return Graded(judged.rows, np.asarray(grades, dtype=np.int8))
