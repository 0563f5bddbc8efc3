"""Lists of items that loss terms ask for: negatives and ranked lists, mined anew as training goes on.

Owns: where listed items come from (``SOURCES``), putting them beside the relevant ones, and keeping what was
mined on disk, so that a resumed run goes on with the same lists. Ignores what a term does with them.

=========  ============================================================================================
random     items drawn uniformly from the catalogue
judged     items judged irrelevant to the query
bm25       the best by words that are not relevant
beam       the model's own best identifiers, by its beam as it is now
=========  ============================================================================================

A query's list holds all its relevant items and up to ``count`` others. Only judged queries get others.

Lists are ragged: kept as flat arrays (m,) over all queries, sorted by query, then catalogue row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rars import artifacts
from rars.arrays import Floats, Ints
from rars.errors import RarsError
from rars.objectives.common import ListRequest
from rars.training.packing import CandidateLists, TrainingSet, training_set
from rars.tree import Relevance

KIND = "candidates"
_DEPTH = 100
"""Places of a ranking that are looked at, at the least: relevant items among them are no negatives."""

Ranker = Callable[[Sequence[str], int], Sequence[Ints]]
"""Texts to catalogue rows, best first."""


class Mined(NamedTuple):
    """(query, item) pairs, flat: three arrays (m,).

    ``query``  its row in the training set
    ``item``   the catalogue row
    ``rank``   the item's place in the source's ranking, from 0; -1 where the source does not rank
    """

    query: Ints
    item: Ints
    rank: Ints


@dataclass(frozen=True, eq=False)
class MiningInputs:
    """What candidate lists are made from.

    ``texts``      (j,) of the judged queries, which are the first j rows of the training set
    ``relevance``  of all training queries
    ``refused``    (pairs,) query and (pairs,) item of what was judged irrelevant
    ``rankers``    what ranks the catalogue for texts, by source: ``bm25``; ``beam``, the model as it is now
    """

    texts: Sequence[str]
    relevance: Relevance
    refused: tuple[Ints, Ints]
    n_items: int
    rankers: Mapping[str, Ranker]
    seed: int = 0


@dataclass(frozen=True)
class Source:
    """Where listed items come from.

    ``mine``     (inputs, count, random numbers) -> pairs, the best of each query first; more than ``count`` a
                 query and relevant items among them do no harm
    ``follows``  whether lists depend on the model's weights and are made anew as it learns
    """

    about: str
    mine: Callable[[MiningInputs, int, np.random.Generator], Mined]
    follows: bool = False


def _random(mine: MiningInputs, count: int, rng: np.random.Generator) -> Mined:
    n = len(mine.texts)
    # A few more than asked for: relevant ones and repetitions are dropped later.
    drawn = rng.integers(mine.n_items, size=(n, 2 * count + 8))
    query = np.repeat(np.arange(n), drawn.shape[1])
    return Mined(query, drawn.ravel(), np.full(len(query), -1))


def _judged(mine: MiningInputs, count: int, rng: np.random.Generator) -> Mined:
    query, item = mine.refused
    order = rng.permutation(len(query))
    return Mined(query[order], item[order], np.full(len(query), -1))


def _ranked(name: str) -> Callable[[MiningInputs, int, np.random.Generator], Mined]:
    def mine_from(mine: MiningInputs, count: int, rng: np.random.Generator) -> Mined:
        if name not in mine.rankers:
            raise RarsError(
                f"Candidates from {name!r} need a catalogue that can be searched with it."
            )
        found = mine.rankers[name](mine.texts, max(_DEPTH, 2 * count))
        lengths = [len(items) for items in found]
        query = np.repeat(np.arange(len(found)), lengths)
        rank = np.concatenate([np.arange(length) for length in lengths])
        return Mined(query, np.concatenate(found).astype(np.int64), rank)

    return mine_from


SOURCES: dict[str, Source] = {
    "random": Source("items drawn uniformly", _random),
    "judged": Source("items judged irrelevant", _judged),
    "bm25": Source("the best by words", _ranked("bm25")),
    "beam": Source("the model's own best", _ranked("beam"), follows=True),
}


def lists_of(
    data: TrainingSet,
    mine: MiningInputs,
    asked: ListRequest,
    epoch: int,
    folder: Path,
    *,
    owner: str = "",
    write: bool = True,
) -> CandidateLists:
    """The lists of a term for an epoch: those kept in ``folder`` if they are of it, else mined and kept.

    ``owner`` is the digest of data and recipe: lists kept by another owner are mined anew.
    """
    known = _kept(folder, epoch, owner)
    if known is None:
        rng = np.random.default_rng([mine.seed, 13, epoch])
        known = with_relevant(
            mine.relevance, SOURCES[asked.source].mine(mine, asked.count, rng), asked.count
        )
        if write:
            _keep(folder, epoch, owner, known)
    return packed_lists(data, mine.relevance, known)


def with_relevant(relevance: Relevance, mined: Mined, count: int) -> Mined:
    """All relevant pairs, and of each query's other mined pairs the first ``count``; sorted by query, item.

    A relevant item that was mined too keeps its rank, one that was not gets -1.
    """
    # (query, item) as one number: ``own`` (relevant pairs,), ``key`` (mined pairs,).
    n_items = 1 + int(max(mined.item.max(initial=0), relevance.item.max(initial=0)))
    own = relevance.row.astype(np.int64) * n_items + relevance.item
    key = mined.query.astype(np.int64) * n_items + mined.item
    _, first = np.unique(key, return_index=True)
    first = np.sort(first)  # of repetitions the first, in the order mined
    key, rank = key[first], mined.rank[first]
    by_key = np.argsort(key, kind="stable")
    at = np.minimum(np.searchsorted(key[by_key], own), max(0, len(key) - 1))
    own_rank = np.full(len(own), -1)
    if len(key):
        own_rank = np.where(key[by_key][at] == own, rank[by_key][at], -1)
    other = ~np.isin(key, own)
    key, rank = key[other], rank[other]
    query = key // n_items
    order = np.argsort(query, kind="stable")
    key, rank, query = key[order], rank[order], query[order]
    nth = np.arange(len(query)) - np.searchsorted(query, query)
    key, rank = (
        np.concatenate([own, key[nth < count]]),
        np.concatenate([own_rank, rank[nth < count]]),
    )
    order = np.argsort(key, kind="stable")
    return Mined(key[order] // n_items, key[order] % n_items, rank[order])


def packed_lists(data: TrainingSet, relevance: Relevance, listed: Mined) -> CandidateLists:
    """Listed pairs (m,) as a training set of their own, so that they are packed like positives."""
    flat = Relevance.of(listed.query, listed.item, np.ones(len(listed.item)))
    mass = _masses(relevance, flat)
    total = np.ones(len(relevance.queries)) if relevance.total is None else relevance.total
    made = training_set(
        data.tree,
        data.vocabulary,
        flat,
        data.tokens,
        weight=data.weight,
        vectors=data.vectors,
        projected=data.projected,
        measure=data.measure,
        latent_rows=data.latent_rows,
        with_siblings=data.with_siblings,
    )
    return CandidateLists(
        data=made,
        start=made.pairs.start,
        item=flat.item,
        mass=mass,
        gain=mass * total[flat.row],
        rank=listed.rank,
        entry=made.pairs.leaf,
    )


def _masses(relevance: Relevance, flat: Relevance) -> Floats:
    """(m,) mu(d|q) of the listed pairs ``flat``; 0 where an item is not relevant."""
    size = 1 + int(flat.item.max(initial=0))
    known = relevance.row.astype(np.int64) * size + relevance.item
    order = np.argsort(known, kind="stable")
    wanted = flat.row.astype(np.int64) * size + flat.item
    at = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    hit = known[order][at] == wanted
    return np.where(hit, relevance.mass[order][at], 0.0)


def _kept(folder: Path, epoch: int, owner: str) -> Mined | None:
    if not folder.exists():
        return None
    artifact = artifacts.opening(folder, kind=KIND)
    if (artifact.meta["epoch"], artifact.meta["owner"]) != (epoch, owner):
        return None
    return Mined(*(np.asarray(artifact.array(name)) for name in Mined._fields))


def _keep(folder: Path, epoch: int, owner: str, mined: Mined) -> None:
    with artifacts.writing(folder, kind=KIND) as draft:
        draft.meta.update(epoch=epoch, owner=owner)
        for name, values in mined._asdict().items():
            draft.save_array(name, values)
