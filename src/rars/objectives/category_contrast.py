"""Multi-positive category alignment, L_con (CaLIR's QRE): latent states near all positive prototypes.

loss = - mean over queries i of sum_j (1/|P_ij|) sum_{c in P_ij} log softmax_{c in B_j}(cos(z_ij, e_c)/t),
z_ij the projected state, e_c the prototype of category c, t the temperature

Target:            the set P_ij of categories of all relevant items of query i at level j, uniformly
Normalised over:   the categories B_j present at the level in the batch
Weight:            summed over levels where the query has a category; mean over queries (with ``per_level``
                   over (query, level) rows)
Gradient reaches:  projection, prototypes, decoder (through the latent states), encoder
Related:           ``category_class`` predicts one item's path at a time
"""

from __future__ import annotations

import torch
from pydantic import Field

from rars.config import Section
from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total


class ContrastSettings(Section):
    """How sharply states are drawn to their prototypes."""

    temperature: float = Field(0.1, gt=0)
    per_level: bool = False
    """Divide by the number of levels too."""


def loss(found: Pass, batch: Batch, context: Context, settings: ContrastSettings) -> Total:
    """Negative log-softmax similarity of each query's states to its positive prototypes."""
    categories = context.categories
    assert categories is not None, "the model has no category states"
    total = found.latents.new_zeros(())
    rows = 0.0
    for level, target in enumerate(batch.categories):
        cosine = categories.similarities(level, found.latents[:, level], target.candidates)
        log_s = torch.log_softmax(cosine / settings.temperature, dim=-1)
        place = torch.searchsorted(target.candidates, target.node)
        count = torch.bincount(target.query, minlength=len(batch.weight))
        share = (batch.weight / count.clamp(min=1))[target.query]
        total = total - (share * log_s[target.query, place]).sum()
        rows += target.rows
    return Total(total, rows if settings.per_level else batch.n_queries)


TERM = Term(
    about="latent states near the prototypes of all positive categories",
    title="category contrast",
    loss=loss,
    settings=ContrastSettings,
    weight=0.1,
    categories=True,
)
