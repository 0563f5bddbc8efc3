"""Full-SID likelihood, L_leaf (Eq. leaf).

Target:            each relevant (query, item) pair's identifier, as a path from the root to its leaf
Normalised over:   the choices possible at each depth (or the legal children: ``model.normaliser``)
Weight:            every pair alike; mean over pairs (and over codes, ``per_token``)
Gradient reaches:  decoder, code tables, encoder
Related:           ``grouped`` weights pairs by relevance mass instead; ``tree`` supervises the encoder alone
"""

from __future__ import annotations

from rars.model.batch import Batch
from rars.model.retriever import Pass
from rars.objectives.common import Context, Total, decoder_log_probabilities


def loss(found: Pass, batch: Batch, context: Context) -> Total:
    """Negative log-likelihood of every pair's identifier; shared prefixes are computed once."""
    total = found.logits[0].new_zeros(())
    for logits, step in zip(found.logits, batch.refinements, strict=True):
        chosen = decoder_log_probabilities(logits, step, context.normaliser)
        total = total - (step.pairs * chosen).sum()
    codes = len(batch.refinements) if context.per_token else 1
    return Total(total / codes, batch.n_pairs)
