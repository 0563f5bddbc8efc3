"""Sums over posting lists: what items score by the lists they are on; of all items, or of some.

Owns: f(q, d) = baseline + the sum over terms t that d has of v_t(d), such as the paper's compatibility and
BM25. Ignores what terms are and where lists come from.

A frequent word's list is a share of the catalogue. ``whole`` passes over every posting. ``at`` looks some
items up in each list, which costs their number times the logarithm of a list's length; ``led`` names items
worth that look: those on the shortest lists, where the terms that tell items apart are. Where even the
shortest list is a share of the catalogue, those that it is worth most to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rars.arrays import Floats, Ints
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.evidence import Evidence, Reason, summed
from rars.search.evidence.lists import Counts, PostingList
from rars.tree.sorting import distinct

WIDE = 1 << 17
"""Items that are looked up because of one list, at most."""

Values = Callable[[Counts, Ints], Floats]
"""v_t of some postings: how often their items have the term, and the items."""


@dataclass(frozen=True, eq=False)
class Term:
    """What a query looks for: the lists of the items that have it, and what it is worth to each.

    An item on several of the lists has it once; then ``values`` must not depend on counts.
    """

    kind: str
    text: str
    lists: tuple[PostingList, ...]
    values: Values

    @classmethod
    def worth(cls, kind: str, text: str, lists: tuple[PostingList, ...], value: float) -> Term:
        """The same to every item."""
        return cls(kind, text, lists, lambda _, items: np.full(len(items), value))

    def __len__(self) -> int:
        return sum(map(len, self.lists))

    def everywhere(self) -> tuple[Ints, Floats]:
        """Every item that has it (sorted positions), and its value."""
        if len(self.lists) == 1:
            places, counts = self.lists[0].now()
            return places, self.values(counts, places)
        positions = _together(self.lists)
        return positions, self.values(np.ones(len(positions), dtype=np.uint8), positions)

    def at(self, places: Ints) -> Floats:
        """Its value for some items; 0 for one that does not have it."""
        found = np.zeros(len(places))
        for one in self.lists:
            held, counts = one.at(places)
            found[held] = self.values(counts, places[held])
        return found


def _together(lists: Sequence[PostingList]) -> Ints:
    """The sorted positions of the items on any of the lists."""
    every = [one.positions for one in lists]
    return distinct(np.concatenate(every)) if every else np.zeros(0, dtype=np.int32)


def _best(one: PostingList, term: Term) -> Ints:
    """The sorted positions of the ``WIDE`` items of a list to which it is worth most."""
    places, counts = one.now()
    if len(places) <= WIDE:
        return places
    values = term.values(counts, places)
    return np.sort(places[np.argpartition(-values, WIDE)[:WIDE]])


@dataclass(frozen=True, eq=False)
class PostingSum:
    """The scores of one query; ``divided``: by the largest of them, where that is above 0."""

    ancestry: Ancestry
    terms: tuple[Term, ...]
    baseline: float = 0.0
    divided: bool = False

    def __len__(self) -> int:
        return sum(map(len, self.terms))

    def whole(self) -> Evidence:
        """The score of every item."""
        lists = [term.everywhere() for term in self.terms]
        return self._made(summed(self.ancestry, lists, self.baseline))

    def at(self, places: Ints) -> Evidence:
        """The score of some items, given by sorted distinct positions; all others have the baseline."""
        scores = self.baseline + sum(
            (term.at(places) for term in self.terms), np.zeros(len(places))
        )
        return self._made(Evidence.sparse(self.ancestry, places, scores, self.baseline))

    def led(self, most: int, *, always: bool = False) -> Ints:
        """The sorted positions of the items on the shortest lists, of ``most`` postings together.

        ``always``: where each list is longer, those on the shortest one; of more than ``WIDE`` the best.
        """
        ranked = [(one, term) for term in self.terms for one in term.lists if len(one)]
        ranked.sort(key=lambda pair: len(pair[0]))
        ends = np.cumsum([len(one) for one, _ in ranked])
        count = int(np.searchsorted(ends, most, side="right"))
        if always and ranked and not count:
            return _best(*ranked[0])
        return _together([one for one, _ in ranked[:count]])

    def _made(self, found: Evidence) -> Evidence:
        reasons = tuple(Reason(one.kind, one.text, one.lists) for one in self.terms)
        scores = found.scores
        if self.divided and (highest := float(scores.max(initial=0.0))):
            scores = scores / highest
        return replace(found, scores=scores, reasons=reasons)
