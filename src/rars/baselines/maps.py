"""Dense search through two maps, learned as ``rars.identifiers.fitting`` learns them."""

from __future__ import annotations

from pathlib import Path

from rars.baselines.dense import Dense
from rars.data import Dataset
from rars.identifiers.embed import cached_vectors
from rars.identifiers.embedder import Embedder
from rars.identifiers.fitting import MappedEmbedder
from rars.identifiers.maps import Maps
from rars.identifiers.texts import item_texts
from rars.progress import Advance


def mapped_dense(
    dataset: Dataset, embedder: Embedder, folder: Path, *, advance: Advance | None = None
) -> Dense:
    """Dense search through the maps in a folder; the mapped item vectors are held in memory."""
    maps = Maps.load(folder, embedder.dim)
    frozen = cached_vectors(item_texts(dataset), embedder, advance=advance)
    return Dense(maps.items(frozen), MappedEmbedder(embedder, maps), cosine=True)
