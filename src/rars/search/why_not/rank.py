"""Where an item stands among all that a system without identifiers ranks.

Owns: its rank, and the score it would need. Ignores how the system scores.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rars.search.why_not.answer import Item, WhyNot, ordinal, shown_before

DEEP = 200
"""How far the system is looked through before everything is."""


def by_rank(asked: Item) -> WhyNot:
    """The item's place among all that the system ranks."""
    system, query, k = asked.system, replace(asked.query, explain=False), asked.k
    every = len(system.catalogue)
    [shown] = system.answer([query])
    found, at = shown, np.flatnonzero(shown.items == asked.row)
    for depth in (max(k, DEEP), every):
        if len(at):
            break
        if depth > k:
            [found] = system.answer([replace(query, k=depth)])
            at = np.flatnonzero(found.items == asked.row)
    if not len(at):
        said = "gets no score from this system: nothing in it speaks to the query."
        return asked.says("unscored", said)
    rank, score = int(at[0]) + 1, float(found.scores[at[0]])
    if rank <= k and found is shown:
        return asked.says("found", f"is found: it stands {ordinal(rank)}.", rank=rank, score=score)
    rank = max(rank, k + 1)
    needed = float(found.scores[k - 1])
    because = "order" if score == needed else "score"
    said = (
        f"stands {ordinal(rank)} and {k} {'is' if k == 1 else 'are'} shown: it scored {score:.4g}, "
    )
    said += f"the last one shown {needed:.4g}"
    said += ", and equal scores stand as in the catalogue" if because == "order" else ""
    return asked.says(
        "below",
        f"{said}.",
        because=because,
        rank=rank,
        score=score,
        needed=needed,
        beaten_by=shown_before(system, found.items, found.scores, k),
    )
