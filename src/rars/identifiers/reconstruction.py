"""The reconstruction loss of an RQ-VAE: L = mean of (x - x')^2, x' the vector rebuilt from the codes of x."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rars.config import NoSettings
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


def _loss(step: Step, settings: NoSettings) -> Tensor:
    from torch.nn import functional

    return functional.mse_loss(step.rebuilt, step.batch)


TERM = QuantisationTerm(
    about="mean squared error of the vectors rebuilt from the codewords",
    settings=NoSettings,
    loss=_loss,
)
