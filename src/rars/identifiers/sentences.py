"""Any model of the library sentence-transformers as an embedder (extra ``dense``).

Owns: loading it by hub name, folder or package. Pooling and normalisation are the model's own, unless a
pooling is asked for: a checkpoint that is no sentence encoder yet has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rars import disk
from rars.arrays import Ints, Points
from rars.checkpoints import UNREADABLE, located, quiet, refuse_code
from rars.errors import Unavailable
from rars.identifiers.embedder import EmbedderKind
from rars.identifiers.pretrained import unreachable, weights_digest
from rars.scale.shards import spans
from rars.scale.threads import on_free_cores

KIND = "sentence-transformers"
PREFIX = f"{KIND}:"

Pooling = Literal["own", "mean", "cls", "last"]
"""How token states become one vector: as the checkpoint says (mean where it says nothing), their mean, the
first token's, the last token's."""
_BATCH = 32
"""Texts that are computed at once."""
_MODES = {"mean": "mean", "cls": "cls", "last": "lasttoken"}


def open_model(
    source: str, device: str = "cpu", *, pooling: Pooling = "own", max_tokens: int | None = None
) -> Any:
    """The library's model; texts are cut at ``max_tokens``, or where the checkpoint says."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise Unavailable(
            f"Embedder '{PREFIX}{source}' needs the extra 'dense': pip install 'rars[dense]'."
        ) from error
    place = located(source)
    refuse_code(source, place)
    quiet(place)
    try:
        model: Any = sentence_transformers.SentenceTransformer(
            place, device=device, trust_remote_code=False
        )
        if pooling != "own":
            model = _pooled(model, _MODES[pooling], device)
    except UNREADABLE as error:
        raise unreachable(KIND, source, error) from error
    if max_tokens is not None:
        model.max_seq_length = min(max_tokens, model.max_seq_length or max_tokens)
    return model


def _pooled(model: Any, mode: str, device: str) -> Any:
    """The model's first module with another pooling on top; what else it had is left out."""
    import sentence_transformers

    try:
        from sentence_transformers.sentence_transformer.modules import Pooling as Module
    except ImportError:  # an older release of the library
        from sentence_transformers.models import Pooling as Module

    width = int(model.encode(["a"], output_value="token_embeddings")[0].shape[-1])
    pooling = Module(width, pooling_mode=mode)
    return sentence_transformers.SentenceTransformer(modules=[model[0], pooling], device=device)


class SentenceTransformersEmbedder:
    """A model of the library, asked for vectors."""

    def __init__(
        self,
        source: str,
        device: str = "cpu",
        *,
        pooling: Pooling = "own",
        max_tokens: int | None = None,
    ) -> None:
        self._device = device
        self._model = open_model(source, device, pooling=pooling, max_tokens=max_tokens)
        self.dim = int(self._model.encode(["a"]).shape[1])
        weights = weights_digest(located(source), self._model)
        changed = [] if (pooling, max_tokens) == ("own", None) else [pooling, max_tokens]
        self.digest = disk.digest_json([KIND, 1, weights, *changed])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""
        out = np.empty((len(texts), self.dim), dtype=np.float32)

        def embed(rows: Ints) -> None:
            given = [texts[row] for row in rows]
            out[rows] = self._model.encode(given, batch_size=_BATCH, show_progress_bar=False)

        # Batches of texts of a length, as the library makes them.
        order = np.argsort([-len(text) for text in texts])
        batches = [order[start:stop] for start, stop in spans(len(order), _BATCH)]
        on_free_cores(embed, batches, self._device)
        return out


EMBEDDER = EmbedderKind(
    about="any model of the library sentence-transformers (extra 'dense')",
    open=SentenceTransformersEmbedder,
    source="NAME_OR_FOLDER",
)
