"""What every objective shares: its signature, its result, and sums inside ragged groups.

An objective is a function ``loss(found, batch, context) -> Total``. It returns a sum over this process's
part of the batch and the weight to divide by, which is that of the whole batch; so several processes
that share a batch add up to what one would compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rars.model.batch import Refinement
from rars.model.tree_head import TreeHead


class Total(NamedTuple):
    """A summed loss and the weight of what it is a mean over."""

    sum: Tensor
    weight: float

    @property
    def mean(self) -> Tensor:
        """The loss as it enters the objective."""
        return self.sum / max(self.weight, 1e-12)


@dataclass(frozen=True)
class Context:
    """What an objective may need beside the pass: settings, the tree head, this step's random numbers.

    ``normaliser``    what a code of the decoder competes with: its ``depth``, or its legal ``children``
    ``per_token``     divide identifier likelihoods by their length, as T5's own loss does
    ``tree_depths``   how many depths the tree losses cover; a uniqueness suffix is left out
    ``siblings``      high, random, none or all; ``n_siblings`` of them at the most
    """

    normaliser: str = "depth"
    head: TreeHead | None = None
    generator: torch.Generator | None = None
    per_token: bool = True
    tree_depths: int | None = None
    siblings: str = "high"
    n_siblings: int = 32
    temperature: float = 1.0
    one_path: bool = False
    contrast: float = 0.1


def group_logsumexp(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Log of the summed exponentials of each group of a flat list; -inf for an empty group.

    >>> group_logsumexp(torch.tensor([0.0, 0.0, 3.0]), torch.tensor([0, 0, 2]), 3)
    tensor([0.6931,   -inf, 3.0000])
    """
    top = values.new_full((n_groups,), float("-inf"))
    top = top.scatter_reduce(0, group, values.detach(), "amax")
    finite = top.masked_fill(top.isinf(), 0.0)
    total = values.new_zeros(n_groups).index_add(0, group, (values - finite[group]).exp())
    return total.log() + finite


def legal_mask(step: Refinement, slots: int) -> Tensor:
    """(parents, slots): which children the catalogue has below each parent."""
    mask = torch.zeros(len(step.mass), slots, dtype=torch.bool, device=step.legal.device)
    mask[step.legal_parent, step.legal] = True
    return mask


def decoder_log_probabilities(logits: Tensor, step: Refinement, normaliser: str) -> Tensor:
    """Log p(v|q,u) (m,) of every relevance-bearing child under the decoder."""
    if normaliser == "children":
        logits = logits.masked_fill(~legal_mask(step, logits.shape[1]), float("-inf"))
    return torch.log_softmax(logits, dim=-1)[step.parent, step.slot]


def divergence(step: Refinement, log_probability: Tensor) -> Tensor:
    """Parent-mass-weighted KL(mu(.|u,q) || p) summed over a refinement (Eq. tree-loss)."""
    weight = step.mass[step.parent] * step.share
    return (weight * (step.share.log() - log_probability)).sum()
