"""What an embedder is, and what a kind of embedder says of itself.

Owns: the two classes that every embedder's file and its callers share. A kind is one file that ends with its
``EMBEDDER``, and one line in ``embedders.EMBEDDERS``. Ignores what the texts are (``texts``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from rars.arrays import Points


class Embedder(Protocol):
    """Texts to vectors; ``digest`` names everything beside the texts that the vectors depend on."""

    @property
    def dim(self) -> int:
        """Width of the vectors."""

    @property
    def digest(self) -> str:
        """Changes whenever the same text would get another vector."""

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, dim)."""


@dataclass(frozen=True)
class EmbedderKind:
    """A way to get vectors; in a recipe it is called ``NAME``, or ``NAME:SOURCE`` where it needs a source.

    ``source``  what stands after the colon, as help and errors show it; empty where nothing does
    ``open``    (source, device) -> the embedder, with what it needs loaded
    ``ready``   (source, item ids) -> vectors of exactly these items, and their digest, for a kind that has
                vectors of items and cannot read a text
    """

    about: str
    open: Callable[[str, str], Embedder]
    source: str = ""
    ready: Callable[[str, pa.Array], tuple[Points, str]] | None = None

    @property
    def needs_source(self) -> bool:
        """Whether a name must say more than the kind."""
        return bool(self.source)

    @property
    def reads_texts(self) -> bool:
        """Whether a text that is no item's can be given a vector."""
        return self.ready is None
