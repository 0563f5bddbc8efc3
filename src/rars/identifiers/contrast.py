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

    added up over the columns of ``labels`` (n, kinds of label). Negative labels are no label: such rows are
    negatives of all, and nobody's partner. 0 without partners.

    A row's products with its partners add up to its product with their sum, so no row meets a partner by
    itself: only the denominators need all pairs, and they are the same for every kind of label.
    """
    unit = functional.normalize(rows, dim=-1)
    away = others_logsumexp(unit, 1 / temperature)
    total = rows.sum() * 0
    for column in labels.T:
        _, group = torch.unique(column, return_inverse=True)
        alike = torch.bincount(group)[group] - 1
        partnered = (column >= 0) & (alike > 0)
        if partnered.any():
            sums = unit.new_zeros(int(group.max()) + 1, unit.shape[1]).index_add(0, group, unit)
            own, others = unit[partnered], (sums[group] - unit)[partnered]
            near = (own * others).sum(1) / (alike[partnered] * temperature)
            total = total + (away[partnered] - near).mean()
    return total


def others_logsumexp(rows: Tensor, scale: float) -> Tensor:
    """(n,) log of the sum over all other rows j of exp(scale x rows_i . rows_j), of rows (n, dim).

    The (n, n) products are made a strip of rows at a time and forgotten, and made again for the gradient: a
    strip fits a processor's cache, all of them would be read from memory a dozen times. They are symmetric,
    so a strip begins at its own rows: what lies to the right of those serves the rows further down, too.
    """
    top = scale * float((rows.detach() ** 2).sum(1).max()) if len(rows) else 0.0
    # Every exponent lies in [-2 top, 0]; below about -87 float32 has no numbers left.
    wide = rows.double() if 2 * top > _LOWEST else rows
    found: Tensor = _OthersLogSumExp.apply(wide, scale, top)  # type: ignore[no-untyped-call]
    return found.to(rows.dtype)


_STRIP = 256
_LOWEST = 80.0


class _OthersLogSumExp(torch.autograd.Function):
    """With E_ij = exp(scale x_i . x_j - top) and E_ii = 0, lse_i = top + log of the sum over j of E_ij.

    For gradients g of these, h_i = g_i / sum over j of E_ij, the gradient of x_i is
    scale x sum over j of E_ij (h_i + h_j) x_j.
    """

    @staticmethod
    def forward(context: Any, rows: Tensor, scale: float, top: float) -> Tensor:
        sums = rows.new_zeros(len(rows))
        for start in range(0, len(rows), _STRIP):
            strip = _strip(rows, start, scale, top)
            sums[start : start + _STRIP] += strip.sum(1)
            sums[start + _STRIP :] += strip[:, _STRIP:].sum(0)
        context.save_for_backward(rows, sums)
        context.scale, context.top = scale, top
        return top + sums.log()

    @staticmethod
    def backward(context: Any, *given: Tensor) -> tuple[Tensor, None, None]:
        rows, sums = context.saved_tensors
        share = given[0] / sums
        total = torch.zeros_like(rows)
        for start in range(0, len(rows), _STRIP):
            own = slice(start, start + _STRIP)
            strip = _strip(rows, start, context.scale, context.top)
            strip *= share[own, None] + share[start:]
            total[own] += strip @ rows[start:]
            total[start + _STRIP :] += strip[:, _STRIP:].T @ rows[own]
        return context.scale * total, None, None


def _strip(rows: Tensor, start: int, scale: float, top: float) -> Tensor:
    """E of some rows with themselves and all below them; none of a row with itself."""
    found = (rows[start : start + _STRIP] * scale) @ rows[start:].T
    return found.sub_(top).exp_().fill_diagonal_(0)
