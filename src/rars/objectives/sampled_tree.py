"""Sampled tree: the tree head trained on drawn one-hot targets, the control for target noise.

loss = - mean over queries q of sum_l sum_u mu_{l-1}(u|q) log p_l(v|u,q), v drawn from mu_l(.|u,q)

Target:            one child drawn from mu_l(.|u,q) at every relevance-bearing parent; with ``one_path``, the
                   parents and children of one item drawn from mu(d|q) per query
Normalised over:   the same candidates as ``tree``
Weight:            the parents' mass (1 along a drawn path); mean over queries
Gradient reaches:  the tree head and the shared query encoder; never the decoder
Related:           its expected gradient is that of ``tree``, with variance 1 - ||mu||^2 at each parent
                   (Eq. gradient-variance)
"""

from __future__ import annotations

import torch
from torch import Tensor

from rars.model.batch import Batch, Refinement
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total
from rars.objectives.siblings import HeadSettings, log_probabilities, tree_head


class SampledSettings(HeadSettings):
    """The settings of the tree head, and what is drawn."""

    one_path: bool = False
    """Draw one item a query and follow its path, instead of a child at every relevance-bearing parent."""


def loss(found: Pass, batch: Batch, context: Context, settings: SampledSettings) -> Total:
    """Negative log-probability of drawn children, weighted like the distribution they are drawn from."""
    depths = context.tree_depths or len(batch.trees)
    pooled = found.encoded.pooled
    total = pooled.new_zeros(())
    weight = reached = batch.weight
    for depth, step in enumerate(batch.trees[:depths]):
        if not settings.one_path:
            weight = step.mass
        elif depth:
            weight = reached[step.edge]
        log_p = log_probabilities(depth, step, pooled, context, settings)
        chosen = draw(step, context.generator)
        total = total - (weight * log_p[chosen]).sum()
        # Where the drawn path goes on: the chosen child keeps its parent's weight, the others get none.
        reached = torch.zeros_like(step.share).index_put((chosen,), weight)
    return Total(total, batch.n_queries)


def draw(step: Refinement, generator: torch.Generator | None) -> Tensor:
    """(n,): for every parent one of its edges (an index of the m), drawn with probability ``share``."""
    noise = torch.rand(step.share.shape, generator=generator, dtype=torch.float64)
    # Exponential races: the smallest waiting time wins with probability proportional to the share.
    waiting = -torch.log1p(-noise).to(step.share.device) / step.share.double()
    first = torch.full((len(step.mass),), float("inf"), dtype=torch.float64, device=waiting.device)
    first = first.scatter_reduce(0, step.parent, waiting, "amin")
    winners = torch.nonzero(waiting == first[step.parent]).flatten()
    chosen = torch.zeros(len(step.mass), dtype=torch.long, device=waiting.device)
    chosen[step.parent[winners]] = winners
    return chosen


TERM = Term(
    about="the tree head on drawn one-hot targets",
    title="branch allocation, drawn",
    loss=loss,
    settings=SampledSettings,
    weight=0.5,
    siblings=True,
    head=tree_head,
)
