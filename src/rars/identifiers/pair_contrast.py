"""FORGE's co-occurrence loss: items wanted together are found by each other's codes.

For items of the batch and their partners (another best item of one of their queries), with u the vector
rebuilt from an item's codes, x its own vector, primes for the partner and CE the symmetric contrastive loss
of ``contrast.symmetric`` over the batch's pairs,

    L = [ CE(u, u'; s_1) + CE(u, x'; s_2) + CE(u, x; s_3) ] / 3

The three scales s are learned and start at 1 / 0.07. 0 where no item of the batch has a partner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rars.config import Section
from rars.identifiers.learner import Scene
from rars.identifiers.mates import NONE, Mates
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor

MOST = 100.0
"""A scale never grows beyond this: cosines would decide everything and gradients vanish."""


class PairSettings(Section):
    """Where the learned scales start."""

    temperature: float = Field(default=0.07, gt=0)
    """Scales start at one over this."""


def _start(scene: Scene, settings: PairSettings) -> Callable[[Step], Tensor]:
    import torch
    from torch import nn

    from rars.identifiers.contrast import symmetric

    mates = Mates.of(scene.dataset).exact()

    class Pairs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.full((3,), -float(np.log(settings.temperature))))

        def forward(self, step: Step) -> Tensor:
            place = mates.drawn(step.rows, step.random("an exact query"))
            partner = mates.mates(place, step.random("an exact mate"))
            known = np.flatnonzero(partner != NONE)
            if len(known) < 2:
                return self.scale.sum() * 0
            other = step.look(mates.item[partner[known]])
            scale = self.scale.exp().clamp_max(MOST)
            rebuilt = step.rebuilt[known]
            pairs = (other.rebuilt, other.batch, step.batch[known])
            return sum(
                (symmetric(rebuilt, one, scale[at]) for at, one in enumerate(pairs)),
                start=rebuilt.new_zeros(()),
            ) / len(pairs)

    return Pairs()


TERM = QuantisationTerm(
    about="items that are exact for one query are found by each other's codes (FORGE)",
    settings=PairSettings,
    start=_start,
    adds=2.0,
)
