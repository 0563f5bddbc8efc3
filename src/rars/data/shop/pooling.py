"""Pools: people judge what an engine has shown them.

Owns: which of a query's relevant items are judged where judgments are pooled. An engine shows the items first
whose titles say what the query asks, and of those the ones that say little else:

    shown(d | q) = [d is called as q calls it] + sum over conditions c of [d meets c and its title tells it]
                   - 0.2 |facts that the title tells| + noise

So items that meet all come before those that miss one, and a few of many are not any few. Ignores where the
items that are judged irrelevant come from.
"""

from __future__ import annotations

import numpy as np

from rars.arrays import Bools
from rars.data.shop.draws import Draw, uniforms
from rars.data.shop.facts import Facts
from rars.data.shop.grading import EXACT, SUBSTITUTE, Graded, Query
from rars.data.shop.intents import Condition
from rars.data.shop.items import Told, told
from rars.data.shop.lexicon import Lexicon
from rars.data.shop.meeting import meets
from rars.data.shop.slips import same_text

LENGTH = 0.2
"""What each further fact of a title takes away."""
NOISE = 0.5
"""How much of the order is chance: half as much as a condition."""
SUBSTITUTES = 0.3
"""Substitutes for each exact item: who has found the thing does not look at many others."""
LOOKED_AT = 200
"""An engine looks at so many items of a grade at most."""


def shown(query: Query, facts: Facts, count: int, words: Lexicon, seed: int, draw: Draw) -> Graded:
    """The exact items and substitutes of a query that an engine shows first; the best exact one always."""
    intent, known = query.intent, query.known
    groups = [(draw.some(known.of(grade), LOOKED_AT), grade) for grade in (EXACT, SUBSTITUTE)]
    found = Graded.joined(*groups)
    titles = told(facts, found.rows, intent.leaf, seed)
    score = NOISE * uniforms(int(draw.uniform() * 2**53), np.arange(len(found.rows)))
    score -= LENGTH * titles.count()
    called = _called(query, words)
    if called is not None:
        score += titles.second_name == called
    for condition in intent.conditions:
        score += meets(condition, intent.leaf, facts, found.rows) & _tells(titles, condition)
    first = np.argmax(np.where(found.grades == EXACT, score, -np.inf))
    score[first] = np.inf
    order = np.argsort(-score, kind="stable")
    missed = found.grades[order] == SUBSTITUTE
    room = max(1, round(SUBSTITUTES * min(count, len(known.of(EXACT)))))
    order = order[~missed | (np.cumsum(missed) <= room)][:count]
    return Graded(found.rows[order], found.grades[order])


def _called(query: Query, words: Lexicon) -> bool | None:
    """Whether the query uses the second name of its category; None if it uses neither."""
    names = [same_text(name.text) for name in words.leaves[query.intent.leaf].names[:2]]
    asked = same_text(query.text)
    return next((place == 1 for place, name in enumerate(names) if name in asked), None)


def _tells(titles: Told, condition: Condition) -> Bools:
    match condition.kind:
        case "brand":
            return titles.brand
        case "line":
            return titles.line
        case "theme":
            return titles.theme
        case "product":
            return titles.number
        case "feature":
            return titles.features[:, condition.place]
        case _:
            return titles.fields[:, condition.place]
