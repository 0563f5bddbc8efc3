"""Category classification, L_cls (CaLIR's HSR): each latent state predicts its level's category.

loss = - mean over relevant pairs (q, d) of sum_j log p(c_j(d) | c_{j-1}(d), z_j(q)), z_j the state of level j

Target:            the category c_j(d) of every relevant item at every level it has
Normalised over:   the children of the item's category one level up
Weight:            every pair alike; summed over levels; mean over pairs
Gradient reaches:  category heads, decoder (through the latent states), encoder
Related:           ``category_contrast`` treats the query's categories as one set of positives
"""

from __future__ import annotations

from rars.config import NoSettings
from rars.model.batch import Batch
from rars.model.categories import grouped_log_softmax
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total


def loss(found: Pass, batch: Batch, context: Context, settings: NoSettings) -> Total:
    """Negative log-probability of the relevant items' category paths, level by level."""
    categories = context.categories
    assert categories is not None, "the model has no category states"
    total = found.latents.new_zeros(())
    above = 1
    for level, target in enumerate(batch.categories):
        scores = categories.logits(level, found.latents[:, level])
        groups = categories.parents(level).expand(len(scores), -1)
        log_r = grouped_log_softmax(scores, groups, above)
        total = total - (target.pairs * log_r[target.query, target.node]).sum()
        above = scores.shape[1]
    return Total(total, batch.n_pairs)


TERM = Term(
    about="each latent state predicts its level's category",
    title="category class",
    loss=loss,
    weight=0.1,
    categories=True,
)
