"""Texts in, items out: a trained retriever over the identifiers of a catalogue.

Owns: turning query texts into what the model reads, searching in batches, and expanding identifiers to items.
Ignores where the model came from and how results are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rars.data import Dataset
from rars.identifiers import Identifiers, open_embedder
from rars.identifiers.embed import Embedder
from rars.identifiers.residual import ResidualQuantizer
from rars.model.retriever import Retriever
from rars.model.saving import Ready
from rars.search.beam import Found, Guide, beam_search, items_of
from rars.tree import PrefixTree

Ints = npt.NDArray[np.integer[Any]]
Advance = Callable[[int, int], None]

_BATCH = 32


@dataclass(frozen=True, eq=False)
class Engine:
    """A retriever, its tokenizer and embedder, and the tree it searches."""

    ready: Ready
    identifiers: Identifiers
    tree: PrefixTree
    embedder: Embedder | None

    @classmethod
    def of(cls, ready: Ready, identifiers: Identifiers) -> Engine:
        """Open what the model needs to read a query."""
        needs = ready.architecture.vector or ready.architecture.prior
        embedder = open_embedder(ready.architecture.embedder) if needs else None
        return cls(ready, identifiers, PrefixTree.build(identifiers.codes), embedder)

    def search(
        self,
        texts: Sequence[str],
        *,
        k: int = 100,
        width: int = 100,
        model: Retriever | None = None,
        advance: Advance | None = None,
    ) -> list[Ints]:
        """The best ``k`` items of every text, as catalogue row numbers."""
        found: list[Ints] = []
        for start in range(0, len(texts), _BATCH):
            ranked = self.identify(texts[start : start + _BATCH], width=width, model=model)
            found.extend(items_of(self.tree, leaves, k)[0] for leaves in ranked.leaves)
            if advance:
                advance(len(found), len(texts))
        return found

    @torch.inference_mode()
    def identify(
        self, texts: Sequence[str], *, width: int = 100, model: Retriever | None = None
    ) -> Found:
        """The best identifiers of every text."""
        model = model or self.ready.model
        tokens, mask = self._tokens(texts)
        vectors, projected = self._vectors(texts)
        return beam_search(
            model,
            self.tree,
            self.ready.architecture.vocabulary,
            model.encoder(tokens, mask, vectors),
            projected=projected,
            width=width,
            guide=Guide(normaliser=self.ready.architecture.normaliser),
        )

    def _tokens(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        rows = self.ready.tokenizer.encode(texts)
        tokens = torch.full((len(rows), max(map(len, rows))), self.ready.tokenizer.pad)
        mask = torch.zeros_like(tokens)
        for index, ids in enumerate(rows):
            tokens[index, : len(ids)] = torch.from_numpy(ids)
            mask[index, : len(ids)] = 1
        return tokens, mask

    def _vectors(self, texts: Sequence[str]) -> tuple[Tensor | None, Tensor | None]:
        """Sentence vectors, and the same in codeword space, where the model reads them."""
        if self.embedder is None:
            return None, None
        seen = self.embedder.embed(list(texts))
        vectors = torch.from_numpy(np.array(seen)) if self.ready.architecture.vector else None
        projected = None
        if self.ready.architecture.prior:
            assert isinstance(self.identifiers.quantizer, ResidualQuantizer)
            projected = torch.from_numpy(np.array(self.identifiers.quantizer.project(seen)))
        return vectors, projected


def recall(
    engine: Engine,
    dataset: Dataset,
    split: str,
    *,
    k: int = 100,
    model: Retriever | None = None,
    advance: Advance | None = None,
) -> npt.NDArray[np.float64]:
    """Recall@k of every query of a split that has a positive item, in the dataset's order."""
    query, item, _ = dataset.positives(split)
    asked, row = np.unique(query, return_inverse=True)
    texts = [dataset.query_texts[int(q)].as_py() for q in asked]
    ranked = engine.search(texts, k=k, model=model, advance=advance)
    owner = np.repeat(np.arange(len(asked)), [len(items) for items in ranked])
    shown = owner * dataset.n_items + np.concatenate(ranked)
    hits = np.isin(row * dataset.n_items + item, shown)
    return np.bincount(row, hits) / np.bincount(row)
