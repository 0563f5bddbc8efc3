"""The evidence index of a large catalogue: read shard by shard, merged within a few chunks of memory.

Owns: cutting the items into row ranges, and merging what was read of them. The result has the bytes that
``EvidenceIndex.build`` and ``save`` write. Ignores what is read (``building``) and who reads
(``rars.scale``).

A shard holds postings over the rows of its range, independent of identifiers, so each text is read once and
in the order it lies on disk. Merging sums document frequencies first, which says where every term's list
begins; then, a range of terms at a time, the shards' lists are brought into SID order and written.

Why not by first code: items of one code lie all over the item file, so every shard would read all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars import artifacts
from rars.arrays import Longs
from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.progress import Advance
from rars.scale import AS_NEEDED, Engine
from rars.scale.shards import Shards, spans
from rars.search.evidence.building import read_items
from rars.search.evidence.extractor import Extractor
from rars.search.evidence.guarding import Unread
from rars.search.evidence.index import KIND, described
from rars.search.evidence.lists import Positions
from rars.search.evidence.postings import Postings, PostingsBuilder
from rars.search.evidence.terms import Terms
from rars.tree import PrefixTree

SHARD = "postings of rows"
_MOST, _FEWEST, _SHARDS = 50_000, 1_000, 20
"""Items of a shard, at most and at least; where neither binds, there are so many shards."""
MERGED = 2**22
"""Postings that are merged at once: 32 MB of keys."""


def shard_rows(items: int) -> int:
    """How many of so many items a shard has."""
    return min(_MOST, max(_FEWEST, items // _SHARDS))


def write_evidence(
    folder: Path,
    items: Path,
    tree: PrefixTree,
    extractors: Sequence[Extractor],
    *,
    work: Path,
    rows: int,
    engine: Engine = AS_NEEDED,
    advance: Advance | None = None,
) -> None:
    """Read an item file and write its evidence index; ``work`` is where shards are kept until then."""
    parts = spans(tree.n_items, rows)
    shards = Shards(work, SHARD, len(parts))

    def call(number: int) -> dict[str, Any]:
        return {"items": items, "rows": parts[number], "extractors": tuple(extractors)}

    def count(done: int, total: int) -> None:
        if advance:
            advance(min(done * rows, tree.n_items), tree.n_items)

    shards.complete(read_shard, call, engine=engine, advance=count)
    with artifacts.writing(folder, kind=KIND) as draft:
        draft.meta.update(described(tree, extractors))
        for name in ("words", "keys"):
            _merge(draft, name, shards, [start for start, _ in parts], tree.positions)
        lengths = np.empty(tree.n_items, dtype=np.int32)
        shards.join("lengths", lengths)
        draft.save_array("lengths", lengths[tree.order])
    _unread(shards).warn()


def read_shard(
    shards: Shards, number: int, items: Path, rows: tuple[int, int], extractors: Sequence[Extractor]
) -> None:
    """Write the postings and text lengths of one range of rows."""
    start, stop = rows
    words, keys = PostingsBuilder(), PostingsBuilder()
    lengths = np.zeros(stop - start, dtype=np.int32)
    wanted = np.arange(start, stop, dtype=np.int32)
    store = Columns(items, ITEMS)
    unread = read_items(store, extractors, wanted, words, keys, lengths, first=start)
    own = np.arange(stop - start, dtype=np.int32)
    with shards.writing(number) as draft:
        words.finish(own).save(draft, "words")
        keys.finish(own).save(draft, "keys")
        draft.save_array("lengths", lengths)
        draft.meta.update(counts=unread.counts, first=unread.first)


def _merge(
    draft: artifacts.Draft, name: str, shards: Shards, firsts: list[int], positions: Positions
) -> None:
    """Write the postings ``name`` of all shards, whose rows begin at ``firsts``, in SID order."""
    parts = [Postings.load(artifact, name) for artifact in shards]
    every = [part.terms.array() for part in parts]
    terms = Terms.of(pa.chunked_array(every, pa.large_string()))
    known = terms.array()
    numbers = [pc.index_in(own, known).to_numpy(zero_copy_only=False) for own in every]
    frequency = np.zeros(len(terms), dtype=np.int64)
    for part, number in zip(parts, numbers, strict=True):
        frequency[number] += np.diff(part.starts)
    starts = np.append(0, np.cumsum(frequency))
    draft.save_array(f"{name}-text", terms.text)
    draft.save_array(f"{name}-ends", terms.ends)
    draft.save_array(f"{name}-starts", starts)
    total = int(starts[-1])
    # A file of nothing cannot be mapped.
    room = draft.map_array if total else lambda _, kind, shape: np.zeros(shape, dtype=kind)
    places = room(f"{name}-positions", np.int32, (total,))
    counts = room(f"{name}-counts", np.uint8, (total,))
    bits = 8 + max(len(positions), 1).bit_length()
    for low, high in _ranges(starts, MERGED):
        keys = np.empty(int(starts[high] - starts[low]), dtype=np.int64)
        end = 0
        for part, number, first in zip(parts, numbers, firsts, strict=True):
            end += _keys(keys[end:], part, number, low, high, positions, first)
        keys.sort()
        there = slice(int(starts[low]), int(starts[high]))
        places[there] = keys >> 8 & (1 << bits - 8) - 1
        counts[there] = keys & 255
    if not total:
        draft.save_array(f"{name}-positions", places)
        draft.save_array(f"{name}-counts", counts)


def _keys(
    target: Longs,
    part: Postings,
    number: npt.NDArray[np.int32],
    low: int,
    high: int,
    positions: Positions,
    first: int,
) -> int:
    """One 64-bit number a posting (term, position, count) of the terms ``low`` to ``high``; how many."""
    bits = 8 + max(len(positions), 1).bit_length()
    begin, end = np.searchsorted(number, [low, high])
    here = slice(int(part.starts[begin]), int(part.starts[end]))
    sizes = np.diff(part.starts[begin : end + 1])
    found = target[: here.stop - here.start]
    found[:] = np.repeat(number[begin:end].astype(np.int64) - low, sizes) << bits
    found |= positions[part.positions[here] + np.int32(first)].astype(np.int64) << 8
    found |= part.counts[here]
    return len(found)


def _ranges(starts: Longs, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of terms with at most ``most`` postings together; a term with more is a range of its own."""
    low = 0
    while low < len(starts) - 1:
        high = int(np.searchsorted(starts, starts[low] + most, side="right")) - 1
        high = max(high, low + 1)
        yield low, high
        low = high


def _unread(shards: Shards) -> Unread:
    """What extractors could not read, of all shards."""
    every = Unread()
    for artifact in shards:
        for name, count in artifact.meta["counts"].items():
            every.counts[name] = every.counts.get(name, 0) + int(count)
            every.first.setdefault(name, artifact.meta["first"][name])
    return every
