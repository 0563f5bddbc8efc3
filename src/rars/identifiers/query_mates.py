"""MERGE's outer term: items of one query are close at the depths that count, in its recipe the first.

At each depth l the residuals that enter it are compared: each item of the batch, its partner (another
relevant item of a query of its, drawn anew each epoch), all other items' partners as negatives:

    L = sum over l of w_l x s_l x InfoNCE of cosines / temperature,    s_l = ``step.shrunk(l)``

An item without a partner is its own, as in MERGE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, NonNegativeFloat

from rars.config import Section
from rars.identifiers.learner import Scene
from rars.identifiers.mates import NONE, Mates
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor

QUERY = "a query of each item"


class MatesSettings(Section):
    """How much each depth counts, and how sharp cosines are."""

    levels: tuple[NonNegativeFloat, ...] = (1.0,)
    """The weight of each depth; depths beyond the list count nothing. Below the first, codebooks follow what
    residuals are made to have in common, and latents drift (``docs/systems.md``, MERGE)."""
    temperature: float = Field(default=0.1, gt=0)


def _start(scene: Scene, settings: MatesSettings) -> Callable[[Step], Tensor]:
    mates = Mates.of(scene.dataset)

    def loss(step: Step) -> Tensor:
        from rars.identifiers.contrast import info_nce

        partner = mates.mates(mates.drawn(step.rows, step.random(QUERY)), step.random("a mate"))
        rows = np.where(partner == NONE, step.rows, mates.item[partner] if len(mates) else 0)
        other = step.look(rows)
        total = step.latent.new_zeros(())
        for depth, weight in enumerate(settings.levels[: len(step.words)]):
            if weight:
                one = info_nce(step.residual(depth), other.residual(depth), settings.temperature)
                total = total + weight * step.shrunk(depth) * one
        return total

    return loss


TERM = QuantisationTerm(
    about="items of one query are close, other items are not (MERGE)",
    settings=MatesSettings,
    weight=0.001,
    start=_start,
    adds=0.55,
)
