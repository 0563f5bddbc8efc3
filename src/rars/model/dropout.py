"""Dropout that does not cost more than the layer it regularises.

Owns: zeroing entries with probability p and scaling the rest by 1 / (1 - p). On a CPU torch draws a 64-bit
number for each entry, a sixth of the time of a training step of a small T5; here one such number decides four
entries, so p is rounded to a multiple of 2^-16, and the scale with it. Draws follow ``torch.manual_seed``.
Elsewhere it is torch's own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

_STEPS = 1 << 16


def dropped(values: Tensor, p: float, training: bool) -> Tensor:
    """Values with entries zeroed at random, in training; as they are otherwise.

    >>> _ = torch.manual_seed(0)
    >>> out = dropped(torch.ones(1000, 1000), 0.1, True)
    >>> round(float((out == 0).float().mean()), 3), round(float(out.mean()), 3)
    (0.1, 1.0)
    """
    if not training or p == 0:
        return values
    if values.device.type != "cpu" or p >= 1:
        return functional.dropout(values, p, training)
    return values * _mask(values, p)


class Dropout(nn.Module):
    """``dropped`` as a layer."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, values: Tensor) -> Tensor:
        """Values of any shape."""
        return dropped(values, self.p, self.training)

    def extra_repr(self) -> str:
        """What torch prints of it."""
        return f"p={self.p}"


def replace_dropout(part: nn.Module) -> None:
    """Put this layer in the place of torch's own, everywhere in a module."""
    for owner in list(part.modules()):
        for name, layer in list(owner.named_children()):
            if type(layer) is nn.Dropout:
                setattr(owner, name, Dropout(layer.p))


def _mask(values: Tensor, p: float) -> Tensor:
    """0 with probability p, else the scale; in the shape of the values."""
    below = round(p * _STEPS)
    words = torch.randint(-(1 << 63), (1 << 63) - 1, (values.numel() // 4 + 1,))
    drawn = words.view(torch.int16)[: values.numel()].view(values.shape)
    mask = values.new_empty(values.shape)
    torch.ge(drawn, below - _STEPS // 2, out=mask)
    return mask.mul_(_STEPS / (_STEPS - below))
