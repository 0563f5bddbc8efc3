"""Pseudo-queries: queries made from items' own fields, so that an item nobody judged can be found.

Owns: how an item's title, brand, category and attributes become something a person might type, and which
items that is relevant to: all those that hold each of its words, for "black boots" is no more about the item
it was made from than about any other black boot. Deterministic in the seed. Ignores judgments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.arrays import Ints
from rars.config import LoopSettings
from rars.data import Dataset
from rars.data.attributes import phrase
from rars.data.words import indexed, words

_FIELDS = ["title", "brand", "color", "category", "attributes"]
_SHORTEST, _LONGEST = 2, 5
_TYPED = 24
"""Characters of the longest attribute that goes into a query."""
_MOST = 16
"""Positives a pseudo-query has at the most; of more, a random choice."""
_LOOKED = 1 << 12
"""Items looked at for one pseudo-query at the most; of more, an even sample."""
_CELLS = 1 << 22
"""Items looked at in one block of pseudo-queries, about."""


@dataclass(frozen=True, eq=False)
class Pool:
    """n pseudo-queries, and the items they are relevant to as flat (query, item) pairs.

    ``texts``   (n,) of the queries
    ``source``  (n,) the item each was made from
    ``query``   (pairs,) index into ``texts``, non-decreasing
    ``item``    (pairs,) a positive of it; every source is among them
    """

    texts: list[str]
    source: Ints
    query: Ints
    item: Ints


def pool(dataset: Dataset, count: int, seed: int) -> Pool:
    """``count`` pseudo-queries; every item is the source of one before any is of two."""
    rng = np.random.default_rng([seed, 7])
    rounds = -(-count // max(1, dataset.n_items))
    source = np.concatenate([rng.permutation(dataset.n_items) for _ in range(rounds)])[:count]
    table = dataset.items(_FIELDS)
    texts = [query_of(row, rng) for row in table.take(pa.array(source)).to_pylist()]
    held = _WordIndex.of(table)
    query, item = held.relevant(texts, source, rng)
    return Pool(texts, source, query, item)


def some(dataset: Dataset, count: int) -> list[str]:
    """A few texts of the kind, to see how long something takes with them."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(dataset.n_items)[:count])
    blocks = dataset.item_blocks(_FIELDS, rows)
    return [query_of(row, rng) for _, block in blocks for row in block.to_pylist()]


def pool_size(loops: Sequence[LoopSettings], base: int, items: int) -> int:
    """How many pseudo-queries are made: as many as all epochs can use, at most two an item.

    ``base``  judged queries; items, where none is judged
    """
    wanted = sum(
        round(one.epochs * max(one.pseudo.share * base, one.pseudo.least))
        for one in loops
        if one.pseudo.share
    )
    return min(wanted, 2 * items)


def query_of(item: dict[str, Any], rng: np.random.Generator) -> str:
    """One query: the title, a span of it, or a handful of the item's facts.

    >>> rng = np.random.default_rng(0)
    >>> query_of({"title": "Lumo Mug 300 ml red", "brand": "Lumo", "color": "red", "category": None}, rng)
    'Lumo Mug 300 ml'
    """
    title = str(item["title"])
    kind = rng.random()
    if kind < 0.1:
        return title
    if kind < 0.4:
        return _span(title, rng)
    return _facts(item, rng) or _span(title, rng)


def _span(title: str, rng: np.random.Generator) -> str:
    """A run of words of the title; of characters where it is written without spaces."""
    parts = title.split()
    joint = " "
    if len(parts) < 3:
        parts, joint = list(title), ""
    scale = 1 if joint else 3
    length = int(rng.integers(_SHORTEST * scale, _LONGEST * scale + 1))
    first = int(rng.integers(0, max(1, len(parts) - length + 1)))
    return joint.join(parts[first : first + length]).strip() or title


def _facts(item: dict[str, Any], rng: np.random.Generator) -> str:
    """The item's kind with one or two of its facts, in a random order."""
    path: Sequence[str] = item.get("category") or []
    known = list(facts_of(item))
    if not path or not known:
        return ""
    wanted = min(len(known), 1 + int(rng.random() < 0.5))
    chosen = [known[index] for index in rng.choice(len(known), wanted, replace=False)]
    said = [*chosen, path[-1]]
    rng.shuffle(said)
    return " ".join(said)


def facts_of(item: dict[str, Any]) -> Iterator[str]:
    """Brand, colour and attributes of an item, as people would type them."""
    yield from filter(None, (item.get("brand"), item.get("color")))
    for name, value in item.get("attributes") or []:
        said = phrase(name, value or "")
        if 0 < len(said) <= _TYPED:
            yield said


@dataclass(frozen=True, eq=False)
class _WordIndex:
    """Which items hold which words, for w words.

    ``vocabulary``  word -> number
    ``start``       (w + 1,) the items of word i are ``item[start[i] : start[i + 1]]``
    ``item``        (postings,) increasing inside each word

    As in BM25, items hold what is ``indexed``, texts ask for ``words``: a lone CJK character may be anywhere.
    """

    vocabulary: dict[str, int]
    start: Ints
    item: Ints
    n_items: int

    @cached_property
    def _keys(self) -> Ints:
        """(postings,) word and item as one number, increasing."""
        word = np.repeat(np.arange(len(self.vocabulary)), np.diff(self.start))
        return word * self.n_items + self.item

    @classmethod
    def of(cls, items: pa.Table) -> _WordIndex:
        """All words that a query made of the items could have."""
        vocabulary: dict[str, int] = {}
        lists: list[set[int]] = []
        for batch in items.to_batches():
            for row in batch.to_pylist():
                said = [str(row["title"]), *(row["category"] or [])[-1:], *facts_of(row)]
                found = {word for text in said for word in indexed(text)}
                lists.append({vocabulary.setdefault(word, len(vocabulary)) for word in found})
        word = np.fromiter((w for some in lists for w in some), np.int64)
        owner = np.repeat(np.arange(len(lists)), [len(some) for some in lists])
        order = np.lexsort((owner, word))
        start = np.searchsorted(word[order], np.arange(len(vocabulary) + 1))
        return cls(vocabulary, start, owner[order], len(lists))

    def relevant(
        self, texts: Sequence[str], source: Ints, rng: np.random.Generator
    ) -> tuple[Ints, Ints]:
        """(pairs,) text and (pairs,) item: items that hold all words of a text that its source holds.

        Below, ``asked`` and ``word`` (c,) are flat (text, word) pairs; ``first`` (t,) says where each of the
        t texts with a word begins in them, ``count`` (t,) how many words it has.
        """
        asked, word = self._asked(texts, source)
        size = np.diff(self.start)[word]
        # The holders of a text's rarest word are its candidates; they must hold the others too.
        order = np.lexsort((size, asked))
        asked, word, size = asked[order], word[order], size[order]
        first = np.flatnonzero(np.diff(asked, prepend=-1))
        count = np.diff(first, append=len(asked))
        # A text without a known word is relevant to its source alone.
        silent = np.setdiff1d(np.arange(len(texts)), asked)
        found: list[tuple[Ints, Ints]] = [(silent, source[silent])]
        block = np.cumsum(np.minimum(size[first], _LOOKED)) // _CELLS
        for part in np.split(np.arange(len(first)), np.flatnonzero(np.diff(block)) + 1):
            query, item = self._agreed(asked, word, first[part], count[part], rng)
            found.append(_drawn(query, item, asked[first[part]], source, rng))
        query, item = np.concatenate(found, axis=1)
        order = np.lexsort((item, query))
        return query[order], item[order]

    def _asked(self, texts: Sequence[str], source: Ints) -> tuple[Ints, Ints]:
        """(c,) text and (c,) word of the distinct words of texts that their ``source`` (n,) holds.

        A span cut from a text without spaces may end in half a word; that one is left out.
        """
        pairs = [
            (number, self.vocabulary[word])
            for number, text in enumerate(texts)
            for word in sorted(set(words(text)))
            if word in self.vocabulary
        ]
        asked, word = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        own = self._holds(word, source[asked])
        return asked[own], word[own]

    def _agreed(
        self, asked: Ints, word: Ints, first: Ints, count: Ints, rng: np.random.Generator
    ) -> tuple[Ints, Ints]:
        """(pairs,) text and (pairs,) item: holders of a text's first word that hold its later words too.

        ``first`` and ``count`` (t,) as in ``relevant``, for some of the texts.
        """
        size = np.diff(self.start)[word[first]]
        looked = np.minimum(size, _LOOKED)
        text = np.repeat(np.arange(len(first)), looked)
        nth = np.arange(len(text)) - np.repeat(np.cumsum(looked) - looked, looked)
        # Of few holders every one; of many, one out of each of _LOOKED equal stretches.
        place = ((nth + rng.random(len(first))[text]) * (size / looked)[text]).astype(np.int64)
        item = self.item[self.start[word[first]][text] + place]
        for later in range(1, int(count.max(initial=1))):
            more = count[text] > later
            agrees = np.ones(len(text), dtype=bool)
            agrees[more] = self._holds(word[first[text[more]] + later], item[more])
            text, item = text[agrees], item[agrees]
        return asked[first][text], item

    def _holds(self, word: Ints, item: Ints) -> npt.NDArray[np.bool_]:
        """(r,) whether ``item`` (r,) holds ``word`` (r,), row by row."""
        wanted = word * self.n_items + item
        place = np.searchsorted(self._keys, wanted)
        found: npt.NDArray[np.bool_] = self._keys[np.minimum(place, len(self._keys) - 1)] == wanted
        return found


def _drawn(
    query: Ints, item: Ints, texts: Ints, source: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """(pairs,) query and item: of each of ``texts`` (t,) its source and at most ``_MOST`` - 1 others.

    ``query``, ``item`` (candidates,) are its positives, the source among them or not.
    """
    others = item != source[query]
    query = np.concatenate([texts, query[others]])
    item = np.concatenate([source[texts], item[others]])
    lot = np.concatenate([np.full(len(texts), -1.0), rng.random(len(query) - len(texts))])
    order = np.lexsort((lot, query))
    query, item = query[order], item[order]
    begins = np.flatnonzero(np.diff(query, prepend=-1))
    rank = np.arange(len(query)) - np.repeat(begins, np.diff(begins, append=len(query)))
    return query[rank < _MOST], item[rank < _MOST]
