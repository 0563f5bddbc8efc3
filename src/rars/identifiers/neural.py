"""Embedders that run a transformer: T5-family encoders and sentence-transformers models.

Owns: loading a checkpoint by hub name or folder, batching by length, pooling. Vectors of one text agree
between batches up to float rounding only, as padding and batch size reach the matrix products.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rars import artifacts
from rars.errors import RarsError
from rars.identifiers.quantizer import Points

MAX_TOKENS = 512
_TOKENS = 8192
"""Padded tokens per batch."""

_ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}


class T5Embedder:
    """Mean of the encoder's final states over the tokens of a text (end token included)."""

    def __init__(self, source: str, device: str = "cpu") -> None:
        import transformers

        try:
            config = transformers.AutoConfig.from_pretrained(source)
            if config.model_type not in _ENCODERS:
                raise RarsError(f"{source} is a {config.model_type} model, not T5, mT5 or umT5.")
            encoder = getattr(transformers, _ENCODERS[config.model_type])
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source)
            self._model: Any = encoder.from_pretrained(source).to(device).eval()
        except (OSError, ValueError, ImportError) as error:
            raise _unreachable("t5", source, error) from error
        self._device = device
        self.dim = int(config.d_model)
        self.digest = artifacts.digest_json(["t5", 1, _weights_digest(source, self._model)])

    @torch.no_grad()
    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, d_model)."""
        out = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return out
        ids = self._tokenizer(list(texts), truncation=True, max_length=MAX_TOKENS)["input_ids"]
        for rows in _by_length([len(one) for one in ids]):
            batch, mask = _padded([ids[row] for row in rows], self._device)
            states = self._model(input_ids=batch, attention_mask=mask).last_hidden_state
            weights = mask[..., None].to(states.dtype)
            mean = (states * weights).sum(1) / weights.sum(1).clamp_min(1)
            out[rows] = mean.float().cpu().numpy()
        return out


class SentenceTransformersEmbedder:
    """Whatever pooling and normalisation the model itself defines."""

    def __init__(self, source: str, device: str = "cpu") -> None:
        try:
            import sentence_transformers
        except ImportError as error:
            raise RarsError(
                f"Embedder 'sentence-transformers:{source}' needs the extra 'dense': "
                "pip install 'rars[dense]'."
            ) from error
        try:
            self._model: Any = sentence_transformers.SentenceTransformer(source, device=device)
        except (OSError, ValueError) as error:
            raise _unreachable("sentence-transformers", source, error) from error
        self.dim = int(self._model.encode(["a"]).shape[1])
        weights = _weights_digest(source, self._model)
        self.digest = artifacts.digest_json(["sentence-transformers", 1, weights])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        found = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


def _by_length(lengths: list[int]) -> Iterator[list[int]]:
    """Rows in batches of similar length, longest first, each at most ``_TOKENS`` with its padding."""
    order = np.argsort(-np.asarray(lengths), kind="stable").tolist()
    start = 0
    while start < len(order):
        stop = start + max(1, _TOKENS // max(1, lengths[order[start]]))
        yield order[start:stop]
        start = stop


def _padded(ids: list[list[int]], device: str) -> tuple[Tensor, Tensor]:
    batch = torch.zeros(len(ids), max(map(len, ids)), dtype=torch.int64)
    mask = torch.zeros_like(batch)
    for row, one in enumerate(ids):
        batch[row, : len(one)] = torch.tensor(one)
        mask[row, : len(one)] = 1
    return batch.to(device), mask.to(device)


def _weights_digest(source: str, model: Any) -> object:
    """A folder's files, or of a hub model the weights themselves: names may be re-used."""
    folder = Path(source)
    if folder.is_dir():
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): artifacts.digest_file(path) for path in paths}
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return [source, digest.hexdigest()]


def _unreachable(kind: str, source: str, error: Exception) -> RarsError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return RarsError(
        f"Embedder '{kind}:{source}' cannot be loaded: it is neither a folder with a checkpoint nor a "
        f"model that the hub gave us ({reason})."
    )
