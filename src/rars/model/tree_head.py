"""The tree head: predicts, from the query alone, how relevance divides below any prefix. Training only.

Owns: Eq. tree-score, a_l(v|u,q) = e_{l,v} . [h_l(q) * (1 + tanh c(u))] / sqrt(r) + beta_{l,v}, with
h_l(q) = W_l h-bar(q) and c(u) the sum of position-specific prefix embeddings (zero at the root). Ignores
targets and candidate sets (``rars.objectives.tree``). It is not saved with the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class TreeHead(nn.Module):
    """Depth projections W_l, child embeddings e and biases beta, and prefix embeddings b.

    ``slots[l]``   how many children are possible at depth l + 1
    ``scale``      the standard deviation of e and b at the start
    ``codewords``  per depth, (codes, dim) vectors to start e from, on their first principal axes
    ``tables``     per depth, the decoder's own table of codes, which e is then read from by a learned map
    """

    def __init__(
        self,
        width: int,
        slots: tuple[int, ...],
        rank: int = 64,
        *,
        scale: float = 0.02,
        codewords: Sequence[Tensor] | None = None,
        tables: Sequence[nn.Linear] | None = None,
    ) -> None:
        super().__init__()
        self.rank = rank
        self.depths = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in slots)
        # A tuple, not a module list: the tables stay the model's own parameters.
        self.tables = None if tables is None else tuple(tables)
        own = () if tables is not None else slots
        self.children_ = nn.ParameterList(
            nn.Parameter(scale * torch.randn(size, rank)) for size in own
        )
        self.maps = nn.ModuleList(
            nn.Linear(width, rank, bias=False) for _ in (slots if tables is not None else ())
        )
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(size)) for size in slots)
        # The last code of a full identifier is nobody's prefix.
        self.prefixes = nn.ParameterList(
            nn.Parameter(scale * torch.randn(size, rank)) for size in slots[:-1]
        )
        if codewords is not None:
            with torch.no_grad():
                self._start_from(codewords)

    def _start_from(self, codewords: Sequence[Tensor]) -> None:
        axes = torch.linalg.svd(torch.cat(list(codewords)), full_matrices=False).Vh[: self.rank]
        for words, children in zip(codewords, self.children_, strict=True):
            mapped = words[: len(children)] @ axes.T
            spread = float(mapped.std())
            # A suffix that only tells items apart has no codewords: it keeps its random start.
            if spread > 1e-6:
                children[: len(mapped), : mapped.shape[1]] = mapped / spread

    def embeddings(self, depth: int) -> Tensor:
        """E (slots, r) of every child at ``depth + 1``."""
        if self.tables is None:
            own: Tensor = self.children_[depth]
            return own
        mapped: Tensor = self.maps[depth](self.tables[depth].weight)
        return mapped

    def gate(self, codes: Tensor) -> Tensor:
        """1 + tanh c(u) (parents, r) of parents given by the slots on their path (parents, depth)."""
        total: Tensor = self.biases[0].new_zeros(len(codes), self.rank)
        for position in range(codes.shape[1]):
            total = total + self.prefixes[position][codes[:, position]]
        return 1 + torch.tanh(total)

    def contexts(self, depth: int, pooled: Tensor, query: Tensor, codes: Tensor) -> Tensor:
        """h_l(q) * (1 + tanh c(u)) / sqrt(r) for parents at ``depth`` (children at ``depth + 1``).

        ``pooled`` (B, d) are the queries, ``query`` (parents,) each parent's row in it.
        """
        projected: Tensor = self.depths[depth](pooled)[query]
        return projected * (self.gate(codes) / math.sqrt(self.rank))

    def scores(self, depth: int, contexts: Tensor) -> Tensor:
        """Scores (parents, slots) of every child slot."""
        return torch.addmm(self.biases[depth], contexts, self.embeddings(depth).T)

    def scores_at(self, depth: int, contexts: Tensor, parent: Tensor, slot: Tensor) -> Tensor:
        """Scores (edges,) of single children: the ragged counterpart of ``scores``."""
        children = self.embeddings(depth)[slot]
        bias: Tensor = self.biases[depth][slot]
        return (contexts[parent] * children).sum(-1) + bias
