"""Margin ranking over the model's own lists, as LTRGR learns to rank.

loss = mean over queries q of a hinge(m_top - [s(d+) - s(d-)])
                           + (1 - a) mean over d in R, n in N of hinge(m_random - [s(d) - s(n)])

R are the relevant items of the list, N the others; d+ and d- the first of each in the list; s(d) the
log-likelihood of the whole identifier; hinge(x) = max(x, 0). LTRGR draws one pair (d, n) at random where the
mean over all is taken here: all of them are scored anyway, and the mean is what a drawn pair is on average.

Target:            relevant items above others of the same list, by a margin of log-likelihood
Normalised over:   as s is: the choices possible at each depth (or the legal children)
Weight:            mean over queries; one without a relevant item or without others counts 0
Gradient reaches:  decoder, code tables, encoder
Related:           ``prefix_ranking`` ranks prefixes by raw logits and grades
"""

from __future__ import annotations

import torch
from pydantic import Field, PositiveInt, field_validator
from torch import Tensor

from rars.config import Section, part
from rars.model.batch import Batch, Candidates
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, ListRequest, Term, Total


class ListSettings(Section):
    """The lists that a ranking term reads: where from, how long, how often made anew."""

    source: str = "beam"
    """``beam``: the model's own best; ``bm25``, ``random``, ``judged``."""
    count: PositiveInt = 16
    """Items that are not relevant in a query's list, at the most: the first that the source ranks."""
    refresh: PositiveInt = 1
    """Epochs until the model's own lists are made anew."""

    @field_validator("source")
    @classmethod
    def _known(cls, source: str) -> str:
        part("source of candidates", source)
        return source

    @property
    def request(self) -> ListRequest:
        """What the term asks for."""
        return ListRequest(source=self.source, count=self.count, refresh=self.refresh)


class MarginSettings(ListSettings):
    """By how much, and how much each kind of pair counts."""

    top_margin: float = Field(1.0, ge=0)
    random_margin: float = Field(1.33, ge=0)
    top_share: float = Field(0.5, ge=0, le=1)
    """a: how much the pair of the first ones counts, beside all other pairs."""


def loss(found: Pass, batch: Batch, context: Context, settings: MarginSettings) -> Total:
    """Hinges of the two first items and of all pairs, query by query."""
    lists, scores = context.candidates, context.scores
    assert lists is not None
    assert scores is not None
    score, relevant = scores.sum(dim=1), lists.mass > 0
    queries = len(batch.weight)
    counts = [torch.bincount(lists.query[one], minlength=queries) for one in (relevant, ~relevant)]
    both = (counts[0] > 0) & (counts[1] > 0)
    best, worst = (_first(lists, score, one, queries) for one in (relevant, ~relevant))
    top = torch.relu(settings.top_margin - (score[best] - score[worst]))
    right, wrong = _pairs(lists.query, relevant, counts[1])
    short = torch.relu(settings.random_margin - (score[right] - score[wrong]))
    every = short.new_zeros(queries).index_add(0, lists.query[right], short)
    mean = every / (counts[0] * counts[1]).clamp(min=1)
    each = settings.top_share * top + (1 - settings.top_share) * mean
    return Total(torch.where(both, batch.weight * each, 0.0).sum(), batch.n_queries)


def _first(lists: Candidates, score: Tensor, marked: Tensor, queries: int) -> Tensor:
    """(queries,) the marked item of each query that stands first in its list; any where there is none.

    Items that the source did not list come after those it did, the better score first.
    """
    unlisted = torch.where(lists.rank >= 0, lists.rank, 1 + lists.rank.max().clamp(min=0))
    # Stable, the least important key first: score, place in the list, marked or not, query.
    order = torch.argsort(-score.detach(), stable=True)
    for key in (unlisted, (~marked).long(), lists.query):
        order = order[torch.argsort(key[order], stable=True)]
    first = torch.searchsorted(
        lists.query[order].contiguous(), torch.arange(queries, device=order.device)
    )
    return order[first.clamp(max=len(order) - 1)]


def _pairs(query: Tensor, relevant: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """All pairs of a relevant item and another of the same query, as indices into the lists."""
    right, wrong = torch.nonzero(relevant).flatten(), torch.nonzero(~relevant).flatten()
    counts = others[query[right]]
    owner = torch.repeat_interleave(torch.arange(len(right), device=query.device), counts)
    first = (others.cumsum(0) - others)[query[right]]
    at = torch.arange(len(owner), device=query.device) - (counts.cumsum(0) - counts)[owner]
    return right[owner], wrong[first[owner] + at]


TERM = Term(
    about="relevant items above others of the model's own lists, by a margin (LTRGR)",
    title="margin ranking",
    loss=loss,
    settings=MarginSettings,
    candidates=lambda settings: settings.request,
)
