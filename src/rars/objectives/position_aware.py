"""Position-aware likelihood with soft labels, as Hi-Gen has it: early codes count more, like codes are alike.

loss = - mean over relevant pairs (q, d) of sum_l w_l sum_v y_l(v|d) log p(v | q, s_<l(d))

w_l = (L - l + 1) / mean, so that the weights of L positions are 1 on average;
y_l(v|d) = (1 - e) [v = s_l(d)] + e softmax over siblings v of -|c(v) - c(s_l(d))| / t, where c is the
centroid of the items below a prefix and siblings share its parent.

Target:            each relevant pair's identifier, softened towards siblings whose items are alike
Normalised over:   the choices possible at each depth (or the legal children: ``model.normaliser``)
Weight:            w_l at position l; every pair alike; mean over pairs
Gradient reaches:  decoder, code tables, encoder
Related:           without smoothing and with even weights it is ``full_sid``
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from rars.config import Section
from rars.model.batch import Batch
from rars.model.identifier_model import IdentifierModel, Pass
from rars.objectives.common import Context, Ground, Term, Total, decoder_log_softmax


class PositionAwareSettings(Section):
    """How soft the labels are."""

    smoothing: float = Field(0.1, ge=0, lt=1)
    """e: how much of the target is given to siblings, the true code among them."""
    temperature: float = Field(1.0, gt=0)
    """t: what distances between centroids are divided by."""


class SoftLabels(nn.Module):
    """The share of every sibling in a node's soft label; made once, neither learned nor kept.

    Per depth: ``start`` (nodes + 1,) where each node's siblings begin, ``slot`` and ``share`` (k,) theirs.
    """

    def __init__(self, ground: Ground, temperature: float) -> None:
        super().__init__()
        assert ground.kin is not None, "the term asked for kin"
        for depth, kin in enumerate(ground.kin):
            start = torch.as_tensor(kin.start)
            near = torch.as_tensor(kin.apart, dtype=torch.get_default_dtype()).neg() / temperature
            # A node's own distance is 0, the least: no exponential can overflow.
            group = torch.repeat_interleave(torch.arange(len(start) - 1), start.diff())
            total = torch.zeros(len(start) - 1, dtype=near.dtype).index_add(0, group, near.exp())
            share = near.exp() / total[group]
            for name, values in (("start", start), ("slot", kin.slot), ("share", share)):
                self.register_buffer(f"{name}_{depth}", torch.as_tensor(values), persistent=False)

    def siblings(self, depth: int, node: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All siblings of nodes (m,): which of the m each belongs to, its slot and its share, (k,) each."""
        start, slot, share = (getattr(self, f"{name}_{depth}") for name in _BUFFERS)
        counts = start[node + 1] - start[node]
        owner = torch.repeat_interleave(torch.arange(len(node), device=node.device), counts)
        first = counts.cumsum(0) - counts
        at = (start[node] - first)[owner] + torch.arange(len(owner), device=node.device)
        return owner, slot[at], share[at]


_BUFFERS = ("start", "slot", "share")


def position_weights(length: int) -> list[float]:
    """The weight of every position: falling by equal steps to the last, 1 on average.

    >>> position_weights(4)
    [1.6, 1.2, 0.8, 0.4]
    """
    mean = (length + 1) / 2
    return [(length - position) / mean for position in range(length)]


def loss(found: Pass, batch: Batch, context: Context, settings: PositionAwareSettings) -> Total:
    """Cross-entropy of every pair's softened identifier, position by position."""
    labels: SoftLabels = context.head
    weights = position_weights(len(batch.refinements))
    total = found.logits[0].new_zeros(())
    for depth, (logits, step) in enumerate(zip(found.logits, batch.refinements, strict=True)):
        log_p = decoder_log_softmax(logits, step, context.normaliser)
        edge, slot, share = labels.siblings(depth, step.node)
        chosen = share * log_p[step.parent[edge], slot]
        soft = log_p.new_zeros(len(step.slot)).index_add(0, edge, chosen)
        own = log_p[step.parent, step.slot]
        mixed = (1 - settings.smoothing) * own + settings.smoothing * soft
        total = total - weights[depth] * (step.pairs * mixed).sum()
    return Total(total, batch.n_pairs)


def soft_labels(
    model: IdentifierModel, settings: PositionAwareSettings, ground: Ground
) -> SoftLabels:
    """The labels of a catalogue's identifiers."""
    return SoftLabels(ground, settings.temperature)


TERM = Term(
    about="likelihood with earlier codes first and labels softened towards like siblings (Hi-Gen)",
    title="identifier likelihood, by position",
    loss=loss,
    settings=PositionAwareSettings,
    head=soft_labels,
    kin=True,
)
