"""Resolution-aligned relevance supervision, L_tree (Eq. tree-loss): the loss RARS adds.

loss = mean over queries q of sum_l sum_u mu_{l-1}(u|q) KL(mu_l(.|u,q) || p_l(.|u,q))

Target:            mu_l(.|u,q) at every relevance-bearing parent
Normalised over:   all relevance-bearing children and chosen legal siblings (``siblings``)
Weight:            parent mass mu_{l-1}(u|q), summed over depths; mean over queries
Gradient reaches:  the tree head and the shared query encoder; the decoder only where ``state`` or ``start``
                   say so
Related:           with all siblings, the KL divergence of whole paths (Eq. global-kl); ``sampled_tree`` draws
                   one child instead; ``decoder_soft`` applies the same targets to the decoder
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, NonNegativeFloat
from torch import Tensor

from rars.model.batch import Batch
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total, divergence
from rars.objectives.siblings import HeadSettings, log_probabilities, tree_head


class TreeSettings(HeadSettings):
    """The head, what it reads, and how much depths count beside each other."""

    state: Literal["encoder", "decoder"] = "encoder"
    """What the head reads: the mean of the encoder's states (the paper's), or the decoder's state that
    predicts the first code. Two terms of this kind, one a state, train both."""
    depths: tuple[NonNegativeFloat, ...] = ()
    """A weight for each depth, from the first; those that are not said count 1. ``rars analyze RUN
    ambiguity`` shows where relevance divides."""
    pull: float = Field(1.0, ge=0, le=1)
    """How much of the gradient goes on from the head to what it reads; the head learns from all of it."""


def loss(found: Pass, batch: Batch, context: Context, settings: TreeSettings) -> Total:
    """Parent-weighted KL between the projected relevance and the tree head's predictions."""
    state = found.encoded.pooled if settings.state == "encoder" else found.first
    if settings.pull < 1:
        state = settings.pull * state + (1 - settings.pull) * state.detach()
    return loss_of(state, batch, context, settings, settings.depths)


def loss_of(
    state: Tensor,
    batch: Batch,
    context: Context,
    settings: HeadSettings,
    depths: Sequence[float] = (),
) -> Total:
    """The same, given what the head reads of each query (B, d) alone; ``depths`` weigh the first depths."""
    total = state.new_zeros(())
    for depth, step in enumerate(batch.trees[: context.tree_depths or len(batch.trees)]):
        found = divergence(step, log_probabilities(depth, step, state, context, settings))
        total = total + (depths[depth] * found if depth < len(depths) else found)
    return Total(total, batch.n_queries)


TERM = Term(
    about="how relevance divides at every branch, read off the query representation (RARS)",
    title="branch allocation",
    loss=loss,
    settings=TreeSettings,
    weight=0.5,
    siblings=True,
    head=tree_head,
)
