"""Multi-positive category alignment, L_con (CaLIR's QRE): latent states near all positive prototypes.

Target:            the set P_ij of categories of all relevant items of query i at level j, uniformly
Normalised over:   the categories B_j present at the level in the batch
Weight:            mean over (query, level) rows with a category; lambda_base
Gradient reaches:  projection, prototypes, decoder (through the latent states), encoder
Related:           ``category_class`` predicts one item's path at a time
"""

from __future__ import annotations

import torch

from rars.model.batch import Batch
from rars.model.categories import CategoryStates
from rars.model.retriever import Pass
from rars.objectives.common import Context, Total


def loss(found: Pass, batch: Batch, context: Context, categories: CategoryStates) -> Total:
    """Mean negative log-softmax similarity of each query's state to its positive prototypes."""
    total = found.latents.new_zeros(())
    rows = 0.0
    for level, target in enumerate(batch.categories):
        cosine = categories.similarities(level, found.latents[:, level], target.candidates)
        log_s = torch.log_softmax(cosine / context.contrast, dim=-1)
        place = torch.searchsorted(target.candidates, target.node)
        count = torch.bincount(target.query, minlength=len(batch.weight))
        share = (batch.weight / count.clamp(min=1))[target.query]
        total = total - (share * log_s[target.query, place]).sum()
        rows += target.rows
    return Total(total, rows)
