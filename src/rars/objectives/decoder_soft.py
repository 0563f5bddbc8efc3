"""AR-decoder soft target: the projected local distributions applied to the decoder itself.

loss = mean over queries q of sum_l sum_u mu_{l-1}(u|q) KL(mu_l(.|u,q) || p(.|q,u))

Target:            mu_l(.|u,q) at every relevance-bearing parent
Normalised over:   all catalogue-legal children of the parent
Weight:            parent mass mu_{l-1}(u|q), summed over depths; mean over queries
Gradient reaches:  decoder, code tables, encoder
Related:           the same divergence as ``tree``, at another prediction site
"""

from __future__ import annotations

from rars.config import NoSettings
from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total, decoder_log_probabilities, divergence


def loss(found: Pass, batch: Batch, context: Context, settings: NoSettings) -> Total:
    """Parent-weighted KL between the projected targets and the decoder over legal children."""
    depths = context.tree_depths or len(batch.refinements)
    total = found.logits[0].new_zeros(())
    for logits, step in zip(found.logits[:depths], batch.refinements[:depths], strict=True):
        total = total + divergence(step, decoder_log_probabilities(logits, step, "children"))
    return Total(total, batch.n_queries)


TERM = Term(
    about="how relevance divides, as a target of the decoder",
    title="branch allocation of the decoder",
    loss=loss,
    weight=0.5,
    siblings=True,
    whole=True,
)
