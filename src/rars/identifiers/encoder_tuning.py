"""Fine-tuning a sentence-transformers model itself, with one encoder for queries and items.

Owns: running that library's model with gradients, and where the tuned one is kept. Pooling and normalisation
are the model's own. The library's trainer is not used: it needs further packages for what is a short loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from torch import Tensor

from rars.arrays import Ints
from rars.checkpoints import located, refuse_code
from rars.data import Dataset
from rars.identifiers.texts import item_texts
from rars.identifiers.towers import TwoTowers

FOLDER = "encoder"
PREFIX = "sentence-transformers:"


class SentenceEncoder(TwoTowers):
    """A model over the texts of a dataset.

    It raises the library's own errors: open the embedder of the same name first for a one-sentence error.
    """

    def __init__(
        self, source: str, queries: pa.Array, items: pa.ChunkedArray, device: str = "cpu"
    ) -> None:
        from sentence_transformers import SentenceTransformer

        super().__init__()
        self.device = device
        place = located(source)
        refuse_code(source, place)
        self.model: Any = SentenceTransformer(place, device=device, trust_remote_code=False)
        # An older release of the library knows the first step by another name.
        self._read = getattr(self.model, "preprocess", None) or self.model.tokenize
        self._queries, self._items = queries, items

    @classmethod
    def of(cls, dataset: Dataset, name: str, *, device: str = "cpu") -> SentenceEncoder:
        """The model of an embedder's name."""
        source = name.removeprefix(PREFIX)
        return cls(source, dataset.query_texts, item_texts(dataset), device)

    def queries(self, rows: Ints) -> Tensor:
        """Vectors of queries."""
        return self._encoded(self._queries.take(pa.array(rows)).to_pylist())

    def items(self, rows: Ints) -> Tensor:
        """Vectors of items."""
        return self._encoded(self._items.take(pa.array(rows)).to_pylist())

    def save(self, folder: Path) -> None:
        """Write a folder that any embedder of the library can be opened from."""
        self.model.save_pretrained(str(folder / FOLDER), create_model_card=False)

    def _encoded(self, texts: list[str | None]) -> Tensor:
        features = self._read([text or "" for text in texts])
        moved = {
            name: value.to(self.device) if isinstance(value, Tensor) else value
            for name, value in features.items()
        }
        vectors: Tensor = self.model(moved)["sentence_embedding"]
        return vectors


def tuned_name(folder: Path) -> str:
    """The embedder's name of a tuned model kept in a folder."""
    return f"{PREFIX}{folder / FOLDER}"
