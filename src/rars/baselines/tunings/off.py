"""Vectors as the embedder makes them."""

from __future__ import annotations

from pathlib import Path

from rars.baselines.dense import Dense, DenseSettings
from rars.baselines.tuning import Tuning
from rars.config import NoSettings
from rars.data import Dataset
from rars.identifiers.embed import cached_vectors
from rars.identifiers.texts import item_texts
from rars.progress import Advance


def _open(
    settings: DenseSettings, dataset: Dataset, folder: Path, *, advance: Advance | None = None
) -> Dense:
    embedder = settings.opened()
    vectors = cached_vectors(item_texts(dataset), embedder, advance=advance)
    return Dense(vectors, embedder, settings.similarity == "cosine")


TUNING = Tuning("nothing: vectors as they are", NoSettings, _open, frozen=True)
