"""A term of the tests, and a training with it that a test may start in a process of its own and kill."""

from __future__ import annotations

from pathlib import Path

import torch
from pydantic import Field

from rars.config import Recipe, Section
from rars.data import Dataset
from rars.objectives import TERMS
from rars.objectives.common import ListRequest, Term, Total
from rars.pipeline.training import train


class MarginSettings(Section):
    """A term of the tests: relevant candidates score higher than others by a margin."""

    margin: float = Field(1.0, gt=0)
    source: str = "beam"
    refresh: int = 1


def margin(found, batch, context, settings):
    """Mean over queries of how much each other candidate comes too near to each relevant one."""
    lists, scores = context.candidates, context.scores.sum(1)
    right, wrong = (lists.mass > 0), (lists.mass == 0)
    near = settings.margin - (scores[:, None] - scores[None, :])
    same = (lists.query[:, None] == lists.query[None, :]) & right[:, None] & wrong[None, :]
    return Total(torch.where(same, near.clamp(min=0), near.new_zeros(())).sum(), batch.n_queries)


TERM = Term(
    about="relevant candidates above others by a margin",
    title="margin",
    loss=margin,
    settings=MarginSettings,
    candidates=lambda s: ListRequest(source=s.source, count=4, refresh=s.refresh),
)


def train_file(shop: Path, out: Path, recipe: Path) -> None:
    """Train a recipe written to a file, which may use the term."""
    TERMS["margin"] = TERM
    train(Dataset.load(shop), Recipe.resolve(recipe, size="tiny"), out)
