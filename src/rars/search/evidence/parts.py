"""Kinds of evidence that a rule may name: what each says of every item, for the queries of a batch.

Owns: the table of them, and their weighted sum under a rule. Ignores how the sum joins the model's score.

A kind is a part: ``find(asked) -> one Evidence a query``, and one line in ``EVIDENCE``. It returns None
where the catalogue cannot tell (no vectors, say); the sum then goes without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Floats, Points
from rars.config import part
from rars.errors import RarsError
from rars.search.evidence.evidence import Evidence, combine
from rars.search.evidence.index import EvidenceIndex
from rars.search.evidence.neighbours import JudgedQueries, neighbours_of
from rars.search.store import Vectors


@dataclass(frozen=True, eq=False)
class AskedOf:
    """What a kind of evidence may look at: some queries, and the catalogue.

    ``texts``, ``languages``  of the queries; a language is None where any may be meant
    ``embed``                 makes their sentence vectors (n, dim), in the space of ``vectors``; None where
                              nothing does
    ``judged``                the training queries and what is relevant to them; None without any
    """

    index: EvidenceIndex
    vectors: Vectors | None
    texts: Sequence[str]
    languages: Sequence[str | None]
    embed: Callable[[], Points] | None = None
    judged: JudgedQueries | None = None


@dataclass(frozen=True)
class EvidencePart:
    """A kind of evidence: one line about it, and how it is found."""

    about: str
    find: Callable[[AskedOf], Sequence[Evidence] | None]


def _compatibility(asked: AskedOf) -> Sequence[Evidence]:
    pairs = zip(asked.texts, asked.languages, strict=True)
    return [asked.index.compatibility(text, language=language) for text, language in pairs]


def _bm25(asked: AskedOf) -> Sequence[Evidence]:
    return [asked.index.bm25(text) for text in asked.texts]


def _dense(asked: AskedOf) -> Sequence[Evidence] | None:
    if asked.vectors is None or asked.embed is None:
        return None
    scores = asked.vectors.scores(asked.embed(), asked.index.tree.order)
    return [Evidence.from_dense(asked.index.ancestry, row) for row in scores]


def _neighbours(asked: AskedOf) -> Sequence[Evidence] | None:
    return neighbours_of(asked.judged, asked.embed, asked.index.ancestry)


EVIDENCE: dict[str, EvidencePart] = {
    "f": EvidencePart("the paper's compatibility: attributes and rare words", _compatibility),
    "bm25": EvidencePart("BM25, divided by its maximum for the query", _bm25),
    "dense": EvidencePart("inner products of sentence vectors", _dense),
    "neighbours": EvidencePart("what was relevant to similar training queries", _neighbours),
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


def weigh(asked: AskedOf, weights: Mapping[str, float], *, bound: bool = False) -> list[Weighed]:
    """The evidence of each query: the sum of the kinds that ``weights`` names."""
    found = {name: part("evidence", name).find(asked) for name in weights}
    kinds = {name: kind for name, kind in found.items() if kind is not None}
    if not kinds:
        raise RarsError(
            f"This catalogue has nothing that evidence ({', '.join(weights)}) could read."
        )
    return [
        _sum([(name, weights[name], kind[at]) for name, kind in kinds.items()], bound)
        for at in range(len(asked.texts))
    ]


def _sum(parts: list[tuple[str, float, Evidence]], bound: bool) -> Weighed:
    if len(parts) == 1 and parts[0][1] == 1.0:
        total = parts[0][2]
    else:
        total = combine([(weight, one) for _, weight, one in parts])
    return Weighed(Bound.on(total) if bound else total, tuple(parts))
