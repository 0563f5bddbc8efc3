"""MERGE's inner term: among the items of a query, those of one grade are closer than those of a lower one.

For an item d of the batch, a query q of its and an item o of q with another grade: if o's grade is lower, the
triplet is (d, another of d's grade, o), else (o, another of o's grade, d). At each depth l, on the residuals
that enter it,

    L = sum over l of w_l x mean of max(0, |anchor - positive| - |anchor - negative| + margin)

over the items that have such a triplet; 0 where none has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, NonNegativeFloat

from rars.arrays import Ints, Longs
from rars.config import Section
from rars.identifiers.learner import Scene
from rars.identifiers.mates import NONE, Mates
from rars.identifiers.query_mates import QUERY
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


class TripletSettings(Section):
    """How much each depth counts, and the margin."""

    levels: tuple[NonNegativeFloat, ...] = (0.0, 0.25, 0.75, 1.0)
    """The weight of each depth; depths beyond the list count nothing."""
    margin: float = Field(default=0.2, ge=0)


def triplets(mates: Mates, rows: Ints, step: Step) -> Longs:
    """(m, 3) items: anchor, positive, negative, for the rows that have such a triplet."""
    own = mates.drawn(rows, step.random(QUERY))
    other = mates.others(own, step.random("another grade"))
    kept = other != NONE
    own, other = own[kept], other[kept]
    above = mates.grade[own] > mates.grade[other]
    anchor, negative = np.where(above, own, other), np.where(above, other, own)
    positive = mates.peers(anchor, step.random("the same grade"))
    whole = np.stack([anchor, positive, negative], axis=1)[positive != NONE]
    return np.asarray(mates.item[whole], dtype=np.int64)


def _start(scene: Scene, settings: TripletSettings) -> Callable[[Step], Tensor]:
    mates = Mates.of(scene.dataset)

    def loss(step: Step) -> Tensor:
        import torch
        from torch.nn import functional

        total = step.latent.new_zeros(())
        found = triplets(mates, step.rows, step)
        if not len(found):
            return total
        rows, at = np.unique(found, return_inverse=True)
        seen = step.look(rows)
        anchor, positive, negative = torch.from_numpy(at.reshape(found.shape)).to(total.device).T
        for depth, weight in enumerate(settings.levels[: len(step.words)]):
            if weight:
                points = seen.residual(depth)
                total = total + weight * functional.triplet_margin_loss(
                    points[anchor], points[positive], points[negative], margin=settings.margin
                )
        return total

    return loss


TERM = QuantisationTerm(
    about="among a query's items, those of one grade are closer than those of a lower one (MERGE)",
    settings=TripletSettings,
    weight=0.001,
    start=_start,
    adds=0.9,
)
