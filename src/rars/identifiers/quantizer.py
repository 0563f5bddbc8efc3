"""What a fitted learner can do, and how it is kept on disk.

Owns: the protocol that identifiers, collision policies and health share, and reading the right kind back.
Ignores how a quantiser was fitted. Shapes: vectors (n, input), codes (n, depth), codeword space ``dim``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from rars import artifacts
from rars.errors import RarsError
from rars.identifiers.blocks import Floats
from rars.identifiers.keys import Codes

Advance = Callable[[int, int], None]
"""Long work calls it with (done, total)."""

Distances = npt.NDArray[np.float64]
Points = npt.NDArray[np.float32]

FACTS, TENSORS = "quantizer.json", "quantizer.safetensors"


class Quantizer(Protocol):
    """Turns vectors into codes, one code per depth; a vector's codes depend on that vector alone."""

    kind: ClassVar[str]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per depth."""

    @property
    def inputs(self) -> int:
        """Width of the vectors it takes."""

    def encode(self, vectors: Floats) -> Codes:
        """The codes of each vector: at every depth the nearest one, given the codes before it."""

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Squared distance to every code of the last depth under each row's prefix; inf = no such code."""

    def project(self, vectors: Floats) -> Points:
        """The vectors in codeword space, (n, dim); queries may be projected too."""

    def reconstruct(self, codes: Codes) -> Points:
        """The point of codeword space that each identifier stands for, (n, dim)."""

    def similarities(self, vectors: Floats, codes: Codes) -> Points:
        """Vectors (q, input) times the vectors that identifiers (n, depth) stand for, (q, n)."""

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Every array needed to build it again."""


def save_quantizer(quantizer: Quantizer, folder: Path) -> None:
    """Write a quantiser into a folder that is being drafted."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: np.ascontiguousarray(array) for name, array in quantizer.tensors().items()}
    safetensors.numpy.save_file(tensors, folder / TENSORS)
    facts = {"kind": quantizer.kind, "sizes": list(quantizer.sizes), "inputs": quantizer.inputs}
    artifacts.write_json(folder / FACTS, facts)


def load_quantizer(folder: Path) -> Quantizer:
    """Read back what ``save_quantizer`` wrote."""
    from rars.identifiers import hierarchical, naive, residual

    facts = artifacts.read_json(folder / FACTS)
    tensors = _tensors(folder / TENSORS)
    match facts.get("kind") if isinstance(facts, dict) else None:
        case residual.ResidualQuantizer.kind:
            return residual.ResidualQuantizer.restore(tensors)
        case hierarchical.HierarchicalQuantizer.kind:
            return hierarchical.HierarchicalQuantizer.restore(tensors)
        case naive.RandomDigits.kind:
            return naive.RandomDigits.restore(tensors)
        case other:
            raise RarsError(f"{folder / FACTS} names an unknown kind of quantiser: {other!r}.")


def _tensors(path: Path) -> Mapping[str, npt.NDArray[Any]]:
    try:
        return safetensors.numpy.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise RarsError(f"{path} is not a readable safetensors file: {error}.") from error


def check_width(quantizer: Quantizer, vectors: Floats) -> None:
    """Refuse vectors from another embedder by their width."""
    if vectors.ndim != 2 or vectors.shape[1] != quantizer.inputs:
        raise RarsError(
            f"These identifiers were learned on vectors of width {quantizer.inputs}, "
            f"but the given ones have shape {tuple(vectors.shape)}; use the same embedder."
        )
