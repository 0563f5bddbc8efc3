"""The exact scorer: the score of every admitted identifier, with nothing pruned.

Owns: the same beam score S_LT(s|q) (Eq. rars-score) for a whole catalogue, as an oracle for the beam and as a
choice for small catalogues. Ignores texts and items.

The tree is walked depth first in chunks of prefixes, so that only the rows of one chunk a depth are alive at
any time; every prefix is decoded once and its children's terms are written into tables (queries, nodes).
Scores of identifiers are then sums down the tree. Prefixes that no query of the batch admits are not walked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rars.arrays import Bools, Floats, Ints
from rars.model.decoder import Cache
from rars.model.identifier_model import IdentifierModel
from rars.search.beam import NOTHING, Begun, Guide, Paths, code_rows, first_largest, on, step_gain
from rars.tree import PrefixTree, SidVocabulary

ROWS = 1024
"""Decoder rows of a chunk, over all queries of a batch."""


@torch.inference_mode()
def exact_search(
    model: IdentifierModel,
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    begun: Begun,
    *,
    projected: Tensor | None = None,
    width: int = 100,
    guide: Guide = Guide(),
    rows: int = ROWS,
) -> Paths:
    """The ``width`` best identifiers of each query; what ``beam_search`` finds if it never prunes."""
    gained = tuple(np.zeros((len(begun), tree.n_nodes(d + 1))) for d in range(tree.depth))
    walk = _Walk(model, tree, vocabulary, begun, projected, guide, rows, gained)
    walk.below(0, np.zeros(1, dtype=np.int64), begun.hidden, begun.cache)
    added = tuple(_evidence(tree, guide, depth, len(begun)) for depth in range(tree.depth))
    scores = _summed(tree, guide, gained, added)
    return _ranked(tree, scores, gained, added, min(width, tree.n_leaves))


@dataclass(frozen=True, eq=False)
class _Walk:
    """One walk over the tree; ``gained[l]`` (queries, nodes at l + 1) is what it fills."""

    model: IdentifierModel
    tree: PrefixTree
    vocabulary: SidVocabulary
    begun: Begun
    projected: Tensor | None
    guide: Guide
    rows: int
    gained: tuple[Floats, ...]

    def below(self, depth: int, nodes: Ints, hidden: Tensor, cache: Cache) -> None:
        """Score the children of nodes at ``depth`` (W,), decoded as ``hidden`` (B, W, d), and go on."""
        queries = len(self.begun)
        projected = None if self.projected is None else self.projected[:, None]
        logits = self.model.logits(depth, hidden, projected)
        owner, child = self.tree.expand(depth, nodes)
        beam = (np.arange(queries)[:, None] * len(nodes) + owner).ravel()
        gained = step_gain(
            self.tree,
            self.vocabulary,
            depth,
            np.tile(nodes, queries),
            beam,
            np.tile(child, queries),
            logits,
            self.guide,
        )
        self.gained[depth][:, child] = gained.reshape(queries, -1)
        if depth + 1 == self.tree.depth:
            return
        stays = np.flatnonzero(_admitted(self.guide, depth, queries, child).any(axis=0))
        size = max(1, self.rows // queries)
        for start in range(0, len(stays), size):
            part = stays[start : start + size]
            self._step(depth, owner[part], child[part], cache)

    def _step(self, depth: int, owner: Ints, child: Ints, cache: Cache) -> None:
        """Decode some children, given by the place of their parents in the cache, and go below them."""
        queries = len(self.begun)
        came_from = on(self.begun.hidden.device, owner).expand(queries, -1)
        inputs = code_rows(self.model, self.tree, self.vocabulary, depth, child)
        hidden, longer = self.model.decoder.step(
            inputs.expand(queries, -1, -1), cache.reordered(came_from), self.begun.memory
        )
        self.below(depth + 1, child, hidden, longer)


def _admitted(guide: Guide, depth: int, queries: int, nodes: Ints) -> Bools:
    """Which nodes at ``depth + 1`` each query may use, (queries, nodes)."""
    if guide.admitted is None:
        return np.ones((queries, len(nodes)), dtype=bool)
    query = np.repeat(np.arange(queries), len(nodes))
    return guide.admitted.allows(depth, query, np.tile(nodes, queries)).reshape(queries, -1)


def _evidence(tree: PrefixTree, guide: Guide, depth: int, queries: int) -> Floats:
    """What evidence adds at every node at ``depth + 1``, (queries, nodes)."""
    nodes = tree.n_nodes(depth + 1)
    if guide.evidence is None:
        return np.broadcast_to(0.0, (queries, nodes))
    query = np.repeat(np.arange(queries), nodes)
    every = np.tile(np.arange(nodes), queries)
    return guide.added(tree, depth, query, every, queries).reshape(queries, nodes)


def _summed(
    tree: PrefixTree, guide: Guide, gained: tuple[Floats, ...], added: tuple[Floats, ...]
) -> Floats:
    """The score of every leaf (queries, leaves); -inf where it is not admitted."""
    queries = len(gained[0])
    total: Floats = np.zeros((queries, 1))
    for depth in range(tree.depth):
        every = np.arange(tree.n_nodes(depth + 1))
        total = total[:, tree.parents(depth + 1, every)] + gained[depth] + added[depth]
        total = np.where(_admitted(guide, depth, queries, every), total, -np.inf)
    return total


def _ranked(
    tree: PrefixTree,
    scores: Floats,
    gained: tuple[Floats, ...],
    added: tuple[Floats, ...],
    width: int,
) -> Paths:
    """The best leaves, best first and ties in the order of the tree, with their terms at each depth."""
    leaves = first_largest(scores, width)
    order = np.argsort(-np.take_along_axis(scores, leaves, axis=1), axis=1, kind="stable")
    leaves = np.take_along_axis(leaves, order, axis=1)
    best = np.take_along_axis(scores, leaves, axis=1)
    model, evidence = (np.zeros((*leaves.shape, tree.depth)) for _ in range(2))
    nodes = leaves
    for depth in range(tree.depth - 1, -1, -1):
        model[:, :, depth] = np.take_along_axis(gained[depth], nodes, axis=1)
        evidence[:, :, depth] = np.take_along_axis(added[depth], nodes, axis=1)
        nodes = tree.parents(depth + 1, nodes.ravel()).reshape(nodes.shape)
    return Paths(np.where(best == -np.inf, NOTHING, leaves), best, model, evidence)
