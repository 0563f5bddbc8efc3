"""Full-SID likelihood, L_leaf (Eq. leaf).

Target:            each relevant (query, item) pair's identifier, as a path from the root to its leaf
Normalised over:   the choices possible at each depth
Weight:            every pair alike; mean over pairs (and over codes, ``per_token``)
Gradient reaches:  decoder, code tables, encoder
Related:           ``grouped`` weights pairs by relevance mass instead; ``tree`` supervises the encoder alone
"""

from __future__ import annotations

import torch

from rars.model.batch import Batch
from rars.model.retriever import Pass
from rars.objectives.common import Context, Total


def loss(found: Pass, batch: Batch, context: Context) -> Total:
    """Negative log-likelihood of every pair's identifier; shared prefixes are computed once."""
    total = found.logits[0].new_zeros(())
    for logits, step in zip(found.logits, batch.refinements, strict=True):
        chosen = torch.log_softmax(logits, dim=-1)[step.parent, step.slot]
        total = total - (step.pairs * chosen).sum()
    codes = len(batch.refinements) if context.per_token else 1
    return Total(total / codes, batch.n_pairs)
