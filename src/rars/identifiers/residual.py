"""Residual quantisation: each depth encodes what the depths before it left over.

Owns: a fitted stack of codebooks, with or without an MLP in front (residual k-means or RQ-VAE). The point
an identifier stands for is the sum of its codewords, so query . item is a sum over depths.
Ignores how the codebooks were found (``kmeans``, ``rqvae``).

The nearest code at depth l to the residual r = x - c_1 - ... - c_(l-1) minimises |c|^2 / 2 - r.c, and
r.c = x.c - sum_j c_j.c: one product of x with all codewords and a table of codeword products do it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rars.arrays import Codes, Floats, Points
from rars.errors import RarsError
from rars.identifiers.blocks import blocks
from rars.identifiers.quantizer import Distances, Tensors, check_width, needs_vectors

_DECODED = 16384


@dataclass(frozen=True, eq=False)
class Mlp:
    """Linear layers with ReLU between them; ``weights[i]`` is (in, out), ``biases[i]`` is (out,)."""

    weights: tuple[Points, ...]
    biases: tuple[Points, ...]

    def __call__(self, rows: Floats) -> Floats:
        """Apply all layers."""
        last = len(self.weights) - 1
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            rows = rows @ weight
            rows += bias
            if depth < last:
                np.maximum(rows, 0, out=rows)
        return rows

    def tensors(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """The layers under ``NAME.weight.0``, ``NAME.bias.0`` and so on."""
        weights = {f"{name}.weight.{i}": weight for i, weight in enumerate(self.weights)}
        return weights | {f"{name}.bias.{i}": bias for i, bias in enumerate(self.biases)}

    @staticmethod
    def restore(tensors: Tensors, name: str) -> Mlp | None:
        """Read layers back; None where there are none."""
        weights = _numbered(tensors, f"{name}.weight")
        return Mlp(weights, _numbered(tensors, f"{name}.bias")) if weights else None


@dataclass(frozen=True, eq=False)
class ResidualQuantizer:
    """Codebooks (size, dim), one per depth, and optionally the MLP into and out of their space."""

    kind: ClassVar[str] = "residual"
    shared_codebooks: ClassVar[bool] = True
    takes_vectors: ClassVar[bool] = True
    variable_length: ClassVar[bool] = False

    codebooks: tuple[Points, ...]
    encoder: Mlp | None = None
    decoder: Mlp | None = None

    @property
    def additive(self) -> bool:
        """Sums of codewords are vectors where no MLP stands between."""
        return self.encoder is None and self.decoder is None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per depth."""
        return tuple(len(book) for book in self.codebooks)

    @property
    def inputs(self) -> int:
        """Width of the vectors it takes."""
        first = self.encoder.weights[0] if self.encoder else self.codebooks[0].T
        return int(first.shape[0])

    def codewords(self, depth: int) -> Points:
        """The codebook of one depth (from 0), (size, dim)."""
        return self.codebooks[depth]

    def project(self, vectors: Floats) -> Points:
        """The vectors in codeword space, (n, dim): the MLP's output, or the vectors themselves."""
        check_width(self, vectors)
        if self.encoder is None:
            return np.asarray(vectors, dtype=np.float32)
        out = np.empty((len(vectors), self.codebooks[0].shape[1]), dtype=np.float32)
        for where, block in blocks(vectors, np.float32):
            out[where] = self.encoder(block)[: where.stop - where.start]
        return out

    def encode(self, vectors: Floats) -> Codes:
        """Codes of each vector, (n, depth)."""
        check_width(self, vectors)
        codes = np.empty((len(vectors), len(self.codebooks)), dtype=np.int32)
        for where, block in self._latents(vectors):
            codes[where] = self._nearest(block)[: where.stop - where.start]
        return codes

    def place_new(self, count: int, taken: Codes) -> Codes:
        """Not possible: codes follow from vectors."""
        raise needs_vectors()

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Squared distance of each last residual to every code of the last depth, (n, size)."""
        check_width(self, vectors)
        out = np.empty((len(vectors), self.sizes[-1]))
        for where, block in self._latents(vectors):
            prefix = np.zeros((len(block), len(self.codebooks) - 1), dtype=np.int32)
            prefix[: where.stop - where.start] = codes[where, : len(self.codebooks) - 1]
            residual = block - self._sum(prefix)
            costs = self._costs(block @ self._stacked.T, prefix)
            costs *= 2
            costs += np.einsum("ij,ij->i", residual, residual)[:, None]
            out[where] = np.maximum(costs, 0)[: where.stop - where.start]
        return out

    def reconstruct(self, codes: Codes) -> Points:
        """The sum of each identifier's codewords, (n, dim)."""
        return self._sum(codes[:, : len(self.codebooks)]).astype(np.float32)

    def similarities(self, vectors: Floats, codes: Codes) -> Points:
        """Vectors (q, input) times what identifiers (n, depth) stand for: (q, n).

        Without an MLP it is a sum over depths. The space behind an MLP has no meaningful inner product
        (only distances are trained there), so the identifiers are decoded.
        """
        check_width(self, vectors)
        total = np.zeros((len(vectors), len(codes)), dtype=np.float32)
        if self.decoder is None:
            for book, column in zip(self.codebooks, codes.T, strict=False):
                total += (vectors @ book.T)[:, column]
            return total
        for start in range(0, len(codes), _DECODED):
            part = slice(start, start + _DECODED)
            total[:, part] = vectors @ self.decode(codes[part]).T
        return total

    def decode(self, codes: Codes) -> Points:
        """The vector each identifier stands for in the embedder's space, (n, input)."""
        points = self.reconstruct(codes)
        if self.decoder is None:
            return points
        out = np.empty((len(codes), self.inputs), dtype=np.float32)
        for where, block in blocks(points, np.float32):
            out[where] = self.decoder(block)[: where.stop - where.start]
        return out

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Codebooks and layers by name."""
        named: dict[str, npt.NDArray[Any]] = {
            f"codebook.{depth}": book for depth, book in enumerate(self.codebooks)
        }
        for name, layers in (("encoder", self.encoder), ("decoder", self.decoder)):
            named |= layers.tensors(name) if layers else {}
        return named

    @classmethod
    def restore(cls, tensors: Tensors) -> ResidualQuantizer:
        """Build it again from ``tensors``."""
        books = _numbered(tensors, "codebook")
        if not books:
            raise RarsError("A residual quantiser was stored without any codebook.")
        return cls(books, Mlp.restore(tensors, "encoder"), Mlp.restore(tensors, "decoder"))

    def _latents(self, vectors: Floats) -> Iterator[tuple[slice, Floats]]:
        if self.encoder is None:
            yield from blocks(vectors)
            return
        for where, block in blocks(vectors, np.float32):
            yield where, self.encoder(block).astype(np.float64)

    def _nearest(self, block: Floats) -> Codes:
        codes = np.empty((len(block), len(self.codebooks)), dtype=np.int32)
        scores = block @ self._stacked.T
        for depth in range(len(self.codebooks)):
            codes[:, depth] = self._costs(scores, codes[:, :depth]).argmin(axis=1)
        return codes

    def _costs(self, scores: Floats, prefix: Codes) -> Distances:
        """|c|^2 / 2 - r.c for every code c of the depth after ``prefix``, (n, size)."""
        depth = prefix.shape[1]
        columns = slice(self._offsets[depth], self._offsets[depth + 1])
        costs = self._half_norms[columns] - scores[:, columns]
        for before in range(depth):
            costs += self._products[prefix[:, before] + self._offsets[before], columns]
        return np.asarray(costs, dtype=np.float64)

    def _sum(self, codes: Codes) -> Distances:
        total = np.zeros((len(codes), self.codebooks[0].shape[1]))
        for book, column in zip(self.codebooks, codes.T, strict=False):
            total += book[column]
        return total

    @cached_property
    def _stacked(self) -> Distances:
        return np.concatenate(self.codebooks).astype(np.float64)

    @cached_property
    def _offsets(self) -> list[int]:
        return [0, *np.cumsum(self.sizes).tolist()]

    @cached_property
    def _half_norms(self) -> Distances:
        halves: Distances = np.einsum("ij,ij->i", self._stacked, self._stacked) / 2
        return halves

    @cached_property
    def _products(self) -> Distances:
        return self._stacked @ self._stacked.T


def _numbered(tensors: Tensors, name: str) -> tuple[Points, ...]:
    count = sum(key.startswith(f"{name}.") for key in tensors)
    return tuple(np.asarray(tensors[f"{name}.{i}"], dtype=np.float32) for i in range(count))
