"""Latent category states: before the first code the decoder computes one state per category level.

Owns: the latent inputs (CaLIR), the category head of each level, and the projection and prototypes of the
contrastive term. Ignores the losses (``rars.objectives``) and what is done with the categories
(``rars.search``).

State z_j (j = 1..J) is the decoder's output at position j - 1; it is fed back through a linear layer and a
norm, plus a learned level embedding, as the input of position j (``feedback``). With ``slots`` the inputs are
learned instead, so that all states come from one pass. The first code is predicted from the position after
z_J.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class CategoryStates(nn.Module):
    """Heads over a category tree with ``sizes[j]`` nodes at level j + 1.

    ``parents[j]`` (nodes at level j + 1,) is each node's parent one level up; level 1 hangs from node 0.
    """

    def __init__(
        self, width: int, sizes: tuple[int, ...], mode: str, prototype_dim: int = 256
    ) -> None:
        super().__init__()
        self.mode = mode
        self.levels = len(sizes)
        self.level_inputs = nn.Parameter(torch.randn(self.levels, width))
        if mode == "feedback":
            self.feed: Any = nn.Linear(width, width)
            self.feed_norm: Any = nn.LayerNorm(width)
        self.heads = nn.ModuleList(nn.Linear(width, size) for size in sizes)
        self.projection = nn.Linear(width, prototype_dim)
        self.prototypes = nn.ModuleList(nn.Embedding(size, prototype_dim) for size in sizes)
        for level, size in enumerate(sizes):
            self.register_buffer(f"parents_{level}", torch.zeros(size, dtype=torch.long))

    def feed_back(self, level: int, state: Tensor) -> Tensor:
        """The decoder input (B, d) of the next position, made from the state (B, d) of a level (0-based)."""
        fed: Tensor = self.feed_norm(self.feed(state)) + self.level_inputs[level]
        return fed

    def parents(self, level: int) -> Tensor:
        """(nodes at this level,) each node's parent at the level above; levels are 0-based."""
        found: Tensor = getattr(self, f"parents_{level}")
        return found

    def logits(self, level: int, states: Tensor) -> Tensor:
        """Scores (B, nodes at this level) from the level's states (B, d)."""
        scores: Tensor = self.heads[level](states)
        return scores

    def log_probabilities(self, states: Tensor) -> list[Tensor]:
        """Log P(path) of every category node, per level (B, nodes): sums of the conditional logs.

        ``states`` is (B, J, d). Each level is normalised over the children of each parent.
        """
        above = states.new_zeros(len(states), 1)
        found = []
        for level in range(self.levels):
            parents = self.parents(level).expand(len(states), -1)
            scores = self.logits(level, states[:, level])
            above = above.gather(1, parents) + grouped_log_softmax(scores, parents, above.shape[1])
            found.append(above)
        return found

    def similarities(self, level: int, states: Tensor, nodes: Tensor) -> Tensor:
        """Cosines (B, nodes) between projected states (B, d) and the prototypes of ``nodes``."""
        seen = functional.normalize(self.projection(states), dim=-1)
        known = functional.normalize(self.prototypes[level](nodes), dim=-1)
        return seen @ known.T


def grouped_log_softmax(scores: Tensor, groups: Tensor, n_groups: int) -> Tensor:
    """Log-softmax of each row of ``scores`` (B, n) inside groups (B, n) of its columns.

    >>> s = torch.tensor([[1.0, 1.0, 5.0]])
    >>> grouped_log_softmax(s, torch.tensor([[0, 0, 1]]), 2).exp()
    tensor([[0.5000, 0.5000, 1.0000]])
    """
    top = scores.new_full((len(scores), n_groups), float("-inf"))
    top = top.scatter_reduce(1, groups, scores.detach(), "amax").gather(1, groups)
    shifted = scores - top
    total = scores.new_zeros(len(scores), n_groups).scatter_add(1, groups, shifted.exp())
    return shifted - total.log().gather(1, groups)
