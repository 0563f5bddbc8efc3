"""The semantic prior: what the query vector alone says about identifiers, as logits.

Owns: the similarity q . x(s) of a query vector q to an identifier's reconstruction x(s), the sum of its
codewords, divided among the codes of s. Logits are b_l x the decoder's own + a_l x the prior's; with small
b_l an untrained model ranks items by the similarity to their reconstruction. Ignores how query vectors and
codewords are made.

Two forms (``model.prior``):

- ``codes``: each code gets its own term, a_l q . c_l. Summed along a path they are the similarity; so are the
  log-probabilities where all codes of a depth compete. Among legal siblings alone every parent has a
  normaliser of its own, and the product of local softmaxes forgets how well the parent matched.
- ``identifiers``: there, the measure p0(s|q) ~ exp(beta q . x(s)) over the catalogue's identifiers is
  projected onto the tree, as relevance is (Eq. projection), and a child gets a_l log p0(v|u,q).

Beta is calibrated before training (``rars.training.prepare``). The scales a_l and b_l are learned with the
decoder (``objective.prior = "inside"``), or on validation queries once the decoder has learned by itself
(``"beside"``, ``rars.training.mixing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from rars.arrays import Floats, Ints
from rars.model.reached import ReachedShares, Sample
from rars.tree import PrefixTree, SidVocabulary
from rars.tree.descent import code_terms

NodeTerms = Sequence[Floats] | ReachedShares
"""What a prior gives nodes, ``terms[depth][query, node]``: a table of all, or worked out when asked for."""

LARGE = 100_000
"""Identifiers from which on a pass over all of them, for every query, costs more than what is asked about."""
OWN_PART = 0.1
"""How much the decoder's own logits count at first."""
OWN_PART_BESIDE = 0.35
"""How much they count when they were learned without the prior, and no held-out query says how much."""


class SemanticPrior(nn.Module):
    """Codewords, the learned scales of each depth, and (``projected`` form) the sharpness of the measure.

    ``scales`` is how much the prior counts, ``own`` how much the decoder's own logits beside it. END has no
    codeword: its row is zero.
    """

    sharpness: Tensor

    def __init__(self, dim: int, slots: tuple[int, ...], *, projected: bool = False) -> None:
        super().__init__()
        self.projected = projected
        self.scales = nn.Parameter(torch.ones(len(slots)))
        self.own = nn.Parameter(torch.full((len(slots),), OWN_PART))
        self.register_buffer("sharpness", torch.ones(()))
        for depth, size in enumerate(slots):
            self.register_buffer(f"codewords_{depth}", torch.zeros(size, dim))

    def codewords(self, depth: int) -> Tensor:
        """(choices at depth + 1, dim)."""
        words: Tensor = getattr(self, f"codewords_{depth}")
        return words

    def of_codes(self, depth: int, vectors: Tensor) -> Tensor:
        """Each code's own term: logits (..., choices) for query vectors (..., dim)."""
        return self.scales[depth] * (vectors @ self.codewords(depth).T)

    def of_nodes(self, measure: PriorMeasure, vectors: Tensor, weight: float = 1.0) -> list[Floats]:
        """Each node's term in the projected form, times ``weight``: (queries, nodes) for each depth."""
        scales = (weight * self.scales).tolist()
        shares = measure.log_shares(vectors.cpu().numpy())
        return [scale * share for scale, share in zip(scales, shares, strict=True)]

    def of_reached(self, measure: PriorMeasure, vectors: Tensor, weights: Floats) -> ReachedShares:
        """The same times ``weights`` (queries,), worked out for the nodes that are asked about."""
        scales = np.outer(weights, self.scales.detach().cpu().numpy())
        return measure.reached(vectors.cpu().numpy(), scales)

    def measure(self, tree: PrefixTree, vocabulary: SidVocabulary) -> PriorMeasure | None:
        """p0 over the identifiers of a catalogue, as sharp as it was calibrated; None in the other form."""
        if not self.projected:
            return None
        words = [self.codewords(depth).detach().cpu().numpy() for depth in range(tree.depth)]
        return PriorMeasure(tree, vocabulary, words, float(self.sharpness))


@dataclass(frozen=True, eq=False)
class PriorMeasure:
    """p0(s|q) ~ exp(sharpness q . x(s)) over the identifiers of a tree."""

    tree: PrefixTree
    vocabulary: SidVocabulary
    codewords: Sequence[Floats]
    sharpness: float = 1.0

    @cached_property
    def _slots(self) -> list[Ints]:
        """The slot of every node of each depth."""
        return [self.vocabulary.slot(codes, d) for d, codes in enumerate(self.tree.codes)]

    @cached_property
    def _parents(self) -> list[Ints]:
        """The parent of every node of each depth."""
        depths = range(1, self.tree.depth + 1)
        return [self.tree.parents(d, np.arange(self.tree.n_nodes(d))) for d in depths]

    @cached_property
    def _contested(self) -> list[_Contested]:
        return [_Contested.of(pointers) for pointers in self.tree.children]

    def similarities(self, vectors: Floats) -> Floats:
        """Similarity q . x(s) of every identifier, (queries, leaves), for query vectors (queries, dim)."""
        found = np.zeros((len(vectors), 1), dtype=vectors.dtype)
        for depth, words in enumerate(self.codewords):
            terms = vectors @ words.T.astype(vectors.dtype)
            # Below an END there is only END, which may have no slot: one more column of zeros stands for it.
            terms = np.pad(terms, ((0, 0), (0, 1)))
            found = found.take(self._parents[depth], axis=1)
            found += terms.take(self._slots[depth], axis=1)
        return found

    def log_shares(self, vectors: Floats) -> tuple[Floats, ...]:
        """Log p0(v|u,q) of every node v below its parent u: (queries, nodes) for each depth."""
        mass = self.sharpness * self.similarities(vectors)
        shares: list[Floats] = []
        for depth in range(self.tree.depth - 1, -1, -1):
            mass, share = self._contested[depth].divided(mass, self.tree.children[depth][:-1])
            shares.append(share)
        return tuple(shares[::-1])

    @property
    def large(self) -> bool:
        """Whether shares are better worked out for the nodes that are asked about."""
        return self.tree.n_leaves > LARGE

    def shares(self, vectors: Floats) -> NodeTerms:
        """Log p0(v|u,q), of all nodes or, in a large catalogue, of those that are asked about."""
        if not self.large:
            return self.log_shares(vectors)
        return self.reached(vectors, np.ones((len(vectors), self.tree.depth)))

    @cached_property
    def _sample(self) -> Sample:
        return Sample.of(self.tree)

    def reached(self, vectors: Floats, scales: Floats) -> ReachedShares:
        """The same for nodes that are asked about (``rars.model.reached``); ``scales`` (queries, depth)."""
        words = [w[:size] for w, size in zip(self.codewords, self.vocabulary.sizes, strict=True)]
        terms = [self.sharpness * one for one in code_terms(vectors, words)]
        return ReachedShares(self.tree, self._sample, terms, scales)


@dataclass(frozen=True, eq=False)
class _Contested:
    """The c nodes of one depth that have siblings, in f families; an only child, as most are, has share 1.

    ``node``   (c,) the nodes, in order; ``group`` (c,) the family of each
    ``first``  (f,) where each family begins in ``node``; ``parent`` (f,) its parent, one depth up
    """

    node: Ints
    group: Ints
    first: Ints
    parent: Ints

    @classmethod
    def of(cls, pointers: Ints) -> _Contested:
        """From child pointers (parents + 1,): where the children of each parent begin."""
        counts = np.diff(pointers)
        parent = np.flatnonzero(counts > 1)
        sizes = counts[parent]
        first = np.cumsum(sizes) - sizes
        group = np.repeat(np.arange(len(parent)), sizes)
        return cls(
            pointers[parent][group] + np.arange(len(group)) - first[group], group, first, parent
        )

    def divided(self, mass: Floats, eldest: Ints) -> tuple[Floats, Floats]:
        """Log mass of parents (queries, parents) and log shares of nodes (queries, nodes).

        ``mass`` (queries, nodes) is the nodes' log mass; ``eldest`` (parents,) the first child of each
        parent, whose mass is that of a parent with one child.
        """
        above, share = mass.take(eldest, axis=1), np.zeros_like(mass)
        if len(self.node):
            part = mass.take(self.node, axis=1)
            top = np.maximum.reduceat(part, self.first, axis=1)
            sums = np.add.reduceat(np.exp(part - top.take(self.group, axis=1)), self.first, axis=1)
            total = top + np.log(sums)
            above[:, self.parent] = total
            share[:, self.node] = part - total.take(self.group, axis=1)
        return above, share
