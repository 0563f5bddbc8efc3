"""One pass over a catalogue: words and attribute keys of every item, block by block.

Owns: reading the item columns in blocks, so that memory holds the postings and one block of texts; and
carrying postings over to a changed catalogue, where only new items are read. Ignores queries. The work is
linear in the text; each block is folded and scanned as one string.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.arrays import Ints as Rows
from rars.data import Dataset
from rars.data.store import Columns
from rars.errors import RarsError
from rars.progress import Advance
from rars.search.evidence.extractor import Extractor
from rars.search.evidence.growth import Dictionary, changed, shared_since
from rars.search.evidence.guarding import Unread
from rars.search.evidence.lexical import Words
from rars.search.evidence.lists import GONE, Moves
from rars.search.evidence.postings import Postings, PostingsBuilder
from rars.search.evidence.text import block_of, features
from rars.tree import PrefixTree

FIELDS = ("title", "text", "brand", "color")
"""The catalogue text: where words are looked for."""

BLOCK = 10_000
_READ_THROUGH = 500_000
"""Items that are read before the long work, of more."""
NEW = -1
"""The origin of an item that the old catalogue did not have."""


@dataclass(frozen=True, eq=False)
class Old:
    """The postings of a catalogue before it changed, and its tree."""

    tree: PrefixTree
    words: Words
    keys: Dictionary


def build_postings(
    dataset: Dataset,
    tree: PrefixTree,
    extractors: Sequence[Extractor],
    advance: Advance | None = None,
) -> tuple[Words, Postings]:
    """The words and the attribute keys of every item, as postings over the items in SID order."""
    words, keys = PostingsBuilder(), PostingsBuilder()
    every = np.arange(_checked(dataset, tree), dtype=np.int32)
    lengths = np.zeros(len(every), dtype=np.int32)
    read_items(dataset.item_store, extractors, every, words, keys, lengths, advance).warn()
    return Words(words.finish(tree.positions), lengths[tree.order]), keys.finish(tree.positions)


def carry_postings(
    old: Old,
    origin: Rows,
    dataset: Dataset,
    tree: PrefixTree,
    extractors: Sequence[Extractor],
    advance: Advance | None = None,
) -> tuple[Words, Dictionary]:
    """The same after a change: ``origin`` is each item's row in the old catalogue, or ``NEW``."""
    words, keys = PostingsBuilder(), PostingsBuilder()
    lengths = np.zeros(_checked(dataset, tree), dtype=np.int32)
    kept, new = np.flatnonzero(origin != NEW), np.flatnonzero(origin == NEW).astype(np.int32)
    before = old.tree.positions[origin[kept]]
    to = np.full(old.tree.n_items, GONE, dtype=np.int32)
    to[before] = tree.positions[kept]
    moves = Moves(to, tree.n_items)
    lengths[kept] = old.words.lengths[before]
    read_items(dataset.item_store, extractors, new, words, keys, lengths, advance).warn()
    since = shared_since(old.words.postings, moves)
    new_words, new_keys = words.finish(tree.positions), keys.finish(tree.positions)
    return (
        Words(changed(old.words.postings, moves, new_words, since), lengths[tree.order]),
        changed(old.keys, moves, new_keys, since),
    )


def read_through(
    dataset: Dataset, extractors: Sequence[Extractor], advance: Advance | None = None
) -> None:
    """Read items as ``build_postings`` does, and keep nothing: what cannot be read is found so.

    Of a large catalogue, blocks at even distances: one text that cannot be read costs nothing later either
    (``guarding``), and what is wrong with a whole column is seen in any of them.
    """
    wanted = _spread(dataset.n_items, _READ_THROUGH)
    lengths = np.zeros(dataset.n_items, dtype=np.int32)
    store = dataset.item_store
    read_items(store, extractors, wanted, _Nothing(), _Nothing(), lengths, advance).warn()


def _spread(count: int, most: int) -> npt.NDArray[np.int32]:
    """All rows, or about ``most`` of them in whole blocks, the first and the last among them."""
    rows = np.arange(count, dtype=np.int32)
    blocks = -(-count // BLOCK)
    if count <= most:
        return rows
    chosen = np.linspace(0, blocks - 1, most // BLOCK).astype(np.int64)
    return rows[np.isin(rows // BLOCK, chosen)]


class _Nothing(PostingsBuilder):
    """Takes finds and forgets them."""

    def add(
        self, terms: Sequence[str], code: npt.NDArray[np.int32], row: npt.NDArray[np.int32]
    ) -> None:
        """Nothing but the check that the finds can be kept."""
        pa.array(terms, pa.large_string())


def _checked(dataset: Dataset, tree: PrefixTree) -> int:
    if dataset.n_items != tree.n_items:
        raise RarsError(
            f"{dataset.where} has {dataset.n_items} items, but the identifiers are of {tree.n_items}."
        )
    return tree.n_items


def read_items(
    store: Columns,
    extractors: Sequence[Extractor],
    wanted: npt.NDArray[np.int32],
    words: PostingsBuilder,
    keys: PostingsBuilder,
    lengths: npt.NDArray[np.int32],
    advance: Advance | None = None,
    first: int = 0,
) -> Unread:
    """Put what the wanted rows have into the builders and their text lengths into ``lengths``.

    Both count rows from ``first``. What extractors could not read is given back, to be told.
    """
    columns = list(dict.fromkeys([*FIELDS, *(name for e in extractors for name in e.columns)]))
    done = 0
    unread = Unread()
    for numbers, rows in store.blocks(columns, wanted, BLOCK):
        number = numbers.astype(np.int32, copy=False)
        place = number - np.int32(first)
        for found in features(block_of([rows[name] for name in FIELDS])):
            words.add(found.surfaces, found.code, place[found.row])
            lengths[place] += np.bincount(found.row, minlength=len(place)).astype(np.int32)
        for extractor in extractors:
            found = unread.items(extractor, rows, number)
            keys.add(found.surfaces, found.code, place[found.row])
        done += len(number)
        if advance:
            advance(done, len(wanted))
    return unread
