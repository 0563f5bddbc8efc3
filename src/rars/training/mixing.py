"""Weights of the prior and of the decoder at each depth, learned on queries that neither has seen.

Owns: the scales a_l of the prior and b_l of the decoder's own logits (``rars.model.prior``) for a decoder
that learned by itself: those under which held-out relevance is most likely,

    min over a, b > 0 of  - sum over q, l, v of mu_l(v|q) log softmax_v(b_l own_l(v|u) + a_l prior_l(v|u)).

Training queries would overrate both: the decoder is fitted to them, and the query vectors may be. Ignores how
the decoder was trained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rars.model.batch import Batch, moved
from rars.model.identifier_model import IdentifierModel, Pass
from rars.model.prior import OWN_PART_BESIDE
from rars.objectives import grouped
from rars.objectives.common import Context, PerToken
from rars.training.packing import TrainingSet, pack

_WHOLE = PerToken(per_token=True)
_QUERIES = 1000
"""Held-out queries at the most."""
_BATCH = 32
_STEPS = 50
_CAUTION = 1.0
"""Weight of the squared distance of the log scales from their start, against chance in few queries."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Some queries, the decoder's own logits (``alone``) and the prior's: per depth (parents, choices)."""

    batch: Batch
    alone: Pass
    prior: tuple[Tensor, ...]

    def mixed(self, scales: Tensor, own: Tensor) -> Pass:
        logits = tuple(
            b * decoder + a * prior
            for a, b, decoder, prior in zip(scales, own, self.alone.logits, self.prior, strict=True)
        )
        return replace(self.alone, logits=logits)


def mix(model: IdentifierModel, held_out: TrainingSet, normaliser: str) -> None:
    """Set the scales of a model's prior and of its own part to those that fit the held-out queries best."""
    assert model.prior is not None
    parts = _parts(model, held_out)
    context = Context(normaliser=normaliser)
    queries = sum(part.batch.n_queries for part in parts)
    depths = len(model.slots)
    device = model.prior.scales.device
    start = torch.tensor([[1.0] * depths, [OWN_PART_BESIDE] * depths], device=device).log()
    found = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([found], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        scales, own = found.exp()
        totals = [
            grouped.loss(part.mixed(scales, own), part.batch, context, _WHOLE).sum for part in parts
        ]
        value = (sum(totals) + _CAUTION * (found - start).square().sum()) / queries
        value.backward()  # type: ignore[no-untyped-call]
        return value.detach()

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        scales, own = found.exp()
        model.prior.scales.copy_(scales)
        model.prior.own.copy_(own)


@torch.no_grad()
def _parts(model: IdentifierModel, data: TrainingSet) -> list[_Part]:
    assert model.prior is not None
    model.eval()
    chosen = np.sort(np.random.default_rng(0).permutation(len(data))[:_QUERIES])
    model.prior.scales.fill_(1.0)
    model.prior.own.fill_(0.0)
    found = []
    for first in range(0, len(chosen), _BATCH):
        batch = moved(pack(data, chosen[first : first + _BATCH]), model.prior.scales.device)
        found.append(_Part(batch, model(batch, alone=True), model(batch).logits))
    return found
