"""What an encoder of the recipe's own model has to do for identifiers, which know nothing of models.

Owns: the two classes that identifiers and such an encoder share. Ignores how it is learned
(``rars.training.own_encoder``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rars.arrays import Points

ANOTHER_MODEL = (
    "The identifiers were made with the encoder of another model; choose another --out, or the settings of "
    "[model] that they were made with."
)
"""What is said when the generator cannot start from the encoder its identifiers were made with."""


class ItemEncoder(Protocol):
    """A model that gives items and queries their vectors, and from which the generator starts."""

    @property
    def digest(self) -> str:
        """Changes whenever the same text would get another vector."""

    @property
    def tokenizer(self) -> Any:
        """What it reads words with."""

    def embed(self, vectors: Points, texts: Sequence[str | None]) -> Points:
        """Vectors of texts, given those of the embedder."""

    def begin(self, model: Any) -> None:
        """Give a model of identifiers its weights."""

    def save(self, folder: Path) -> None:
        """Write it into a folder."""


@dataclass(frozen=True)
class OwnKind:
    """A kind of such an encoder.

    ``learn``  (dataset, embedder's name, fit settings, model settings, items=, seed=, ...) -> the encoder,
               or None where nothing is judged
    ``load``   what ``save`` wrote, from a folder
    """

    learn: Callable[..., ItemEncoder | None]
    load: Callable[[Path], ItemEncoder]
