"""Any model of the library sentence-transformers as an embedder (extra ``dense``).

Owns: loading it by hub name, folder or package. Pooling and normalisation are the model's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rars import artifacts
from rars.arrays import Points
from rars.checkpoints import UNREADABLE, located, refuse_code
from rars.errors import RarsError
from rars.identifiers.embedder import EmbedderKind
from rars.identifiers.pretrained import unreachable, weights_digest


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
        place = located(source)
        refuse_code(source, place)
        try:
            self._model: Any = sentence_transformers.SentenceTransformer(
                place, device=device, trust_remote_code=False
            )
        except UNREADABLE as error:
            raise unreachable("sentence-transformers", source, error) from error
        self.dim = int(self._model.encode(["a"]).shape[1])
        weights = weights_digest(place, self._model)
        self.digest = artifacts.digest_json(["sentence-transformers", 1, weights])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        found = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


EMBEDDER = EmbedderKind(
    about="any model of the library sentence-transformers (extra 'dense')",
    open=SentenceTransformersEmbedder,
    source="NAME_OR_FOLDER",
)
