"""HG-Rec's losses: the codebook loss and the reconstruction loss with distances of the Poincare ball.

With d the distance of the ball (``poincare``) between points that exp maps there,

    codebook        sum over depths of d(stop(residual), codeword)^2
                                       + commitment * d(residual, stop(codeword))^2
    reconstruction  d(x, x')^2, x' the vector rebuilt from the codes of x

each the mean over items. The curvature is that of the quantiser (``rqvae.curvature``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from rars.config import NoSettings, Section
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


class BallSettings(Section):
    """How strongly the encoder is drawn to the codewords."""

    commitment: float = Field(default=0.25, ge=0)


def _codebook(step: Step, settings: BallSettings) -> Tensor:
    loss = step.latent.new_zeros(())
    for depth, word in enumerate(step.words):
        residual = step.residual(depth)
        loss = loss + _apart(word, residual.detach(), step.curvature)
        loss = loss + settings.commitment * _apart(residual, word.detach(), step.curvature)
    return loss


def _reconstruction(step: Step, settings: NoSettings) -> Tensor:
    return _apart(step.rebuilt, step.batch, step.curvature)


def _apart(one: Tensor, other: Tensor, curvature: float) -> Tensor:
    """The mean squared distance, row by row, of tangent vectors (n, dim)."""
    from rars.identifiers.poincare import distance, exp

    if not curvature:
        return 4 * (one - other).square().sum(-1).mean()  # what the ball becomes as it flattens
    return distance(exp(one, curvature), exp(other, curvature), curvature).square().mean()


CODEBOOK = QuantisationTerm(
    about="the codebook loss with distances of the Poincare ball (HG-Rec)",
    settings=BallSettings,
    loss=_codebook,
)
RECONSTRUCTION = QuantisationTerm(
    about="the reconstruction loss with distances of the Poincare ball (HG-Rec)",
    settings=NoSettings,
    loss=_reconstruction,
)
