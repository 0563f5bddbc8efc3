"""Fine-tuning a sentence-transformers model itself: one encoder for queries and items, or one for each.

Owns: running that library's model with gradients, and where the tuned ones are kept. Pooling and
normalisation are the model's own unless a pooling is asked for. The library's trainer is not used: it needs
further packages for what is a short loop.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from torch import Tensor

from rars.arrays import Ints
from rars.data import Dataset
from rars.identifiers.sentences import PREFIX, Pooling, open_model
from rars.identifiers.texts import item_texts
from rars.identifiers.towers import TwoTowers

FOLDER, ITEM_FOLDER = "encoder", "item-encoder"


class SentenceEncoder(TwoTowers):
    """One model over the queries of a dataset, and the same or a second one over its items."""

    def __init__(
        self,
        model: Any,
        queries: pa.Array,
        items: pa.ChunkedArray,
        *,
        separate: bool = False,
        cosine: bool = True,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        self.device, self.cosine, self.separate = device, cosine, separate
        self.model = model
        # Two names of one module would be two copies in a state that is kept.
        if separate:
            self.item_model = copy.deepcopy(model)
        self._queries, self._items = queries, items

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        name: str,
        *,
        pooling: Pooling = "own",
        max_tokens: int | None = None,
        separate: bool = False,
        cosine: bool = True,
        device: str = "cpu",
    ) -> SentenceEncoder:
        """The model of an embedder's name; two towers start from the same weights."""
        source = name.removeprefix(PREFIX)
        model = open_model(source, device, pooling=pooling, max_tokens=max_tokens)
        texts = (dataset.query_texts, item_texts(dataset))
        return cls(model, *texts, separate=separate, cosine=cosine, device=device)

    def queries(self, rows: Ints) -> Tensor:
        """Vectors of queries."""
        return self._encoded(self.model, self._queries.take(pa.array(rows)).to_pylist())

    def items(self, rows: Ints) -> Tensor:
        """Vectors of items."""
        model = self.item_model if self.separate else self.model
        return self._encoded(model, self._items.take(pa.array(rows)).to_pylist())

    def save(self, folder: Path) -> None:
        """Write folders that any embedder of the library can be opened from."""
        self.model.save_pretrained(str(folder / FOLDER), create_model_card=False)
        if self.separate:
            self.item_model.save_pretrained(str(folder / ITEM_FOLDER), create_model_card=False)

    def _encoded(self, model: Any, texts: list[str | None]) -> Tensor:
        features = _reader(model)([text or "" for text in texts])
        moved = {
            name: value.to(self.device) if isinstance(value, Tensor) else value
            for name, value in features.items()
        }
        with self.reading():
            vectors: Tensor = model(moved)["sentence_embedding"]
        return vectors.float()


def tuned_name(folder: Path) -> str:
    """The embedder's name of a tuned model kept in a folder."""
    return f"{PREFIX}{folder / FOLDER}"


def tuned_item_name(folder: Path) -> str:
    """The embedder's name of what embeds the items: the second tower, where there is one."""
    return f"{PREFIX}{folder / (ITEM_FOLDER if (folder / ITEM_FOLDER).exists() else FOLDER)}"


def _reader(model: Any) -> Callable[[list[str]], dict[str, Any]]:
    """Texts to features; an older release of the library knows this step by another name."""
    found: Callable[[list[str]], dict[str, Any]] = (
        getattr(model, "preprocess", None) or model.tokenize
    )
    return found
