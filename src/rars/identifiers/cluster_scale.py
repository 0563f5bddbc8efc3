"""CAT-ID2's cluster-scale constraint: over a batch, the codes of a depth are used alike.

p_l(k | item) = softmax over codes k of -|residual - codeword_k|^2, and with its mean over the batch

    L = sum over depths l of KL(mean p_l || uniform)
      = sum over l of [ sum_k mean p_l(k) log mean p_l(k) + log K ]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rars.config import NoSettings
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


def _loss(step: Step, settings: NoSettings) -> Tensor:
    import torch

    total = step.latent.new_zeros(())
    for depth, book in enumerate(step.books):
        residual = step.residual(depth)
        # |residual|^2 is the same for all codes of a row: the softmax forgets it.
        near = 2 * residual @ book.T - (book * book).sum(1)
        use = torch.softmax(near, dim=1).mean(0)
        total = total + torch.xlogy(use, use * len(book)).sum()
    return total


TERM = QuantisationTerm(
    about="over a batch, the codes of a depth are used alike (CAT-ID2)",
    settings=NoSettings,
    loss=_loss,
    weight=0.0001,
    adds=0.1,
)
