"""Sampled tree: the tree head trained on drawn one-hot targets, the control for target noise.

Target:            one child drawn from mu_l(.|u,q) at every relevance-bearing parent; with ``one_path``, the
                   parents and children of one item drawn from mu(d|q) per query
Normalised over:   the same candidates as ``tree``
Weight:            the parents' mass (1 along a drawn path); mean over queries; lambda_tree
Gradient reaches:  the tree head and the shared query encoder; never the decoder
Related:           its expected gradient is that of ``tree``, with variance 1 - ||mu||^2 at each parent
                   (Eq. gradient-variance)
"""

from __future__ import annotations

import torch
from torch import Tensor

from rars.model.batch import Batch, Refinement
from rars.model.retriever import Pass
from rars.objectives.candidates import log_probabilities
from rars.objectives.common import Context, Total


def loss(found: Pass, batch: Batch, context: Context) -> Total:
    """Negative log-probability of drawn children, weighted like the distribution they are drawn from."""
    assert context.head is not None, "the tree loss needs a tree head"
    depths = context.tree_depths or len(batch.refinements)
    total = found.encoded.pooled.new_zeros(())
    weight = reached = batch.weight
    for depth, step in enumerate(batch.refinements[:depths]):
        if not context.one_path:
            weight = step.mass
        elif depth:
            weight = reached[step.edge]
        log_p = log_probabilities(context.head, depth, step, found.encoded.pooled, context)
        chosen = draw(step, context.generator)
        total = total - (weight * log_p[chosen]).sum()
        # Where the drawn path goes on: the chosen child keeps its parent's weight, the others get none.
        reached = torch.zeros_like(step.share).index_put((chosen,), weight)
    return Total(total, batch.n_queries)


def draw(step: Refinement, generator: torch.Generator | None) -> Tensor:
    """One child (an index into the refinement's edges) for every parent, drawn from its share."""
    noise = torch.rand(step.share.shape, generator=generator, dtype=torch.float64)
    # Exponential races: the smallest waiting time wins with probability proportional to the share.
    waiting = -torch.log1p(-noise).to(step.share.device) / step.share.double()
    first = torch.full((len(step.mass),), float("inf"), dtype=torch.float64, device=waiting.device)
    first = first.scatter_reduce(0, step.parent, waiting, "amin")
    winners = torch.nonzero(waiting == first[step.parent]).flatten()
    chosen = torch.zeros(len(step.mass), dtype=torch.long, device=waiting.device)
    chosen[step.parent[winners]] = winners
    return chosen
