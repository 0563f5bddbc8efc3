"""A sentence-transformers model itself: one encoder for queries and items, or (as in DPR) one for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import NonNegativeInt

from rars.baselines.dense import Dense, DenseSettings
from rars.baselines.negatives import hard_negatives
from rars.baselines.tuning import Tuning, tuned
from rars.config import Section
from rars.data import Dataset
from rars.identifiers.embed import cached_vectors
from rars.identifiers.embedders import open_embedder
from rars.identifiers.sentences import PREFIX
from rars.identifiers.texts import item_texts
from rars.progress import Advance

if TYPE_CHECKING:
    from rars.identifiers.towers import Held


class EncoderSettings(Section):
    """The settings of ``encoder``."""

    separate: bool = False
    """Two encoders, which start from the same weights: one reads queries, one items."""
    drawn: bool = False
    """An epoch has one pair of every query, drawn by its share of the relevance, instead of all pairs."""
    negatives: NonNegativeInt = 0
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
    from rars.identifiers.encoder_tuning import SentenceEncoder
    from rars.identifiers.towers import Lessons

    own: EncoderSettings = settings.own
    towers = SentenceEncoder.of(
        dataset,
        settings.embedder,
        pooling=settings.pooling,
        max_tokens=settings.max_tokens,
        separate=own.separate,
        cosine=settings.similarity == "cosine",
    )
    towers.precision = settings.precision
    hard = hard_negatives(dataset, own.negatives, advance=advance) if own.negatives else None
    lessons = Lessons(own.drawn, hard)
    return tuned(towers, settings, dataset, folder, held, lessons, seed=seed, advance=advance)


def _open(
    settings: DenseSettings, dataset: Dataset, folder: Path, *, advance: Advance | None = None
) -> Dense:
    from rars.identifiers.encoder_tuning import tuned_item_name, tuned_name

    queries, items = tuned_name(folder), tuned_item_name(folder)
    embedder = open_embedder(queries)
    reader = embedder if items == queries else open_embedder(items)
    vectors = cached_vectors(item_texts(dataset), reader, advance=advance)
    return Dense(vectors, embedder, settings.similarity == "cosine")


TUNING = Tuning(
    "a sentence-transformers model itself, or one for queries and one for items",
    EncoderSettings,
    _open,
    _learn,
    embedder=PREFIX,
    defaults={"epochs": 2, "learning_rate": 5e-5, "batch": 64, "similarity": "cosine"},
)
