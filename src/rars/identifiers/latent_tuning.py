"""Teaching latent steps to say what a rationale says (LaSER's dual-view self-distillation).

Owns: the two views of a batch and their losses, and the rationales. Ignores the steps themselves (``latent``)
and the loop (``towers``).

With t the temperature, P the batch's items, and s(view) the cosines of a view's query vectors with P,

    L =       contrast(s(latent) / t) + explicit x contrast(s(explicit) / t)
        + output     x KL( softmax(s(explicit) / t)  ||  softmax(s(latent) / t) )
        + trajectory x mean over steps k of KL( softmax(s(explicit_k) / t') || softmax(s(latent_k) / t') )

The explicit view teaches: nothing flows back into it from the divergences. A rationale is the category path
of the query's most relevant item, a level a part, as nobody wrote rationales for shop queries; of an item
without categories, its title. It is read in training alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from rars.arrays import Ints
from rars.data import Dataset
from rars.identifiers.latent import PREFIX, LatentModel
from rars.identifiers.texts import item_texts
from rars.identifiers.towers import PairBatch, Pairs, TwoTowers, contrast

FOLDER = "latent"


@dataclass(frozen=True)
class Weights:
    """How much each part of the loss counts, and the temperature of the trajectories."""

    output: float = 10.0
    explicit: float = 1.0
    trajectory: float = 0.1
    trajectory_temperature: float = 0.05


def two_views(
    latent: Tensor,
    explicit: Tensor,
    items: Tensor,
    batch: PairBatch,
    temperature: float,
    weights: Weights,
) -> Tensor:
    """The loss of trajectories (queries, steps, width) of both views and item vectors (items, width)."""
    items = nn.functional.normalize(items, dim=-1)
    own = _cosines(latent.mean(dim=1), items) / temperature
    taught = _cosines(explicit[:, -1], items) / temperature
    value = contrast(own, batch) + weights.explicit * contrast(taught, batch)
    value = value + weights.output * divergence(taught, own)
    cold = weights.trajectory_temperature
    steps = divergence(_cosines(explicit, items) / cold, _cosines(latent, items) / cold)
    return value + weights.trajectory * steps


def divergence(teacher: Tensor, student: Tensor) -> Tensor:
    """KL(softmax(teacher) || softmax(student)) over the last axis, the mean of all others."""
    wanted = teacher.detach().log_softmax(dim=-1)
    return (wanted.exp() * (wanted - student.log_softmax(dim=-1))).sum(dim=-1).mean()


def rationales(dataset: Dataset) -> dict[int, list[str]]:
    """The parts of every training query's rationale, by row number."""
    pairs = Pairs.of(dataset)
    order = np.lexsort((pairs.item, -pairs.share, pairs.query))
    first = order[np.r_[True, np.diff(pairs.query[order]) > 0]]
    chosen = dataset.items(["title", "category"]).take(pa.array(pairs.item[first]))
    titles, paths = chosen["title"].to_pylist(), chosen["category"].to_pylist()
    return {
        int(query): [level for level in path or () if level] or [title or ""]
        for query, title, path in zip(pairs.query[first], titles, paths, strict=True)
    }


class LatentEncoder(TwoTowers):
    """One model over the queries and items of a dataset."""

    def __init__(
        self,
        model: LatentModel,
        queries: pa.Array,
        items: pa.ChunkedArray,
        reasons: dict[int, list[str]],
        weights: Weights,
    ) -> None:
        super().__init__()
        self.model, self.weights = model, weights
        self._queries, self._items, self._reasons = queries, items, reasons

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        name: str,
        weights: Weights,
        *,
        steps: int | None = None,
        max_tokens: int | None = None,
        device: str = "cpu",
    ) -> LatentEncoder:
        """The model of an embedder's name."""
        source = name.removeprefix(PREFIX)
        model = LatentModel.open(source, device, steps=steps, max_tokens=max_tokens)
        texts = (dataset.query_texts, item_texts(dataset))
        return cls(model, *texts, rationales(dataset), weights)

    def queries(self, rows: Ints) -> Tensor:
        """Vectors of queries."""
        with self.reading():
            return self.model.vectors(_texts(self._queries, rows)).float()

    def items(self, rows: Ints) -> Tensor:
        """Vectors of items."""
        with self.reading():
            return self.model.vectors(_texts(self._items, rows)).float()

    def loss(self, batch: PairBatch, temperature: float) -> Tensor:
        """Both views of the batch's queries."""
        texts = _texts(self._queries, batch.queries)
        reasons = [self._reasons[row] for row in batch.queries.tolist()]
        with self.reading():
            views = self.model.trajectory(texts), self.model.explicit(texts, reasons)
        latent, explicit = (one.float() for one in views)
        items = self.items(batch.items)
        return two_views(latent, explicit, items, batch, temperature, self.weights)

    def save(self, folder: Path) -> None:
        """Write a folder that an embedder of this kind can be opened from."""
        self.model.save(folder / FOLDER)


def tuned_name(folder: Path) -> str:
    """The embedder's name of a tuned model kept in a folder."""
    return f"{PREFIX}{folder / FOLDER}"


def _cosines(vectors: Tensor, items: Tensor) -> Tensor:
    """(..., items) of vectors (..., width) and unit vectors (items, width)."""
    return torch.matmul(nn.functional.normalize(vectors, dim=-1), items.T)


def _texts(column: pa.Array | pa.ChunkedArray, rows: Ints) -> list[str]:
    return [text or "" for text in column.take(pa.array(rows)).to_pylist()]
