"""Residual codebooks whose codes are compared in a Poincare ball.

Owns: choosing codes by hyperbolic distance, without torch. Residuals are what is left in the tangent space at
the origin, where the codewords add up as they do in flat space; only "near" means something else. Ignores how
codebooks were found (``rqvae``) and the formulas' derivation (``poincare`` has the same with gradients).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rars.arrays import Codes, Floats
from rars.identifiers.quantizer import Distances, Tensors, check_width
from rars.identifiers.residual import ResidualQuantizer

_RIM = 1e-5
_TINY = 1e-15


@dataclass(frozen=True, eq=False)
class BallQuantizer(ResidualQuantizer):
    """Codebooks in the tangent space of a ball of curvature -``curvature``."""

    kind: ClassVar[str] = "residual ball"

    curvature: float = 1.0

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Squared hyperbolic distance of each last residual to every code of the last depth, (n, size)."""
        check_width(self, vectors)
        depth = len(self.codebooks) - 1
        out = np.empty((len(vectors), self.sizes[-1]))
        for where, block in self._latents(vectors):
            count = where.stop - where.start
            prefix = np.zeros((len(block), depth), dtype=np.int32)
            prefix[:count] = codes[where, :depth]
            out[where] = self._apart(block - self._sum(prefix), depth)[:count]
        return out

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Codebooks and layers by name, and the curvature."""
        return super().tensors() | {"curvature": np.array([self.curvature])}

    @classmethod
    def restore(cls, tensors: Tensors) -> BallQuantizer:
        """Build it again from ``tensors``."""
        flat = ResidualQuantizer.restore(tensors)
        curvature = float(tensors["curvature"][0])
        return cls(flat.codebooks, flat.encoder, flat.decoder, curvature)

    def _nearest(self, block: Floats) -> Codes:
        codes = np.empty((len(block), len(self.codebooks)), dtype=np.int32)
        residual = np.array(block)
        for depth, book in enumerate(self.codebooks):
            codes[:, depth] = self._apart(residual, depth).argmin(axis=1)
            residual -= book[codes[:, depth]]
        return codes

    def _apart(self, residual: Floats, depth: int) -> Distances:
        return distances(residual, self.codebooks[depth].astype(np.float64), self.curvature)


def distances(tangents: Floats, words: Floats, c: float) -> Distances:
    """Squared distance of exp(r) and exp(w) in the ball, each with each: (n, k).

    >>> distances(np.array([[0.5]]), np.array([[-0.5], [0.5]]), 1.0).round(6).tolist()
    [[4.0, 0.0]]
    """
    x, y = _exp(tangents, c), _exp(words, c)
    xx, yy, xy = np.einsum("ij,ij->i", x, x)[:, None], np.einsum("ij,ij->i", y, y), x @ y.T
    below = np.maximum(1 - 2 * c * xy + c**2 * xx * yy, _TINY)
    length = np.sqrt(c * np.maximum(xx - 2 * xy + yy, 0) / below)
    apart: Distances = (2 * np.arctanh(np.minimum(length, 1 - _RIM))) ** 2 / c
    return apart


def _exp(tangents: Floats, c: float) -> Floats:
    length = np.maximum(np.sqrt(c * np.einsum("ij,ij->i", tangents, tangents)), _TINY)[:, None]
    points: Floats = tangents * (np.minimum(np.tanh(length), 1 - _RIM) / length)
    return points
