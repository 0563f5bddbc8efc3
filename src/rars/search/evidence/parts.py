"""Kinds of evidence that a rule may name: what each says of every item, for the queries of a batch.

Owns: the table of them, and their weighted sum under a rule. Ignores how the sum joins the model's score.

A kind is a part: ``find(asked) -> one Evidence a query``, or one ``Sum`` that is not added up yet, and
one line in ``EVIDENCE``. It returns None where the catalogue cannot tell (no vectors, say); the sum then goes
without it.

Where a search looks at some items alone (``near``), long lists are not passed over: first each part says who
is worth a look, by its shortest lists or by vectors; then all parts score those items exactly, and all others
count as items that match nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Floats, Ints, Points
from rars.config import part
from rars.errors import RarsError
from rars.search.candidates import Candidates, looked_beside
from rars.search.evidence.evidence import Evidence, combine
from rars.search.evidence.index import EvidenceIndex
from rars.search.evidence.letters import Letters, Likeness
from rars.search.evidence.neighbours import JudgedQueries
from rars.search.evidence.sums import PostingSum
from rars.search.routing import Matching
from rars.search.vectors import Vectors
from rars.tree.sorting import distinct


@dataclass(frozen=True, eq=False)
class AskedOf:
    """What a kind of evidence may look at: some queries, and the catalogue.

    ``texts``, ``languages``  of the queries; a language is None where any may be meant
    ``embed``                 makes their sentence vectors (n, dim), in the space of ``vectors``; None where
                              nothing does
    ``judged``                the training queries and what is relevant to them; None without any
    ``letters``               the letter triples of the items' titles; None where they were not kept
    ``near``                  finds the items whose vectors are worth a look; None to look at all
    ``matching``              what each may find; None for everything
    ``others``                where the last part looks at ``near`` items alone: what the others say of them
    """

    index: EvidenceIndex
    vectors: Vectors | None
    texts: Sequence[str]
    languages: Sequence[str | None]
    embed: Callable[[], Points] | None = None
    judged: JudgedQueries | None = None
    near: Candidates | None = None
    matching: Sequence[Matching | None] | None = None
    others: Sequence[Evidence] | None = None
    letters: Letters | None = None

    @property
    def dense(self) -> bool:
        """Whether queries and items have vectors to compare."""
        return self.vectors is not None and self.embed is not None


Sum = PostingSum | Likeness
"""Evidence that is not added up yet: of all items, or of those that are looked at."""
Found = Sequence[Evidence | Sum]
"""What a kind says of every item, one a query."""


@dataclass(frozen=True)
class EvidencePart:
    """A kind of evidence: one line about it, how it is found, whether it looks at what others found.

    ``leads``: of a sum over postings, that its shortest list is looked at even where it is long.
    """

    about: str
    find: Callable[[AskedOf], Found | None]
    last: bool = False
    leads: bool = False


def _compatibility(asked: AskedOf) -> Sequence[PostingSum]:
    pairs = zip(asked.texts, asked.languages, strict=True)
    return [asked.index.compatibility_sum(text, language=language) for text, language in pairs]


def _bm25(asked: AskedOf) -> Sequence[PostingSum]:
    return [asked.index.bm25_sum(text) for text in asked.texts]


def _dense(asked: AskedOf) -> Sequence[Evidence] | None:
    if asked.vectors is None or asked.embed is None:
        return None
    if asked.near is not None:
        return _dense_near(asked, asked.near, asked.vectors, asked.embed())
    scores = asked.vectors.scores(asked.embed(), asked.index.tree.order)
    return [Evidence.from_dense(asked.index.ancestry, row) for row in scores]


def _neighbours(asked: AskedOf) -> Sequence[Evidence] | None:
    if asked.judged is None or asked.embed is None:
        return None
    return asked.judged.evidence(asked.embed(), asked.index.ancestry)


def _letters(asked: AskedOf) -> Sequence[Likeness] | None:
    if asked.letters is None:
        return None
    return [Likeness(asked.index.ancestry, asked.letters, text) for text in asked.texts]


def _dense_near(
    asked: AskedOf, near: Candidates, vectors: Vectors, queries: Points
) -> Sequence[Evidence]:
    """The same for a few thousand items of each query, exactly, and one score for all others.

    Listed are the items near the query and those of which the other parts say most: an item that any part
    puts first has its exact sum. All others get the lowest score that is listed. That is no more than they
    are worth where the list is right, so none of them passes a listed item by a score that nobody computed,
    and evidence among some items alone stays sparse (``Evidence.among``).
    """
    found = []
    for row, places in enumerate(near.positions(queries, asked.matching)):
        if asked.others is not None:
            only = None if asked.matching is None else asked.matching[row]
            places = distinct(np.append(places, most(asked.others[row], looked_beside(near), only)))
        scores = vectors.scores_of(queries[row], asked.index.tree.order[places])
        lowest = float(scores.min(initial=np.inf)) if len(scores) else 0.0
        found.append(Evidence.sparse(asked.index.ancestry, places, scores, lowest))
    return found


def most(evidence: Evidence, count: int, only: Matching | None) -> Ints:
    """The places of the items with the most evidence, of those that have some of their own."""
    places, scores = evidence.positions, evidence.scores
    if places is None:
        places = np.flatnonzero(scores > scores.min(initial=np.inf))
        scores = scores[places]
    if only is not None:
        stays = only.marks[places]
        places, scores = places[stays], scores[stays]
    if len(places) > count:
        places = places[np.argpartition(-scores, count)[:count]]
    return places


EVIDENCE: dict[str, EvidencePart] = {
    "f": EvidencePart("the paper's compatibility: attributes and rare words", _compatibility),
    "bm25": EvidencePart("BM25, divided by its maximum for the query", _bm25, leads=True),
    "neighbours": EvidencePart("what was relevant to similar training queries", _neighbours),
    "letters": EvidencePart("letters that the title shares with the query", _letters),
    "dense": EvidencePart("inner products of sentence vectors", _dense, last=True),
}
"""Every kind of evidence by its name."""


# -- the sum under a rule --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bound(Evidence):
    """Evidence that enters a path once: at each depth, what the best item below is worse than one depth up.

    The terms of a path telescope, so a prefix stands at the model's score plus the evidence of the best item
    below it, which no item below can exceed; a full identifier stands at its own. Adding up the maxima of
    all depths would count an item's neighbours instead.
    """

    @classmethod
    def on(cls, evidence: Evidence) -> Bound:
        """The same scores, as bounds."""
        return cls(
            evidence.ancestry,
            evidence.positions,
            evidence.scores,
            evidence.baseline,
            evidence.reasons,
        )

    def prefix_maxima(self, depth: int, nodes: npt.ArrayLike) -> Floats:
        """F_t(u) - F_{t-1}(parent of u); at the first depth F_1(u)."""
        wanted = np.asarray(nodes)
        found = super().prefix_maxima(depth, wanted)
        if depth == 1:
            return found
        above = self.ancestry.up[depth - 1][wanted]
        return np.asarray(found - super().prefix_maxima(depth - 1, above))


@dataclass(frozen=True, eq=False)
class Weighed:
    """A query's evidence under a rule, and the parts it is the weighted sum of."""

    evidence: Evidence
    parts: tuple[tuple[str, float, Evidence], ...]

    def among(self, marks: Bools) -> Weighed:
        """The same where only marked items may be found (items,), in SID order."""
        return replace(self, evidence=self.evidence.among(marks))

    def of_item(self, item: int) -> dict[str, float]:
        """What each part says of an item (a catalogue row), before weighting."""
        return {name: float(part.of([item])[0]) for name, _, part in self.parts}


LONG = 1 << 15
"""Postings of a query that are passed over, where a search looks at some items alone."""


def weigh(asked: AskedOf, weights: Mapping[str, float], *, bound: bool = False) -> list[Weighed]:
    """The evidence of each query: the sum of the kinds that ``weights`` names."""
    chosen = {name: part("evidence", name) for name in weights}
    late = [name for name in weights if chosen[name].last]
    early = _found(asked, {name: one for name, one in chosen.items() if name not in late})
    some = bool(late) and asked.dense and asked.near is not None
    kinds = {
        name: [_begun(one, some=some, always=chosen[name].leads) for one in kind]
        for name, kind in early.items()
    }
    if some and kinds:
        asked = replace(asked, others=_together(kinds, weights, len(asked.texts)))
    for name, kind in _found(asked, {name: chosen[name] for name in late}).items():
        kinds[name] = [_begun(one) for one in kind]
    if not kinds:
        raise RarsError(
            f"This catalogue has nothing that evidence ({', '.join(weights)}) could read."
        )
    totals = []
    for at in range(len(asked.texts)):
        parts = {name: kinds[name][at] for name in weights if name in kinds}
        others = None if asked.others is None else asked.others[at]
        long = {name: one for name, kind in early.items() if _long(one := kind[at])} if some else {}
        if long:
            parts |= _looked_up(long, [parts[name] for name in late if name in parts])
            others = None
        listed = [(name, weights[name], one) for name, one in parts.items()]
        totals.append(_sum(listed, bound, others))
    return totals


def _found(asked: AskedOf, kinds: Mapping[str, EvidencePart]) -> dict[str, Found]:
    """What each kind finds, without those that cannot tell."""
    every = {name: one.find(asked) for name, one in kinds.items()}
    return {name: found for name, found in every.items() if found is not None}


def _begun(one: Evidence | Sum, *, some: bool = False, always: bool = False) -> Evidence:
    """Evidence of all items; where only ``some`` are looked at and lists are long, of who leads."""
    if isinstance(one, Evidence):
        return one
    return one.at(one.led(LONG, always=always)) if some and _long(one) else one.whole()


def _long(one: Evidence | Sum) -> bool:
    """Whether adding it up would pass over more than a search that looks at some items should."""
    return isinstance(one, Likeness) or (isinstance(one, PostingSum) and len(one) > LONG)


def _looked_up(long: Mapping[str, Evidence | Sum], late: Sequence[Evidence]) -> dict[str, Evidence]:
    """Sums that are long for the items that late parts look at, and for no others."""
    places = [one.positions for one in late if one.positions is not None]
    every = distinct(np.concatenate(places)) if places else np.zeros(0, dtype=np.int32)
    return {name: one.at(every) for name, one in long.items() if not isinstance(one, Evidence)}


def _together(
    kinds: Mapping[str, Sequence[Evidence]], weights: Mapping[str, float], queries: int
) -> Sequence[Evidence]:
    """The weighted sum of some kinds for each query."""
    return [
        combine([(weights[name], kind[at]) for name, kind in kinds.items()])
        for at in range(queries)
    ]


def _sum(parts: list[tuple[str, float, Evidence]], bound: bool, others: Evidence | None) -> Weighed:
    """The weighted sum; ``others`` is that of the parts that were found first, where it is there already."""
    if len(parts) == 1 and parts[0][1] == 1.0:
        total = parts[0][2]
    elif others is not None:
        late = [(weight, one) for name, weight, one in parts if part("evidence", name).last]
        total = combine([(1.0, others), *late])
    else:
        total = combine([(weight, one) for _, weight, one in parts])
    return Weighed(Bound.on(total) if bound else total, tuple(parts))
