"""Resolution-aligned relevance supervision, L_tree (Eq. tree-loss): the loss RARS adds.

Target:            mu_l(.|u,q) at every relevance-bearing parent
Normalised over:   all relevance-bearing children and chosen legal siblings (``candidates``)
Weight:            parent mass mu_{l-1}(u|q), summed over depths; mean over queries; lambda_tree
Gradient reaches:  the tree head and the shared query encoder; never the decoder
Related:           with all siblings, the KL divergence of whole paths (Eq. global-kl); ``sampled_tree`` draws
                   one child instead; ``decoder_soft`` applies the same targets to the decoder
"""

from __future__ import annotations

from torch import Tensor

from rars.model.batch import Batch
from rars.model.retriever import Pass
from rars.objectives.candidates import log_probabilities
from rars.objectives.common import Context, Total, divergence


def loss(found: Pass, batch: Batch, context: Context) -> Total:
    """Parent-weighted KL between the projected relevance and the tree head's predictions."""
    return loss_of(found.encoded.pooled, batch, context)


def loss_of(pooled: Tensor, batch: Batch, context: Context) -> Total:
    """The same, given the shared query representation (B, d) alone."""
    assert context.head is not None, "the tree loss needs a tree head"
    depths = context.tree_depths or len(batch.refinements)
    total = pooled.new_zeros(())
    for depth, step in enumerate(batch.refinements[:depths]):
        log_p = log_probabilities(context.head, depth, step, pooled, context)
        total = total + divergence(step, log_p)
    return Total(total, batch.n_queries)
