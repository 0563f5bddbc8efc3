"""Two linear maps over frozen vectors, one for queries and one for items, fitted to a catalogue's judgments.

Owns: applying the maps ("turning" vectors) and keeping them on disk. Ignores how they are learned
(``fitting``). Identifiers are made of turned item vectors, so that items relevant to the same queries share
prefixes, and turned query vectors are compared with their codewords.

z = x + x W, scaled to length one; one W for queries, one for items.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from rars.arrays import Points
from rars.errors import RarsError
from rars.scale.products import ONE_THREAD

FILE = "maps.safetensors"

ROWS = 65536
"""Vectors that are turned at once: part of the result, since the last bits of a product may depend on it."""


@dataclass(frozen=True, eq=False)
class Maps:
    """The map of query vectors and that of item vectors, (dim, dim) each."""

    query: Points
    item: Points

    @property
    def digest(self) -> str:
        """Of both maps."""
        both = (np.ascontiguousarray(one, dtype=np.float32) for one in (self.query, self.item))
        return hashlib.sha256(b"".join(one.tobytes() for one in both)).hexdigest()

    def queries(self, vectors: Points) -> Points:
        """Turned query vectors, (n, dim)."""
        return turned(vectors, self.query)

    def items(self, vectors: Points) -> Points:
        """Turned item vectors, (n, dim)."""
        return turned(vectors, self.item)

    def save(self, folder: Path) -> None:
        """Write both maps into a folder."""
        both = {"query": self.query, "item": self.item}
        safetensors.numpy.save_file(
            {name: np.ascontiguousarray(one, dtype=np.float32) for name, one in both.items()},
            folder / FILE,
        )

    @classmethod
    def load(cls, folder: Path, dim: int | None = None) -> Maps:
        """Read what ``save`` wrote; maps of another width than ``dim`` are refused."""
        path = folder / FILE
        try:
            read = safetensors.numpy.load_file(path)
            found = cls(read["query"], read["item"])
        except (OSError, KeyError, safetensors.SafetensorError) as error:
            raise RarsError(
                f"{path} does not hold the maps 'query' and 'item': {error}."
            ) from error
        width = len(found.query) if dim is None else dim
        if {found.query.shape, found.item.shape} != {(width, width)}:
            raise RarsError(
                f"{path} holds maps of {found.query.shape}, but vectors have {width} numbers."
            )
        return found


def turned(vectors: Points, matrix: Points) -> Points:
    """Z = x + x W at length one, (n, dim)."""
    found = np.empty(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), ROWS):
        block = np.asarray(vectors[start : start + ROWS], dtype=np.float32)
        with ONE_THREAD:
            block = block + block @ matrix
        length = np.linalg.norm(block, axis=1, keepdims=True)
        found[start : start + ROWS] = block / np.maximum(length, 1e-12)
    return found
