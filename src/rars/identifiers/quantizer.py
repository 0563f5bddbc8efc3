"""A quantiser: what learning identifiers results in. It turns vectors into codes, and codes back into points.

Owns: the protocol that identifiers, collision policies and health share, and the properties a quantiser
states of itself, so that nobody asks for its class. Ignores how one was fitted, and which there are
(``quantizers``). Shapes: vectors (n, input), codes (n, depth), codeword space ``dim``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from rars.arrays import Codes, Floats, Points
from rars.errors import RarsError

Distances = npt.NDArray[np.float64]
Tensors = Mapping[str, npt.NDArray[Any]]


class Quantizer(Protocol):
    """Turns vectors into codes, one code per depth; a vector's codes depend on that vector alone.

    A quantiser that does not take vectors gives codes by ``place_new`` alone; what needs vectors or codewords
    it refuses with one sentence.
    """

    kind: ClassVar[str]
    """Its name on disk."""
    shared_codebooks: ClassVar[bool]
    """One codebook per depth for all prefixes (``codewords``): code tables may start from them, and a prior
    can read them."""
    takes_vectors: ClassVar[bool]
    """Codes follow from an item's vector."""
    variable_length: ClassVar[bool]
    """Identifiers may be shorter than the depth; -1 stands after the last code."""

    @property
    def additive(self) -> bool:
        """An identifier stands for the sum of its codewords, in the space of the vectors that are taken."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per depth."""

    @property
    def inputs(self) -> int:
        """Width of the vectors it takes."""

    def encode(self, vectors: Floats) -> Codes:
        """The codes of each vector: at every depth the nearest one, given the codes before it."""

    def place_new(self, count: int, taken: Codes) -> Codes:
        """Codes of ``count`` items that have no vectors, (count, depth), none of them in ``taken``."""

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Squared distance to every code of the last depth under each row's prefix; inf = no such code."""

    def codewords(self, depth: int) -> Points:
        """The codebook of one depth (from 0), (size, dim), where all prefixes share it."""

    def project(self, vectors: Floats) -> Points:
        """The vectors in codeword space, (n, dim); queries may be projected too."""

    def reconstruct(self, codes: Codes) -> Points:
        """The point of codeword space that each identifier stands for, (n, dim)."""

    def decode(self, codes: Codes) -> Points:
        """The vector each identifier stands for in the embedder's space, (n, input)."""

    def similarities(self, vectors: Floats, codes: Codes) -> Points:
        """Vectors (q, input) times the vectors that identifiers (n, depth) stand for, (q, n)."""

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Every array needed to build it again."""

    @classmethod
    def restore(cls, tensors: Tensors) -> Quantizer:
        """Build it again from ``tensors``."""


def check_width(quantizer: Quantizer, vectors: Floats) -> None:
    """Refuse vectors from another embedder by their width."""
    if vectors.ndim != 2 or vectors.shape[1] != quantizer.inputs:
        raise RarsError(
            f"These identifiers were learned on vectors of width {quantizer.inputs}, "
            f"but the given ones have shape {tuple(vectors.shape)}; use the same embedder."
        )


def needs_vectors() -> RarsError:
    """The error of a quantiser that takes vectors, for items without."""
    return RarsError("The codes of these identifiers follow from vectors; new items need theirs.")
