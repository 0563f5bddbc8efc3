"""Resolution-aligned relevance supervision, L_tree (Eq. tree-loss): the loss RARS adds.

loss = mean over queries q of sum_l sum_u mu_{l-1}(u|q) KL(mu_l(.|u,q) || p_l(.|u,q))

Target:            mu_l(.|u,q) at every relevance-bearing parent
Normalised over:   all relevance-bearing children and chosen legal siblings (``siblings``)
Weight:            parent mass mu_{l-1}(u|q), summed over depths; mean over queries
Gradient reaches:  the tree head and the shared query encoder; never the decoder
Related:           with all siblings, the KL divergence of whole paths (Eq. global-kl); ``sampled_tree`` draws
                   one child instead; ``decoder_soft`` applies the same targets to the decoder
"""

from __future__ import annotations

from torch import Tensor

from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total, divergence
from rars.objectives.siblings import HeadSettings, log_probabilities, tree_head


def loss(found: Pass, batch: Batch, context: Context, settings: HeadSettings) -> Total:
    """Parent-weighted KL between the projected relevance and the tree head's predictions."""
    return loss_of(found.encoded.pooled, batch, context, settings)


def loss_of(pooled: Tensor, batch: Batch, context: Context, settings: HeadSettings) -> Total:
    """The same, given the shared query representation (B, d) alone."""
    depths = context.tree_depths or len(batch.trees)
    total = pooled.new_zeros(())
    for depth, step in enumerate(batch.trees[:depths]):
        total = total + divergence(step, log_probabilities(depth, step, pooled, context, settings))
    return Total(total, batch.n_queries)


TERM = Term(
    about="how relevance divides at every branch, read off the query representation (RARS)",
    title="branch allocation",
    loss=loss,
    settings=HeadSettings,
    weight=0.5,
    siblings=True,
    head=tree_head,
)
