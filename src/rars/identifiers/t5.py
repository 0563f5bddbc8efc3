"""The encoder of a T5, mT5 or umT5 checkpoint as an embedder.

Owns: loading it by hub name, folder or package, batching by length, pooling: the mean of the last states
over a text's tokens (end token included). Vectors of one text agree between batches up to float rounding
only, as padding and batch size reach the matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rars import disk
from rars.arrays import Points, padded
from rars.checkpoints import UNREADABLE, located, quiet, refuse_kernel
from rars.errors import RarsError
from rars.identifiers.embedder import EmbedderKind
from rars.identifiers.pretrained import unreachable, weights_digest
from rars.scale.threads import on_free_cores

MAX_TOKENS = 512
_TOKENS = 8192
"""Padded tokens per batch."""

_ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}


class T5Embedder:
    """Mean of the encoder's final states over the tokens of a text."""

    def __init__(self, source: str, device: str = "cpu") -> None:
        import transformers

        place = located(source)
        quiet(place)
        try:
            config = transformers.AutoConfig.from_pretrained(place, trust_remote_code=False)
            if config.model_type not in _ENCODERS:
                raise RarsError(f"{source} is a {config.model_type} model, not T5, mT5 or umT5.")
            encoder = getattr(transformers, _ENCODERS[config.model_type])
            refuse_kernel(source, config)
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                place, trust_remote_code=False
            )
            self._model: Any = encoder.from_pretrained(place, config=config).to(device).eval()
        except UNREADABLE as error:
            raise unreachable("t5", source, error) from error
        self._device = device
        self.dim = int(config.d_model)
        self.digest = disk.digest_json(["t5", 1, weights_digest(place, self._model)])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, d_model)."""
        import torch

        out = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return out
        found = self._tokenizer(list(texts), truncation=True, max_length=MAX_TOKENS)["input_ids"]
        ids = [np.asarray(one, dtype=np.int64) for one in found]

        def embed(rows: list[int]) -> None:
            table, filled = padded([ids[row] for row in rows], 0)
            batch = torch.from_numpy(table).to(self._device)
            mask = torch.from_numpy(filled).to(self._device, torch.int64)
            with torch.no_grad():
                states = self._model(input_ids=batch, attention_mask=mask).last_hidden_state
                weights = mask[..., None].to(states.dtype)
                mean = (states * weights).sum(1) / weights.sum(1).clamp_min(1)
            out[rows] = mean.float().cpu().numpy()

        on_free_cores(embed, list(_by_length([len(one) for one in ids])), self._device)
        return out


def _by_length(lengths: list[int]) -> Iterator[list[int]]:
    """Rows in batches of similar length, longest first, each at most ``_TOKENS`` with its padding."""
    order = np.argsort(-np.asarray(lengths), kind="stable").tolist()
    start = 0
    while start < len(order):
        stop = start + max(1, _TOKENS // max(1, lengths[order[start]]))
        yield order[start:stop]
        start = stop


EMBEDDER = EmbedderKind(
    about="encoder of a T5, mT5 or umT5 checkpoint; mean of its last states",
    open=T5Embedder,
    source="NAME_OR_FOLDER",
)
