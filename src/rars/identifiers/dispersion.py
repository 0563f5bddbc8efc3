"""CAT-ID2's dispersion: vectors rebuilt from the codes keep apart.

L = log of the mean over pairs i != j of exp(-|u_i - u_j|^2 / width),  u = a rebuilt vector at length one
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import Field

from rars.config import Section
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


class DispersionSettings(Section):
    """How far apart is far."""

    width: float = Field(default=0.5, gt=0)


def _loss(step: Step, settings: DispersionSettings) -> Tensor:
    import torch
    from torch.nn import functional

    from rars.identifiers.contrast import others_logsumexp

    unit = functional.normalize(step.rebuilt, dim=-1)
    count = len(unit)
    if count < 2:
        return unit.sum() * 0
    # |u_i - u_j|^2 = 2 - 2 u_i . u_j
    near = torch.logsumexp(others_logsumexp(unit, 2 / settings.width), 0)
    return near - 2 / settings.width - math.log(count * (count - 1))


TERM = QuantisationTerm(
    about="vectors rebuilt from the codes keep apart (CAT-ID2)",
    settings=DispersionSettings,
    loss=_loss,
    weight=0.0001,
    adds=1.1,
)
