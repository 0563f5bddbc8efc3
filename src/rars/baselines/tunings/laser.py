"""LaSER: latent steps of a language model, taught by the rationale that it reads in training alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, NonNegativeInt, PositiveInt

from rars.baselines.dense import Dense, DenseSettings
from rars.baselines.negatives import hard_negatives
from rars.baselines.tuning import Tuning, tuned
from rars.config import Section
from rars.data import Dataset
from rars.progress import Advance

if TYPE_CHECKING:
    from rars.identifiers.towers import Held


class LaserSettings(Section):
    """The settings of ``laser``; the three weights are those of its loss."""

    steps: PositiveInt = 3
    """States that a text's vector is the mean of."""
    output: float = Field(10.0, ge=0)
    """How much the latent view's scores should be those of the explicit view."""
    explicit: float = Field(1.0, ge=0)
    """How much the explicit view's own loss counts."""
    trajectory: float = Field(0.1, ge=0)
    """How much each step's scores should be those of its part of the rationale."""
    trajectory_temperature: float = Field(0.05, gt=0)
    drawn: bool = True
    """An epoch has one pair of every query, drawn by its share of the relevance, instead of all pairs."""
    negatives: NonNegativeInt = 1
    """Hard negatives of each query: items judged irrelevant, then the best of BM25 that are not relevant."""


def _learn(
    settings: DenseSettings,
    dataset: Dataset,
    folder: Path,
    held: Held,
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> dict[str, Any]:
    from rars.identifiers.latent_tuning import LatentEncoder, Weights
    from rars.identifiers.towers import Lessons

    own: LaserSettings = settings.own
    weights = Weights(own.output, own.explicit, own.trajectory, own.trajectory_temperature)
    towers = LatentEncoder.of(
        dataset, settings.embedder, weights, steps=own.steps, max_tokens=settings.max_tokens
    )
    towers.precision = settings.precision
    hard = hard_negatives(dataset, own.negatives, advance=advance) if own.negatives else None
    lessons = Lessons(own.drawn, hard)
    return tuned(towers, settings, dataset, folder, held, lessons, seed=seed, advance=advance)


def _open(
    settings: DenseSettings, dataset: Dataset, folder: Path, *, advance: Advance | None = None
) -> Dense:
    from rars.identifiers.latent_tuning import tuned_name

    return Dense.of(dataset, tuned_name(folder), cosine=True, advance=advance)


TUNING = Tuning(
    "latent steps of a language model, taught by a rationale (LaSER)",
    LaserSettings,
    _open,
    _learn,
    embedder="latent:",
    defaults={
        "epochs": 1,
        "learning_rate": 1e-4,
        "batch": 16,
        "temperature": 0.02,
        "similarity": "cosine",
    },
)
