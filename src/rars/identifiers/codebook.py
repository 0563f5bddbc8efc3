"""The codebook loss of an RQ-VAE: codewords move to the residuals, and the encoder commits to the codewords.

L = mean over depths of |codeword - stop(residual)|^2 + commitment * |stop(codeword) - residual|^2, where
|.|^2 is the mean over items and dimensions and stop() passes no gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from rars.config import Section
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


class CodebookSettings(Section):
    """The codebook loss."""

    commitment: float = Field(default=0.25, ge=0)
    """How strongly the encoder is drawn to the codewords, against codewords to what it makes."""


def _loss(step: Step, settings: CodebookSettings) -> Tensor:
    from torch.nn import functional

    loss = step.latent.new_zeros(())
    for depth, word in enumerate(step.words):
        residual = step.residual(depth)
        loss = loss + functional.mse_loss(word, residual.detach())
        loss = loss + settings.commitment * functional.mse_loss(residual, word.detach())
    return loss / len(step.words)


TERM = QuantisationTerm(
    about="codewords move to what is left over at their depth, and the encoder to the codewords",
    settings=CodebookSettings,
    loss=_loss,
)
