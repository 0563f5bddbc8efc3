"""Words of the catalogue: the few rare ones that f_lex looks at, and BM25 over all of them.

Owns: K(q), IDF and f_lex (paper, appendix "Retrieval and compatibility scoring"), and BM25 as a sum over the
same postings. Ignores attributes. The paper's features are words and single CJK characters; BM25 takes
pairs of CJK characters instead, which are closer to words, and a single one only where it stands alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.evidence import Evidence, Reason, summed
from rars.search.evidence.postings import Positions, Postings
from rars.search.evidence.terms import MISSING
from rars.search.evidence.text import Token, is_cjk


class Rare(NamedTuple):
    """A feature k of K(q): its IDF and the items that have it."""

    word: str
    idf: float
    positions: Positions


@dataclass(frozen=True, eq=False)
class Words:
    """``postings`` of words, CJK characters and pairs; ``lengths`` (items,) of the texts, in SID order."""

    postings: Postings
    lengths: npt.NDArray[np.int32]

    def rarest(
        self, asked: Sequence[Token], count: int = 2, least: int = 2, most: float = 0.02
    ) -> list[Rare]:
        """K(q): at most ``count`` features of highest IDF; ties in string order.

        ``least`` items must have a feature, and at most the share ``most`` of the catalogue.
        """
        items = len(self.lengths)
        found = []
        for word in {token.text for token in asked}:
            number = self.postings.find(word)
            size = 0 if number == MISSING else self.postings.size(number)
            if least <= size <= most * items:
                found.append((size, word, number))
        return [
            Rare(word, math.log((items + 1) / (size + 1)), self.postings.of(number))
            for size, word, number in sorted(found)[:count]
        ]

    def bm25(
        self, ancestry: Ancestry, asked: Sequence[Token], k1: float = 1.2, b: float = 0.75
    ) -> Evidence:
        """BM25 of every item, divided by its maximum for the query; items without a word have zero."""
        lists, reasons = [], []
        for word, times in Counter(bm25_words(asked)).items():
            number = self.postings.find(word)
            if number != MISSING:
                places = self.postings.of(number)
                lists.append((places, times * self._weights(number, places, k1, b)))
                reasons.append(Reason("bm25", word, places))
        total = summed(ancestry, lists)
        highest = float(total.scores.max(initial=0.0))
        scores = total.scores / highest if highest else total.scores
        return Evidence(ancestry, total.positions, scores, 0.0, tuple(reasons))

    def _weights(
        self, number: int, places: Positions, k1: float, b: float
    ) -> npt.NDArray[np.float64]:
        size, items = self.postings.size(number), len(self.lengths)
        idf = math.log(1 + (items - size + 0.5) / (size + 0.5))
        times = self.postings.counts_of(number).astype(np.float64)
        saturation = k1 * (1 - b + b * self.lengths[places] / self._mean_length)
        return np.asarray(idf * times / (times + saturation), dtype=np.float64)

    @cached_property
    def _mean_length(self) -> float:
        return max(float(self.lengths.mean()), 1.0) if len(self.lengths) else 1.0


def bm25_words(asked: Sequence[Token]) -> Iterator[str]:
    """What BM25 looks up: words, pairs of neighbouring CJK characters, and CJK characters that stand alone.

    >>> from rars.search.evidence.text import tokens
    >>> list(bm25_words(tokens("led電球 茶")))
    ['led', '電球', '茶']
    """
    cjk = [is_cjk(token.text[0]) for token in asked]
    paired = [
        one and other and left.end == right.start
        for (left, right), (one, other) in zip(pairwise(asked), pairwise(cjk), strict=True)
    ]
    for at, token in enumerate(asked):
        if not cjk[at]:
            yield token.text
        elif at < len(paired) and paired[at]:
            yield token.text + asked[at + 1].text
        elif not (at and paired[at - 1]):
            yield token.text
