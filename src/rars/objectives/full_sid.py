"""Full-SID likelihood, L_leaf (Eq. leaf).

loss = - mean over relevant pairs (q, d) of sum_l log p(s_l(d) | q, s_<l(d))

Target:            each relevant (query, item) pair's identifier, as a path from the root to its leaf
Normalised over:   the choices possible at each depth (or the legal children: ``model.normaliser``)
Weight:            every pair alike; mean over pairs (with ``per_token`` over codes too)
Gradient reaches:  decoder, code tables, encoder
Related:           ``grouped`` weights pairs by relevance mass instead; ``tree`` supervises the encoder alone
"""

from __future__ import annotations

from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, PerToken, Term, Total, negative_log_likelihood


def loss(found: Pass, batch: Batch, context: Context, settings: PerToken) -> Total:
    """Negative log-likelihood of every pair's identifier; shared prefixes are computed once."""
    total = negative_log_likelihood(found, batch, context.normaliser, lambda step: step.pairs)
    return Total(total / settings.codes(batch), batch.n_pairs)


TERM = Term(
    about="likelihood of every relevant item's identifier",
    title="identifier likelihood",
    loss=loss,
    settings=PerToken,
)
