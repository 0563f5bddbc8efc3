"""Prefix-oriented ranking, as RIPOR has it: margins between prefixes follow the margins of their teacher.

loss = mean over queries q of sum over lengths l of
       mean over d in T_l, n in C with n_<=l other than d_<=l of ([S_l(d) - S_l(n)] - f_l [g_l(d) - g_l(n)])^2

S_l(d) is the sum of the raw logits of the first l codes of d, what a search by raw logits ranks prefixes by;
g_l(d) the teacher's score of that prefix, the largest of all items below it: the grade times ``scale``, 0 for
items that are not relevant; f_l is how much of a margin a prefix of l codes has to show already, divided by
that of the longest length; C is the query's list; T_l are its items of the largest g_l. RIPOR draws one n at
random; the mean over all is what that is on average, and all are scored anyway.

All relevant items of a query are in its list, so g_l is exact: nothing outside it could be larger.

Target:            margins of the teacher between the best prefixes and the others
Normalised over:   nothing: logits are added up as they are
Weight:            every length alike, summed; mean over queries
Gradient reaches:  decoder, code tables, encoder
Related:           ``margin_ranking`` compares whole identifiers by likelihood
"""

from __future__ import annotations

import torch
from pydantic import Field, PositiveInt, field_validator
from torch import Tensor

from rars.model.batch import Batch, Candidates
from rars.model.identifier_model import Pass
from rars.objectives.common import Context, Term, Total
from rars.objectives.margin_ranking import ListSettings


class PrefixSettings(ListSettings):
    """Which prefixes, and what their margins should be."""

    lengths: tuple[PositiveInt, ...] = ()
    """Prefixes of so many codes; none named: whole identifiers alone."""
    factors: tuple[float, ...] = (0.5, 0.75, 0.875, 1.0)
    """f: of a margin, how much prefixes of 1, 2, ... codes show; longer ones all of the last."""
    scale: float = Field(2.0, gt=0)
    """The teacher's score of an item is so many times its grade."""

    @field_validator("factors")
    @classmethod
    def _positive(cls, factors: tuple[float, ...]) -> tuple[float, ...]:
        if not factors or min(factors) <= 0:
            raise ValueError("factors are above 0, and there is at least one")
        return factors

    def factor(self, length: int) -> float:
        """What prefixes of so many codes show of a margin, before it is divided by that of the longest."""
        return self.factors[min(length, len(self.factors)) - 1]


def loss(found: Pass, batch: Batch, context: Context, settings: PrefixSettings) -> Total:
    """Squared differences between the margins of prefixes and those of their teacher."""
    lists, logits = context.candidates, context.logits
    assert lists is not None
    assert logits is not None
    depth = logits.shape[1]
    lengths = sorted({min(length, depth) for length in settings.lengths}) or [depth]
    scores, teacher = logits.cumsum(dim=1), settings.scale * lists.gain
    total = logits.new_zeros(())
    for length in lengths:
        prefix = _prefixes(lists, length)
        factor = settings.factor(length) / settings.factor(lengths[-1])
        best = teacher.new_zeros(int(prefix.max()) + 1).scatter_reduce(0, prefix, teacher, "amax")
        each = _margins(
            scores[:, length - 1], factor * best[prefix], prefix, lists.query, len(batch.weight)
        )
        total = total + (batch.weight * each).sum()
    return Total(total, batch.n_queries)


def _prefixes(lists: Candidates, length: int) -> Tensor:
    """(m,) a number for the first ``length`` codes of every listed item, of its query."""
    number = lists.query
    for depth in range(length):
        edge = lists.edge[:, depth]
        # An edge is one prefix of one query; an identifier that has ended keeps the number of its end.
        number = torch.where(edge >= 0, edge + number.max() + 1, number)
    return number


def _margins(score: Tensor, teacher: Tensor, prefix: Tensor, query: Tensor, queries: int) -> Tensor:
    """(queries,) the mean squared difference of margins, over the best items and those of other prefixes."""
    top = teacher.new_zeros(queries).scatter_reduce(0, query, teacher, "amax")
    best = (teacher == top[query]) & (teacher > 0)
    counts = torch.bincount(query, minlength=queries)
    right = torch.nonzero(best).flatten()
    others = counts[query[right]]
    owner = torch.repeat_interleave(torch.arange(len(right), device=query.device), others)
    first = (counts.cumsum(0) - counts)[query[right]]
    at = torch.arange(len(owner), device=query.device) - (others.cumsum(0) - others)[owner]
    one, other = right[owner], first[owner] + at
    differs = prefix[one] != prefix[other]
    one, other = one[differs], other[differs]
    error = (score[one] - score[other]) - (teacher[one] - teacher[other])
    asked = query[one]
    summed = error.new_zeros(queries).index_add(0, asked, error.square())
    return summed / torch.bincount(asked, minlength=queries).clamp(min=1)


TERM = Term(
    about="margins between prefixes follow their teacher's, by raw logits (RIPOR)",
    title="prefix ranking",
    loss=loss,
    settings=PrefixSettings,
    candidates=lambda settings: settings.request,
)
