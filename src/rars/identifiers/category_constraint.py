"""CAT-ID2's hierarchical category constraint: items of one category are close, at every level of categories.

L = sum over levels l of the supervised contrastive loss (``contrast.supervised``) of the latents, partners
    being the batch's items of the same category at level l

The latents, not what is left of them at depth l: codebooks follow whatever residuals have in common, so a
loss that wants residuals of a category to agree is never content and drives the latents ever further out.
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
    return supervised(step.latent, labels[:, : len(step.words)], settings.temperature)


TERM = QuantisationTerm(
    about="items of one category are close, at every level of categories (CAT-ID2)",
    settings=ConstraintSettings,
    loss=_loss,
    weight=0.0001,
    needs_categories=True,
    adds=0.5,
)
