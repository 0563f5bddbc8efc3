"""Words of the catalogue: the few rare ones that f_lex looks at, and BM25 over all of them.

Owns: K(q), IDF and f_lex (paper, appendix "Retrieval and compatibility scoring"), and BM25 as a sum over the
same postings. Ignores attributes. The paper's features are words and single CJK characters; BM25 takes the
words of ``rars.data.words``, as the BM25 baseline does: a query asks for pairs of CJK characters, which are
closer to words, and for a single one only where it stands alone, but then finds it anywhere in an item. The
length of a text counts all its features, single characters and pairs alike, as the baseline's does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.evidence import Evidence, Reason, summed
from rars.search.evidence.postings import Positions, Postings
from rars.search.evidence.terms import MISSING
from rars.search.evidence.text import Token


class Rare(NamedTuple):
    """A feature k of K(q): its IDF and the items that have it."""

    word: str
    idf: float
    positions: Positions


@dataclass(frozen=True, eq=False)
class Words:
    """``postings`` of words, CJK characters and pairs; ``lengths`` (items,) how many of them each text has.

    Both are in SID order.
    """

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
        self, ancestry: Ancestry, asked: Sequence[str], k1: float = 1.2, b: float = 0.75
    ) -> Evidence:
        """BM25 of every item, divided by its maximum for the query; items without a word have zero.

        ``asked`` are the words of the query, as ``rars.data.words.words`` gives them.
        """
        lists, reasons = [], []
        for word, times in Counter(asked).items():
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
        return float(self.lengths.mean()) or 1.0 if len(self.lengths) else 1.0
