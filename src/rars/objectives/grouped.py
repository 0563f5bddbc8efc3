"""Grouped soft target: complete identifiers weighted by relevance mass. Takes the place of ``full_sid``.

loss = - mean over queries q of sum_d mu(d|q) sum_l log p(s_l(d) | q, s_<l(d))

Target:            mu(d|q), the query's relevance over whole identifiers
Normalised over:   the choices possible at each depth (or the legal children: ``model.normaliser``)
Weight:            mu(d|q); mean over queries (with ``per_token`` over codes too)
Gradient reaches:  decoder, code tables, encoder
Related:           equals ``tree`` plus the entropy of mu under matched parameters and full normalisation
                   (paper, appendix "Full-path consistency and grouped supervision")
"""

from __future__ import annotations

from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, PerToken, Term, Total, negative_log_likelihood


def loss(found: Pass, batch: Batch, context: Context, settings: PerToken) -> Total:
    """Mass-weighted negative log-likelihood; a shared prefix carries the mass of all items below it."""
    total = negative_log_likelihood(
        found, batch, context.normaliser, lambda step: step.mass[step.parent] * step.share
    )
    return Total(total / settings.codes(batch), batch.n_queries)


TERM = Term(
    about="likelihood of whole identifiers, weighted by relevance mass",
    title="identifier likelihood, by mass",
    loss=loss,
    settings=PerToken,
    whole=True,
)
