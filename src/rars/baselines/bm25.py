"""BM25 over the texts of a catalogue: the lexical system everything else must beat.

Owns: which fields are read, the index (by the library bm25s), the search, and the system ``bm25``, which
learns nothing. Ignores judgments.

score(q, d) = sum over the words w of q of  idf(w) tf / (tf + k1 (1 - b + b |d| / mean |d|)),
idf(w) = ln(1 + (N - df + 1/2) / (df + 1/2)). An item that shares no word with the query is no result.

The words of q are ``words``, those of d ``indexed``: CJK characters in pairs, for d each one alone as well.
|d| counts all that is indexed, for it is the sum of tf: a run of n CJK characters counts 2n - 1. Only
|d| / mean |d| matters, so where texts are of one script it is nearly as if each character counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from rars.arrays import Bools
from rars.baselines.parts import Own, SystemPart, learns_nothing
from rars.config import Section
from rars.data import Dataset
from rars.data.words import indexed, words
from rars.errors import RarsError
from rars.identifiers.texts import item_texts
from rars.progress import Advance
from rars.systems import Best, Ranked, check_k

K1 = 1.2
B = 0.75


class Bm25Settings(Section):
    """The settings of ``bm25``."""

    k1: float = Field(K1, ge=0)
    """How soon further occurrences of a word stop counting."""
    b: float = Field(B, ge=0, le=1)
    """How much a long text is held against its item."""


_CELLS = 1 << 24
"""Scores held at once (queries x items)."""
_REPORT = 4096


class Bm25:
    """An index over texts in catalogue order.

    >>> found = Bm25(["red mug", "blue mug", "desk lamp"]).search(["blue MUG", "chair"], k=2)
    >>> found.row(0)[0].tolist(), found.row(1)[0].tolist()
    ([1, 0], [])
    """

    def __init__(
        self,
        texts: Iterable[str],
        *,
        k1: float = K1,
        b: float = B,
        total: int | None = None,
        advance: Advance | None = None,
    ) -> None:
        import bm25s  # brings a compiler with it: only for whoever searches with BM25

        self._vocabulary: dict[str, int] = {}
        rows = self._read(texts, total, advance)
        if not self._vocabulary:
            raise RarsError("BM25 needs at least one item with a word in its text.")
        self._size = len(rows)
        self._index = bm25s.BM25(k1=k1, b=b, method="lucene")
        self._index.index((rows, self._vocabulary), create_empty_token=False, show_progress=False)

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        *,
        attributes: bool = False,
        k1: float = K1,
        b: float = B,
        advance: Advance | None = None,
    ) -> Bm25:
        """Index title, text, brand and colour of every item, and its attribute values if asked."""
        texts = catalogue_texts(dataset, attributes=attributes)
        every = (text or "" for chunk in texts.chunks for text in chunk.to_pylist())
        return cls(every, k1=k1, b=b, total=len(texts), advance=advance)

    def search(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        among: Bools | None = None,
        advance: Advance | None = None,
    ) -> Ranked:
        """The best ``k`` items of every text that share a word with it."""
        check_k(k)
        step = max(1, _CELLS // self._size)
        parts: list[Ranked] = []
        for start in range(0, len(texts), step):
            block = [self._known(text) for text in texts[start : start + step]]
            best = Best(len(block), k, floor=0.0)
            scores = np.stack([self._index.get_scores_from_ids(ids) for ids in block])
            if among is not None:
                scores[:, ~among] = 0.0
            best.add(scores)
            parts.append(best.ranked())
            if advance:
                advance(start + len(block), len(texts))
        return Ranked.joined(parts)

    def _read(
        self, texts: Iterable[str], total: int | None, advance: Advance | None
    ) -> list[list[int]]:
        """Word numbers of each text; the vocabulary grows on the way."""
        known = self._vocabulary
        rows = []
        for text in texts:
            rows.append([known.setdefault(word, len(known)) for word in indexed(text)])
            if advance and total and len(rows) % _REPORT == 0:
                advance(len(rows), total)
        if advance and total:
            advance(total, total)
        return rows

    def _known(self, text: str) -> list[int]:
        known = self._vocabulary
        return [known[word] for word in words(text) if word in known]


def catalogue_texts(dataset: Dataset, *, attributes: bool = False) -> pa.ChunkedArray:
    """What BM25 reads of each item; the order of the fields does not matter to it."""
    texts = item_texts(dataset)
    if not attributes:
        return texts
    values = pa.chunked_array(
        [_values(chunk) for chunk in dataset.items(["attributes"])["attributes"].chunks],
        pa.string(),
    )
    return pc.binary_join_element_wise(texts, values, " ", null_handling="skip")


def _values(attributes: pa.MapArray) -> pa.Array:
    """The values of a map column, joined by spaces."""
    lists = pa.array(
        [
            None if row is None else [value or "" for _, value in row]
            for row in attributes.to_pylist()
        ],
        pa.list_(pa.string()),
    )
    return pc.binary_join(lists, " ")


# -- the system ------------------------------------------------------------------------------------


def _open(
    own: Own,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Bm25:
    """Indexed anew: reading an index would take as long."""
    settings: Bm25Settings = own["bm25"]
    return Bm25.of(dataset, k1=settings.k1, b=settings.b, advance=advance)


BM25 = SystemPart("words alone", Bm25Settings, ("bm25",), learns_nothing, _open)
