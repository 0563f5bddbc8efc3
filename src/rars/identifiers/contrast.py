"""Contrastive losses that several terms of the RQ-VAE share.

Owns: the formulas on rows of vectors. Ignores who is whose partner.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def info_nce(anchors: Tensor, partners: Tensor, temperature: float) -> Tensor:
    """Mean of -log exp(cos(a_i, p_i) / t) / sum_j exp(cos(a_i, p_j) / t) over rows (n, dim).

    The partners of the other rows are a row's negatives.
    """
    scores = functional.normalize(anchors, dim=-1) @ functional.normalize(partners, dim=-1).T
    return functional.cross_entropy(
        scores / temperature, torch.arange(len(scores), device=scores.device)
    )


def symmetric(one: Tensor, other: Tensor, scale: Tensor) -> Tensor:
    """The mean of both directions of ``info_nce``; cosines are multiplied by ``scale``."""
    scores = functional.normalize(one, dim=-1) @ functional.normalize(other, dim=-1).T * scale
    own = torch.arange(len(scores), device=scores.device)
    return (functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)) / 2


def supervised(rows: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Rows (n, dim) of one label are close: with s = cos / t, over rows i with others P(i) of their label,

        mean of -1 / |P(i)| sum over p in P(i) of log [ exp s(i, p) / sum over a != i of exp s(i, a) ]

    Negative labels are no label: such rows are negatives of all, and nobody's partner. 0 without partners.
    """
    unit = functional.normalize(rows, dim=-1)
    self_ = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
    scores = (unit @ unit.T / temperature).masked_fill(self_, -torch.inf)
    likely = torch.log_softmax(scores, dim=1).masked_fill(self_, 0.0)
    same = (labels[:, None] == labels) & (labels >= 0) & ~self_
    count = same.sum(1)
    each = -(likely * same).sum(1) / count.clamp_min(1)
    return each.sum() / (count > 0).sum().clamp_min(1)
