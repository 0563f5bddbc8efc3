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

from rars.arrays import Floats, Ints
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.growth import Dictionary
from rars.search.evidence.lists import Counts, PostingList
from rars.search.evidence.sums import PostingSum, Term, Values
from rars.search.evidence.text import Token


class Rare(NamedTuple):
    """A feature k of K(q): its IDF and the items that have it."""

    word: str
    idf: float
    listed: PostingList


@dataclass(frozen=True, eq=False)
class Words:
    """``postings`` of words, CJK characters and pairs; ``lengths`` (items,) how many of them each text has.

    Both are in SID order.
    """

    postings: Dictionary
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
            listed = self.postings.find(word)
            size = 0 if listed is None else len(listed)
            if listed is not None and least <= size <= most * items:
                found.append((size, word, listed))
        found.sort(key=lambda one: one[:2])
        return [
            Rare(word, math.log((items + 1) / (size + 1)), listed)
            for size, word, listed in found[:count]
        ]

    def bm25(
        self, ancestry: Ancestry, asked: Sequence[str], k1: float = 1.2, b: float = 0.75
    ) -> PostingSum:
        """BM25 of items, divided by its maximum for the query; items without a word have zero.

        ``asked`` are the words of the query, as ``rars.data.words.words`` gives them.
        """
        found = ((word, times, self.postings.find(word)) for word, times in Counter(asked).items())
        terms = (
            Term("bm25", word, (listed,), self._weights(len(listed), times, k1, b))
            for word, times, listed in found
            if listed is not None
        )
        return PostingSum(ancestry, tuple(terms), divided=True)

    def _weights(self, size: int, asked: int, k1: float, b: float) -> Values:
        """What a word of ``size`` items that the query has ``asked`` times is worth to each of them."""
        items = len(self.lengths)
        idf = math.log(1 + (items - size + 0.5) / (size + 0.5))

        def weights(counts: Counts, places: Ints) -> Floats:
            times = counts.astype(np.float64)
            saturation = k1 * (1 - b + b * self.lengths[places] / self._mean_length)
            return np.asarray(asked * (idf * times / (times + saturation)), dtype=np.float64)

        return weights

    @cached_property
    def _mean_length(self) -> float:
        return float(self.lengths.mean()) or 1.0 if len(self.lengths) else 1.0
