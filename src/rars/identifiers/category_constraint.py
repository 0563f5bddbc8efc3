"""CAT-ID2's hierarchical category constraint: at depth l, items of one level-l category are close.

L = sum over levels l of s_l x the supervised contrastive loss (``contrast.supervised``) of the residuals that
    enter depth l, partners being the batch's items of the same category at level l

s_l is ``step.shrunk(l)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rars.config import Section
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


class ConstraintSettings(Section):
    """How sharp cosines are."""

    temperature: float = Field(default=0.1, gt=0)


def _loss(step: Step, settings: ConstraintSettings) -> Tensor:
    import torch

    from rars.identifiers.contrast import supervised

    assert step.scene.categories is not None
    nodes = np.asarray(step.scene.categories.nodes[step.rows], dtype=np.int64)
    labels = torch.from_numpy(nodes).to(step.latent.device)
    total = step.latent.new_zeros(())
    for depth in range(min(labels.shape[1], len(step.words))):
        one = supervised(step.residual(depth), labels[:, depth], settings.temperature)
        total = total + step.shrunk(depth) * one
    return total


TERM = QuantisationTerm(
    about="at every depth, items of one category of that level are close (CAT-ID2)",
    settings=ConstraintSettings,
    loss=_loss,
    weight=0.01,
    needs_categories=True,
    adds=2.0,
)
