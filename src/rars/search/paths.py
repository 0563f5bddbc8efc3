"""The best identifiers of queries, before they become items.

Owns: ranking leaves of the tree for a list of queries. Items that share an identifier share its place, so
measures of identifiers need exactly this and not a list of items cut off at k. Ignores items.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from rars.progress import Advance
from rars.search.beam import NOTHING, beam_search
from rars.search.retriever import Retriever
from rars.systems import Query, Ranked

_CELLS = 3200
"""Queries x beams of one batch."""


@torch.inference_mode()
def best_identifiers(
    retriever: Retriever, queries: Sequence[Query], k: int = 100, *, advance: Advance | None = None
) -> Ranked:
    """The first ``k`` identifiers (leaves) of each query, best first, by a beam as wide as its search's."""
    lists, scores = [], []
    size = max(1, _CELLS // max(k, retriever.settings.width))
    for start in range(0, len(queries), size):
        readied = retriever.readied(queries[start : start + size])
        found = beam_search(
            retriever.ready.model,
            retriever.tree,
            retriever.ready.architecture.vocabulary,
            readied.begun,
            projected=readied.projected,
            width=max(one.width for one in readied.plans),
            guide=readied.guide,
        )
        for leaves, values in zip(found.leaves[:, :k], found.scores[:, :k], strict=True):
            some = leaves != NOTHING
            lists.append(leaves[some].astype(np.int32))
            scores.append(values[some])
        if advance:
            advance(len(lists), len(queries))
    return Ranked.of_lists(lists, scores)
