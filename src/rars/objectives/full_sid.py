"""Full-SID likelihood, L_leaf (Eq. leaf).

loss = - mean over relevant pairs (q, d) of sum_l l^-a log p(s_l(d) | q, s_<l(d))

Target:            each relevant (query, item) pair's identifier, as a path from the root to its leaf
Normalised over:   the choices possible at each depth (or the legal children: ``model.normaliser``)
Weight:            every pair alike; l^-a the code at position l, a = 0 in Eq. leaf (``position_power``); mean
                   over pairs (with ``per_token`` over codes too)
Gradient reaches:  decoder, code tables, encoder
Related:           ``grouped`` weights pairs by relevance mass instead; ``tree`` supervises the encoder alone;
                   ``position_aware`` weighs positions and softens the target
"""

from __future__ import annotations

from pydantic import Field

from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, PerToken, Term, Total, negative_log_likelihood


class FullSidSettings(PerToken):
    """What a code of the identifier counts."""

    position_power: float = Field(0.0, ge=0)
    """a: the code at position l (from 1) counts l^-a. MERGE uses 0.5, which is 1 / sqrt(l)."""


def loss(found: Pass, batch: Batch, context: Context, settings: FullSidSettings) -> Total:
    """Negative log-likelihood of every pair's identifier; shared prefixes are computed once."""
    total = negative_log_likelihood(
        found,
        batch,
        context.normaliser,
        lambda step: step.pairs * float(step.depth + 1) ** -settings.position_power,
    )
    return Total(total / settings.codes(batch), batch.n_pairs)


TERM = Term(
    about="likelihood of every relevant item's identifier",
    title="identifier likelihood",
    loss=loss,
    settings=FullSidSettings,
)
