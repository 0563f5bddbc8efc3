"""Grouped soft target: complete identifiers weighted by relevance mass. Replaces L_leaf.

Target:            sum_d mu(d|q) log p(s(d)|q), the query's relevance over whole identifiers
Normalised over:   the choices possible at each depth (or the legal children: ``model.normaliser``)
Weight:            mu(d|q); mean over queries (and over codes, ``per_token``)
Gradient reaches:  decoder, code tables, encoder
Related:           equals ``tree`` plus the entropy of mu under matched parameters and full normalisation
                   (paper, appendix "Full-path consistency and grouped supervision")
"""

from __future__ import annotations

from rars.model.batch import Batch
from rars.model.retriever import Pass
from rars.objectives.common import Context, Total, decoder_log_probabilities


def loss(found: Pass, batch: Batch, context: Context) -> Total:
    """Mass-weighted negative log-likelihood; a shared prefix carries the mass of all items below it."""
    total = found.logits[0].new_zeros(())
    for logits, step in zip(found.logits, batch.refinements, strict=True):
        chosen = decoder_log_probabilities(logits, step, context.normaliser)
        total = total - (step.mass[step.parent] * step.share * chosen).sum()
    codes = len(batch.refinements) if context.per_token else 1
    return Total(total / codes, batch.n_queries)
