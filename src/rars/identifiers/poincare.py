"""The Poincare ball of curvature -c: maps between it and its tangent space at the origin, and distances.

Owns: the formulas, in torch, with gradients that stay finite. Ignores what the points are (``hyperbolic`` has
the losses, ``ball`` a fitted quantiser).

    exp(v) = tanh(sqrt(c) |v|) v / (sqrt(c) |v|)
    log(x) = artanh(sqrt(c) |x|) x / (sqrt(c) |x|)
    x (+) y = ((1 + 2c x.y + c|y|^2) x + (1 - c|x|^2) y) / (1 + 2c x.y + c^2 |x|^2 |y|^2)
    d(x, y) = 2 / sqrt(c) artanh(sqrt(c) |(-x) (+) y|)
    |(-x) (+) y|^2 = |x - y|^2 / (1 - 2c x.y + c^2 |x|^2 |y|^2)

As c goes to 0 the ball becomes flat: exp(v) -> v and d(x, y) -> 2 |x - y|. Points are kept at norms of at
most (1 - 1e-5) / sqrt(c): at the rim itself distances are infinite.
"""

from __future__ import annotations

import torch
from torch import Tensor

RIM = 1e-5
_TINY = 1e-15


def exp(tangent: Tensor, c: float) -> Tensor:
    """Points (..., dim) of the ball for tangent vectors at the origin."""
    root = c**0.5
    length = (root * _norm(tangent)).clamp_min(_TINY)
    return projected(tangent * (torch.tanh(length) / length), c)


def log(points: Tensor, c: float) -> Tensor:
    """Tangent vectors (..., dim) at the origin for points of the ball: the inverse of ``exp``."""
    root = c**0.5
    length = (root * _norm(points)).clamp_min(_TINY)
    tangent: Tensor = points * (torch.atanh(length.clamp_max(1 - RIM)) / length)
    return tangent


def projected(points: Tensor, c: float) -> Tensor:
    """The same points, those too near to the rim or beyond it drawn inside."""
    most = (1 - RIM) / c**0.5
    length = _norm(points).clamp_min(_TINY)
    return torch.where(length > most, points * (most / length), points)


def added(x: Tensor, y: Tensor, c: float) -> Tensor:
    """The Mobius sum x (+) y, (..., dim)."""
    xy, xx, yy = ((a * b).sum(-1, keepdim=True) for a, b in ((x, y), (x, x), (y, y)))
    over = (1 + 2 * c * xy + c * yy) * x + (1 - c * xx) * y
    return over / (1 + 2 * c * xy + c**2 * xx * yy).clamp_min(_TINY)


def distance(x: Tensor, y: Tensor, c: float) -> Tensor:
    """d(x, y) of points (..., dim), row by row."""
    return _length(added(-x, y, c).square().sum(-1), c)


def ball_distances(tangents: Tensor, words: Tensor, c: float) -> Tensor:
    """d(exp(r), exp(w))^2 of tangent vectors (n, dim) and (k, dim), each with each: (n, k)."""
    x, y = exp(tangents, c), exp(words, c)
    xx, yy, xy = x.square().sum(1, keepdim=True), y.square().sum(1), x @ y.T
    apart = (xx - 2 * xy + yy).clamp_min(0)
    ratio = apart / (1 - 2 * c * xy + c**2 * xx * yy).clamp_min(_TINY)
    return _length(ratio, c).square()


def _length(square: Tensor, c: float) -> Tensor:
    """2 / sqrt(c) artanh(sqrt(c) s) for s^2; the root of 0 has no gradient, so it is kept off 0."""
    root: float = c**0.5
    length = root * torch.sqrt(square.clamp_min(_TINY))
    return 2 / root * torch.atanh(length.clamp_max(1 - RIM))


def _norm(rows: Tensor) -> Tensor:
    return torch.sqrt(rows.square().sum(-1, keepdim=True).clamp_min(_TINY**2))
