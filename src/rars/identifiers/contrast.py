"""Contrastive losses that several terms of the RQ-VAE share.

Owns: the formulas on rows of vectors. Ignores who is whose partner.
"""

from __future__ import annotations

from typing import Any

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

    A row's products with its partners add up to its product with their sum, so no row meets a partner by
    itself: only the denominators need all pairs.
    """
    unit = functional.normalize(rows, dim=-1)
    _, group = torch.unique(labels, return_inverse=True)
    alike = torch.bincount(group)[group] - 1
    partnered = (labels >= 0) & (alike > 0)
    if not partnered.any():
        return rows.sum() * 0
    sums = unit.new_zeros(int(group.max()) + 1, unit.shape[1]).index_add(0, group, unit)
    own, others = unit[partnered], (sums[group] - unit)[partnered]
    near = (own * others).sum(1) / (alike[partnered] * temperature)
    return (others_logsumexp(unit, 1 / temperature)[partnered] - near).mean()


def others_logsumexp(rows: Tensor, scale: float) -> Tensor:
    """(n,) log of the sum over all other rows j of exp(scale x rows_i . rows_j), of rows (n, dim).

    The (n, n) products are made a block of rows at a time and forgotten, and made again for the gradient: a
    block fits a processor's cache, all of them would be read from memory a dozen times.
    """
    found: Tensor = _OthersLogSumExp.apply(rows, scale)  # type: ignore[no-untyped-call]
    return found


_BLOCK = 256


class _OthersLogSumExp(torch.autograd.Function):
    """With A_ij = g_i exp(scale x_i . x_j - lse_i), A_ii = 0, the gradient is scale (A + A^T) x."""

    @staticmethod
    def forward(context: Any, rows: Tensor, scale: float) -> Tensor:
        parts = [
            torch.logsumexp(_block(rows, start, scale), dim=1)
            for start in range(0, len(rows), _BLOCK)
        ]
        found = torch.cat(parts)
        context.save_for_backward(rows, found)
        context.scale = scale
        return found

    @staticmethod
    def backward(context: Any, *given: Tensor) -> tuple[Tensor, None]:
        rows, found = context.saved_tensors
        total = torch.zeros_like(rows)
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            pull = _block(rows, start, context.scale).sub_(found[part, None]).exp_()
            pull.mul_(given[0][part, None])
            total[part] += pull @ rows
            total += pull.T @ rows[part]
        return context.scale * total, None


def _block(rows: Tensor, start: int, scale: float) -> Tensor:
    """Products of some rows with all, times the scale; none of a row with itself."""
    found = (rows[start : start + _BLOCK] * scale) @ rows.T
    found[:, start:].fill_diagonal_(-torch.inf)
    return found
