"""Two linear maps over frozen vectors, one for queries and one for items, learned on the training judgments.

Owns: learning the maps (``maps`` applies them), and the validation queries that choose the epoch. In the
mapped space relevant items are close to their queries. Ignores the loop and the loss (``towers``).

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

from rars import disk
from rars.arrays import Ints, Points
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import Measure, Truth, quality
from rars.identifiers.embed import cached_vectors, learning_queries
from rars.identifiers.embedder import Embedder
from rars.identifiers.embedders import open_embedder
from rars.identifiers.maps import Maps
from rars.identifiers.texts import item_texts
from rars.identifiers.towers import Held, TuningSettings, TwoTowers, tune
from rars.progress import SILENT, Advance, Tell

DEPTH = 100


def held_out(dataset: Dataset) -> Held | None:
    """The validation queries that a system chooses on, and nDCG@100 as their quality; None without any."""
    truth = Truth.of(dataset, "validation")
    if not len(truth):
        return None
    return Held(truth.queries, quality(truth, truth.queries, Measure("nDCG", DEPTH)))


def learnable(dataset: Dataset, tell: Tell = SILENT) -> Held | None:
    """The same where there are training queries to learn from too; where not, ``tell`` says so."""
    held = held_out(dataset)
    if held is None or not len(dataset.positives("train")[0]):
        tell.say(
            "No judged training and validation queries: vectors stay as the embedder made them."
        )
        return None
    return held


class ResidualMaps(TwoTowers):
    """Maps over the frozen vectors of some queries and all items.

    ``place`` (queries of the dataset,) is the row of a query's vector in ``queries``, -1 where it has none.
    """

    def __init__(self, queries: Points, place: Ints, items: Points, device: str = "cpu") -> None:
        super().__init__()
        self._queries, self._place, self._items = queries, place, items
        dim = queries.shape[1]
        self.query_map = nn.Parameter(torch.zeros(dim, dim, device=device))
        self.item_map = nn.Parameter(torch.zeros(dim, dim, device=device))

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        embedder: Embedder,
        *,
        items: Points | None = None,
        cache: Path | None = None,
        device: str = "cpu",
        advance: Advance | None = None,
    ) -> ResidualMaps:
        """Over the vectors of training and validation queries; test queries are not looked at.

        ``items`` are the embedder's vectors of the items, where they are there already.
        """
        rows = learning_queries(dataset)
        place = np.full(dataset.n_queries, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        texts = pa.chunked_array([dataset.query_texts.take(pa.array(rows))])
        if items is None:
            items = cached_vectors(item_texts(dataset), embedder, cache=cache, advance=advance)
        queries = cached_vectors(texts, embedder, cache=cache, advance=advance)
        if items.shape[1] != queries.shape[1]:
            raise RarsError(
                f"The items' vectors have {items.shape[1]} numbers, but the embedder gives queries "
                f"{queries.shape[1]}; both must be of one embedder."
            )
        return cls(queries, place, items, device)

    def queries(self, rows: Ints) -> Tensor:
        """Mapped vectors of queries."""
        return _mapped(self._queries[self._place[rows]], self.query_map)

    def items(self, rows: Ints) -> Tensor:
        """Mapped vectors of items."""
        return _mapped(self._items[rows], self.item_map)

    def maps(self) -> Maps:
        """As they are now."""
        query, item = (one.detach().cpu().numpy().copy() for one in (self.query_map, self.item_map))
        return Maps(query, item)

    def save(self, folder: Path) -> None:
        """Write both maps."""
        self.maps().save(folder)


def fitted(
    dataset: Dataset,
    name: str,
    settings: TuningSettings,
    *,
    items: Points | None = None,
    seed: int = 0,
    cache: Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> Maps | None:
    """Maps learned on the training judgments of a dataset, from the epoch that is best on validation queries.

    ``name`` is the embedder's. None where there are no judged training and validation queries; ``tell``
    says so.
    """
    held = learnable(dataset, tell)
    if held is None:
        return None
    tell.say(f"Fitting the {name} vectors to the training judgments.")
    embedder = open_embedder(name, device=device)
    with tell.stage("fitting") as advance:
        towers = ResidualMaps.of(
            dataset, embedder, items=items, cache=cache, device=device, advance=advance
        )
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
        return disk.digest_json([self.embedder.digest, matrix])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""
        return self.maps.queries(self.embedder.embed(texts))


def _mapped(vectors: Points, matrix: Tensor) -> Tensor:
    moved = torch.from_numpy(vectors).to(matrix.device)
    return moved + moved @ matrix
