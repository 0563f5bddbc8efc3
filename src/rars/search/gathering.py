"""What the weights of ``hybrid`` are fitted on: candidates of queries, and what each part says of them.

Owns: which items are candidates, and their scores in the units of search. Ignores the fit.

Candidates of a query are the items that some part of the evidence, their sum under the usual weights, or the
model's own beam puts first. A relevant item that none of them puts forward is left out: it would be there for
being relevant alone, and pull all weights down. Scores are those of the parts
(``rars.search.evidence.parts``) and the model's log-probability of the item's identifier, from a beam that
may go nowhere but to the candidates: nothing is pruned, and codes compete with the siblings of any search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from rars.arrays import Floats, Ints
from rars.evaluation.truth import Truth
from rars.progress import Advance
from rars.search.beam import NOTHING, Guide, Paths, beam_search, items_of
from rars.search.evidence.parts import most
from rars.search.fitting import EACH, Candidates
from rars.search.retriever import Readied, Retriever
from rars.search.routing import admit_leaves
from rars.search.rules import HybridSettings
from rars.systems import Query
from rars.tree.sorting import distinct

MODEL = "model"
"""The model's log-probability."""

_BATCH = 8


@dataclass(frozen=True, eq=False)
class Gathered:
    """Candidates of queries: their catalogue rows, and the names of their scores.

    ``names``  (parts,) ``MODEL`` and kinds of evidence
    ``items``  (candidates,)
    """

    names: tuple[str, ...]
    items: Ints
    candidates: Candidates

    def of(self, names: Sequence[str]) -> Floats:
        """The scores of these names, (candidates, names)."""
        return self.candidates.scores[:, [self.names.index(name) for name in names]]


def gather(
    retriever: Retriever,
    queries: Sequence[Query],
    truth: Truth,
    *,
    advance: Advance | None = None,
) -> Gathered:
    """The candidates of queries; ``truth`` numbers them in the same order."""
    searched = replace(retriever, hybrid=HybridSettings())
    first = np.searchsorted(truth.row, np.arange(len(queries) + 1))
    blocks = []
    for start in range(0, len(queries), _BATCH):
        end = min(start + _BATCH, len(queries))
        own = slice(int(first[start]), int(first[end]))
        known = truth.row[own] - start, truth.item[own], truth.gain[own]
        asked = [replace(query, rule="hybrid") for query in queries[start:end]]
        blocks.append(_block(searched, searched.readied(asked), *known))
        if advance:
            advance(end, len(queries))
    return Gathered(
        blocks[0].names,
        np.concatenate([one.items for one in blocks]),
        Candidates.joined([one.candidates for one in blocks]),
    )


@torch.inference_mode()
def _block(
    retriever: Retriever, readied: Readied, query: Ints, item: Ints, gain: Floats
) -> Gathered:
    """The candidates of one batch; ``query``, ``item`` and ``gain`` are what is relevant."""
    tree, n = retriever.tree, len(readied.plans)
    alone = replace(readied.guide, evidence=None)
    told = [one for one in readied.weighed if one is not None]
    assert len(told) == n, "a query without evidence"
    beam = _searched(retriever, readied, alone, readied.plans[0].width)
    offered = []
    for row, (weighed, plan) in enumerate(zip(told, readied.plans, strict=True)):
        found = items_of(tree, beam.leaves[row], EACH)[0]
        every = *(part for _, _, part in weighed.parts), weighed.evidence
        places = [most(one, EACH, plan.places) for one in every]
        offered.append(row * tree.n_items + np.concatenate([tree.positions[found], *places]))
    key = distinct(np.concatenate(offered).astype(np.int64))
    owner, place = key // tree.n_items, key % tree.n_items
    leaf = tree.leaves_of(tree.order[place]).astype(np.int64)
    stays = np.ones(len(key), dtype=bool)
    if alone.admitted is not None:  # what a search cannot find is no candidate
        stays = alone.admitted.allows(tree.depth - 1, owner, leaf)
    key, owner, place, leaf = key[stays], owner[stays], place[stays], leaf[stays]
    scores = {MODEL: _log_probability(retriever, readied, alone, owner, leaf)}
    bounds = np.searchsorted(owner, np.arange(n + 1))
    for part, (name, _, _) in enumerate(told[0].parts):
        scores[name] = np.concatenate(
            [
                one.parts[part][2].at(place[bounds[row] : bounds[row + 1]])
                for row, one in enumerate(told)
            ]
        )
    gains = np.zeros(len(key))
    relevant = query * tree.n_items + tree.positions[item]
    _, at, which = np.intersect1d(key, relevant, assume_unique=True, return_indices=True)
    gains[at] = gain[which]
    candidates = Candidates.of(n, owner, np.column_stack(list(scores.values())), gains)
    return Gathered(tuple(scores), tree.order[place], candidates)


def _log_probability(
    retriever: Retriever, readied: Readied, guide: Guide, query: Ints, leaf: Ints
) -> Floats:
    """What the model gives leaves, each for its query."""
    if not len(leaf):
        return np.zeros(0)
    tree = retriever.tree
    admitted = replace(guide, admitted=admit_leaves(tree, query, leaf))
    width = int(np.bincount(query).max())
    found = _searched(retriever, readied, admitted, width)
    row, beam = np.nonzero(found.leaves != NOTHING)
    key = row * tree.n_leaves + found.leaves[row, beam]
    order = np.argsort(key)
    at = np.searchsorted(key[order], query * tree.n_leaves + leaf)
    return np.asarray(found.model.sum(axis=2)[row, beam][order[at]])


def _searched(retriever: Retriever, readied: Readied, guide: Guide, width: int) -> Paths:
    options: dict[str, Any] = {"projected": readied.projected, "width": width, "guide": guide}
    model, vocabulary = retriever.ready.model, retriever.ready.architecture.vocabulary
    return beam_search(model, retriever.tree, vocabulary, readied.begun, **options)
