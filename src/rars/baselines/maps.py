"""Fine-tuning on top of frozen vectors: one linear map for queries and one for items.

Owns: learning the two maps (``rars.identifiers.maps`` applies them), and dense search through them. The
built-in sentence encoder cannot be trained; a map turns its space towards what this catalogue's judgments
call relevant.

z = x + x W, with W = 0 at the start: untrained, the maps change nothing. Scores are cosines of z.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from rars import artifacts
from rars.baselines.dense import Dense, Points
from rars.baselines.ranked import Advance, Ints
from rars.baselines.tuning import Held, TwoTowers, tune
from rars.config import BaselineSettings
from rars.data import Dataset
from rars.identifiers.embed import Embedder, cached_vectors
from rars.identifiers.maps import Maps
from rars.identifiers.texts import item_texts


class ResidualMaps(TwoTowers):
    """Maps over the frozen vectors of some queries and all items.

    ``place`` (queries of the dataset,) says where a query's vector is
    """

    def __init__(self, queries: Points, place: Ints, items: Points) -> None:
        super().__init__()
        self._queries, self._place, self._items = queries, place, items
        dim = queries.shape[1]
        self.query_map = nn.Parameter(torch.zeros(dim, dim))
        self.item_map = nn.Parameter(torch.zeros(dim, dim))

    @classmethod
    def of(
        cls, dataset: Dataset, embedder: Embedder, *, advance: Advance | None = None
    ) -> ResidualMaps:
        """Over the vectors of training and validation queries; test queries are not looked at."""
        rows = np.concatenate([dataset.queries_in("train"), dataset.queries_in("validation")])
        place = np.full(dataset.n_queries, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        texts = pa.chunked_array([dataset.query_texts.take(pa.array(rows))])
        items = cached_vectors(item_texts(dataset), embedder, advance=advance)
        return cls(cached_vectors(texts, embedder, advance=advance), place, items)

    def queries(self, rows: Ints) -> Tensor:
        """Mapped vectors of queries."""
        return _mapped(torch.from_numpy(self._queries[self._place[rows]]), self.query_map)

    def items(self, rows: Ints) -> Tensor:
        """Mapped vectors of items."""
        return _mapped(torch.from_numpy(self._items[rows]), self.item_map)

    def maps(self) -> Maps:
        """As they are now."""
        return Maps(self.query_map.detach().numpy().copy(), self.item_map.detach().numpy().copy())

    def save(self, folder: Path) -> None:
        """Write both maps."""
        self.maps().save(folder)


def fitted(
    dataset: Dataset,
    embedder: Embedder,
    settings: BaselineSettings,
    held: Held,
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> Maps:
    """Maps learned on the training judgments of a dataset; the best epoch on validation queries."""
    towers = ResidualMaps.of(dataset, embedder, advance=advance)
    tune(towers, dataset, settings, held, seed=seed, advance=advance)
    return towers.maps()


@dataclass(frozen=True, eq=False)
class MappedEmbedder:
    """An embedder of queries whose vectors go through their map."""

    embedder: Embedder
    maps: Maps

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        return self.embedder.dim

    @property
    def digest(self) -> str:
        """Of the embedder and the map."""
        matrix = hashlib.sha256(np.ascontiguousarray(self.maps.query).tobytes()).hexdigest()
        return artifacts.digest_json([self.embedder.digest, matrix])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""
        return self.maps.queries(self.embedder.embed(texts))


def mapped_dense(
    dataset: Dataset, embedder: Embedder, folder: Path, *, advance: Advance | None = None
) -> Dense:
    """Dense search through the maps in a folder; the mapped item vectors are held in memory."""
    maps = Maps.load(folder, embedder.dim)
    frozen = cached_vectors(item_texts(dataset), embedder, advance=advance)
    return Dense(maps.items(frozen), MappedEmbedder(embedder, maps), cosine=True)


def _mapped(vectors: Tensor, matrix: Tensor) -> Tensor:
    return vectors + vectors @ matrix
