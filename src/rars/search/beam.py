"""Beam search over legal children: candidates are gathered from the tree, so no other identifier can exist.

Owns: S_AR(s|q) (Eq. inference-ar) and the order in which prefixes are expanded. Ignores texts and items.

The encoder runs once a query; the rows before the first code and the query's keys and values are shared by
all beams; a beam's own path is a handful of cached rows, re-indexed by gather. A query with fewer legal
identifiers than beams gets fewer results, never an illegal or a repeated one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rars.model.retriever import Retriever
from rars.objectives.common import group_logsumexp
from rars.tree import END, PrefixTree, SidVocabulary

Ints = npt.NDArray[np.integer[Any]]

NOTHING = -1


@dataclass(frozen=True)
class Found:
    """Leaves of the tree, best first: (queries, beams), ``NOTHING`` where there are no more."""

    leaves: Ints
    scores: npt.NDArray[np.float32]


@torch.inference_mode()
def beam_search(
    model: Retriever,
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    tokens: Tensor,
    mask: Tensor,
    *,
    vectors: Tensor | None = None,
    projected: Tensor | None = None,
    width: int = 100,
    normaliser: str = "depth",
) -> Found:
    """The ``width`` best identifiers of each query by the model's probability.

    ``normaliser`` is the one the model was trained with: over all choices of a depth, or over the legal
    ``children`` of each prefix.
    """
    encoded = model.encoder(tokens, mask, vectors)
    memory = model.decoder.memory(encoded.states, encoded.mask)
    inputs, _ = model.think(memory)
    hidden, cache = model.decoder.prefix(inputs, memory)
    hidden = hidden[:, -1:]
    nodes: Ints = np.zeros((len(tokens), 1), dtype=np.int64)
    scores = torch.zeros(len(tokens), 1, dtype=hidden.dtype)
    for depth in range(tree.depth):
        logits = model.logits(depth, hidden, None if projected is None else projected[:, None])
        beam, nodes, scores = _advance(
            tree, vocabulary, depth, nodes, scores, logits, width, normaliser
        )
        if depth + 1 < tree.depth:
            cache = cache.reordered(beam)
            code = tree.codes[depth][np.maximum(nodes, 0)]
            slots = torch.from_numpy(vocabulary.slot(np.maximum(code, 0), depth).astype(np.int64))
            hidden, cache = model.decoder.step(model.code_inputs[depth](slots), cache, memory)
    return Found(nodes, scores.numpy())


def _advance(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    depth: int,
    nodes: Ints,
    scores: Tensor,
    logits: Tensor,
    width: int,
    normaliser: str,
) -> tuple[Tensor, Ints, Tensor]:
    """Expand every live beam (B, W) to its legal children and keep the best ``width`` a query."""
    n, beams = nodes.shape
    live = np.flatnonzero(nodes.ravel() != NOTHING)
    owner, child = tree.expand(depth, nodes.ravel()[live])
    flat = live[owner]  # which beam of which query each child continues
    gained = _gain(tree, vocabulary, depth, nodes.ravel(), flat, child, logits, normaliser)
    total = scores.ravel()[torch.from_numpy(flat)] + gained
    query = flat // beams
    place = np.arange(len(flat)) - np.searchsorted(query, query)
    most = int(place.max()) + 1
    grid = torch.full((n, most), float("-inf"), dtype=total.dtype)
    grid[torch.from_numpy(query), torch.from_numpy(place)] = total
    best = torch.topk(grid, min(width, most), dim=1)
    index = np.full((n, most), 0)
    index[query, place] = np.arange(len(flat))
    chosen = np.take_along_axis(index, best.indices.numpy(), axis=1)
    missing = np.isneginf(best.values.numpy())
    kept = np.where(missing, NOTHING, child[chosen])
    beam = np.where(missing, 0, flat[chosen] % beams)
    return torch.from_numpy(beam), kept, best.values


def _gain(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    depth: int,
    nodes: Ints,
    flat: Ints,
    child: Ints,
    logits: Tensor,
    normaliser: str,
) -> Tensor:
    """Log-probability of each child given its beam; going on after the end costs nothing."""
    codes = tree.codes[depth][child].astype(np.int64)
    free = np.zeros(len(child), dtype=bool)
    if (codes == END).any():
        over = tree.codes[depth - 1][nodes[flat]] == END if depth else free
        free = (codes == END) & (over | (not vocabulary.ends[depth]))
        codes = np.where(free, 0, codes)
    slots = torch.from_numpy(vocabulary.slot(codes, depth).astype(np.int64))
    beam = torch.from_numpy(flat)
    if normaliser == "depth":
        gained = torch.log_softmax(logits, dim=-1).flatten(0, 1)[beam, slots]
    else:
        gained = logits.flatten(0, 1)[beam, slots]
        gained = gained - group_logsumexp(gained, beam, logits.shape[0] * logits.shape[1])[beam]
    return torch.where(torch.from_numpy(free), torch.zeros((), dtype=gained.dtype), gained)


def items_of(tree: PrefixTree, leaves: Ints, k: int) -> Ints:
    """The first ``k`` items of a row of leaves: those that share an identifier in catalogue order."""
    leaves = leaves[leaves != NOTHING]
    low, high = tree.item_ranges(tree.depth, leaves)
    counts = high - low
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(leaves)), counts)
    return np.asarray(tree.order[(low[owner] + np.arange(len(owner)) - first[owner])[:k]])
