"""Balanced assignment: spread rows over columns at small cost, each column taking its share.

Owns: entropic optimal transport by Sinkhorn scaling, in float64, on any torch device, for one matrix or a
batch of them. The plan is diag(u) K diag(v) with K = exp(-distance / epsilon); the two scalings alternate
until rows and columns sum to what they should. Ignores what rows and columns are.
"""

from __future__ import annotations

import torch
from torch import Tensor

ITERATIONS = 50
TINY = 1e-300
"""The least that is divided by."""


def sinkhorn(
    distances: Tensor,
    *,
    epsilon: float = 0.003,
    iterations: int = ITERATIONS,
    rows: Tensor | None = None,
    columns: Tensor | None = None,
) -> Tensor:
    """The transport plan, (..., n, k) for distances (..., n, k).

    ``rows`` (..., n) and ``columns`` (..., k) are the sums to reach; left out, every row and every
    column gets an equal part of 1. Row sums hold exactly, column sums in the limit.

    >>> plan = sinkhorn(torch.tensor([[0.0, 1.0], [0.1, 1.0]]), epsilon=0.5)
    >>> plan.sum(1).tolist(), plan.argmax(1).tolist()
    ([0.5, 0.5], [0, 1])
    """
    kernel = kernel_of(distances, epsilon)
    *_, n, k = kernel.shape
    rows = torch.full_like(kernel[..., 0], 1 / n) if rows is None else rows
    columns = torch.full_like(kernel[..., 0, :], 1 / k) if columns is None else columns
    u = torch.ones_like(kernel[..., 0])
    v = torch.ones_like(kernel[..., 0, :])
    for _ in range(iterations):
        v = columns / _times(kernel.mT, u).clamp_min(TINY)
        u = rows / _times(kernel, v).clamp_min(TINY)
    return u[..., None] * kernel * v[..., None, :]


def kernel_of(distances: Tensor, epsilon: float) -> Tensor:
    """K, (..., n, k) in float64: the plan before it is scaled."""
    return torch.exp(-centred(distances) / epsilon)


def centred(distances: Tensor) -> Tensor:
    """Each matrix shifted and scaled into [-1, 1], so that epsilon means the same everywhere.

    Infinite distances stay infinite and do not count.
    """
    distances = distances.double()
    finite = torch.isfinite(distances)
    low = torch.where(finite, distances, torch.inf).amin((-2, -1), keepdim=True)
    high = torch.where(finite, distances, -torch.inf).amax((-2, -1), keepdim=True)
    middle = (high + low) / 2
    return (distances - middle) / (high - middle + 1e-5)


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector[..., None])[..., 0]
