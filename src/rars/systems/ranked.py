"""What a search returns for many texts at once: items and scores, best first, as flat arrays.

Owns: the shape of a result, what ranks texts over a fixed catalogue (``Searcher``), and the one rule for
equal scores: the item that comes first in the catalogue wins. Ignores where scores come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Floats, Ints
from rars.errors import RarsError, expected
from rars.progress import Advance


@dataclass(frozen=True, eq=False)
class Ranked:
    """The results of several texts, one after the other.

    ``pointers``  (texts + 1,) where the results of each text begin
    ``items``     (shown,) catalogue row numbers, best first
    ``scores``    (shown,) their scores, never increasing within a text

    >>> ranked = Ranked.of_lists([[4, 2], [], [7]])
    >>> ranked.pointers.tolist(), ranked.items.tolist(), ranked.scores.tolist()
    ([0, 2, 2, 3], [4, 2, 7], [-1.0, -2.0, -1.0])
    """

    pointers: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]

    @classmethod
    def of_lists(
        cls, items: Sequence[npt.ArrayLike], scores: Sequence[npt.ArrayLike] | None = None
    ) -> Ranked:
        """From one list of items per text; without scores an item's score is minus its rank."""
        lists = [np.asarray(row, dtype=np.int32).ravel() for row in items]
        lengths = np.array([len(row) for row in lists], dtype=np.int64)
        pointers = np.append(0, np.cumsum(lengths)).astype(np.int64)
        flat = np.concatenate([np.empty(0, np.int32), *lists])
        if scores is None:
            values = -1.0 - _places(pointers)
        else:
            values = np.concatenate([np.empty(0), *(np.ravel(row) for row in scores)])
            if len(values) != len(flat):
                raise RarsError(f"There are {len(flat)} ranked items but {len(values)} scores.")
        return cls(pointers, flat, values.astype(np.float32))

    @classmethod
    def best_of(cls, n: int, row: Ints, item: Ints, score: Floats, k: int) -> Ranked:
        """From loose results of ``n`` texts: the best ``k`` of each, equal scores in catalogue order."""
        order = np.lexsort((item, -score, row))
        row, item, score = row[order], item[order], score[order]
        pointers = np.append(0, np.cumsum(np.bincount(row, minlength=n))).astype(np.int64)
        full = cls(pointers, item.astype(np.int32), score.astype(np.float32))
        return full.cut(k)

    @classmethod
    def joined(cls, parts: Sequence[Ranked]) -> Ranked:
        """The results of several blocks of texts, one block after the other."""
        lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(p.pointers) for p in parts)])
        return cls(
            np.append(0, np.cumsum(lengths)).astype(np.int64),
            np.concatenate([np.empty(0, np.int32), *(p.items for p in parts)]),
            np.concatenate([np.empty(0, np.float32), *(p.scores for p in parts)]),
        )

    def __len__(self) -> int:
        return len(self.pointers) - 1

    @property
    def owner(self) -> npt.NDArray[np.int64]:
        """(shown,) which text each result belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.pointers))

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """(shown,) the rank of each result within its text, from 0."""
        return _places(self.pointers)

    def row(self, text: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Items and scores of one text."""
        shown = slice(int(self.pointers[text]), int(self.pointers[text + 1]))
        return self.items[shown], self.scores[shown]

    def where(self, keep: npt.NDArray[np.bool_]) -> Ranked:
        """The results that ``keep`` marks, in the same order."""
        counts = np.bincount(self.owner[keep], minlength=len(self))
        pointers = np.append(0, np.cumsum(counts)).astype(np.int64)
        return Ranked(pointers, self.items[keep], self.scores[keep])

    def cut(self, k: int) -> Ranked:
        """At most ``k`` results for each text."""
        return self.where(self.places < k)


class Searcher(Protocol):
    """Whatever turns texts into ranked items."""

    def search(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        among: Bools | None = None,
        advance: Advance | None = None,
    ) -> Ranked:
        """The best ``k`` items of every text; ``among`` (items,) marks those that may be found."""


class Best:
    """Keeps the best ``k`` items of ``n`` texts while scores arrive block by block of the catalogue.

    Blocks must come in catalogue order. Scores not above ``floor`` are no results.
    """

    def __init__(self, n: int, k: int, floor: float = -np.inf) -> None:
        self._k = k
        self._bar = np.full(n, floor, dtype=np.float32)
        self._full = np.zeros(n, dtype=bool)
        self._kept = Ranked.of_lists([()] * n, [()] * n)

    def add(self, scores: npt.NDArray[np.float32], first: int = 0) -> None:
        """Offer scores (n, block) of the items from ``first`` on."""
        # A later item with the score of the last one kept stands behind it: strictly above.
        offered = scores > self._bar[:, None]
        if scores.shape[1] > self._k and not self._full.all():
            place = scores.shape[1] - self._k
            offered &= scores >= np.partition(scores, place, axis=1)[:, place, None]
        row, column = np.nonzero(offered)
        kept = self._kept
        self._kept = Ranked.best_of(
            len(kept),
            np.concatenate([kept.owner, row]),
            np.concatenate([kept.items, column + first]),
            np.concatenate([kept.scores, scores[row, column]]),
            self._k,
        )
        self._full = np.diff(self._kept.pointers) == self._k
        self._bar[self._full] = self._kept.scores[self._kept.pointers[1:][self._full] - 1]

    def ranked(self) -> Ranked:
        """What was kept."""
        return self._kept


def check_k(k: int) -> int:
    """Refuse to look for nothing, or for what is no number of items."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise expected("k", "a whole number", k)
    if k < 1:
        raise RarsError(f"k must be at least 1, not {k}.")
    return int(k)


def _places(pointers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.asarray(
        np.arange(int(pointers[-1]), dtype=np.int64) - np.repeat(pointers[:-1], np.diff(pointers))
    )
