"""Additive quantisation: the codebooks of all depths fitted to each other, and codes chosen together.

Owns: the learner ``additive``, and a quantiser that looks for codes with a beam. Residual k-means fits each
codebook to what the ones before it left over and never looks back; here both are mended in turns:

    codes      argmin over s of |x - sum_l c_l(s_l)|^2, by a beam over depths
    codebooks  argmin over C of sum_x |x - sum_l c_l(s_l(x))|^2 + r |C - C_before|^2, linear least squares

An item keeps its codes where the beam finds none that are nearer, so no turn makes the error larger. The
pull towards the codebooks of before (r) settles what least squares leaves open (a constant may move from one
depth to another) and keeps the order of depths: coarse first. Ignores where vectors come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from rars.arrays import Codes, Floats, Points
from rars.errors import RarsError
from rars.identifiers.kmeans import KmeansSettings, residual_codebooks, sample
from rars.identifiers.learner import Learner, Scene
from rars.identifiers.quantizer import Tensors
from rars.identifiers.residual import ResidualQuantizer
from rars.progress import Advance

_PULL = 1e-2
"""R, for one item: codewords of few items stay near where k-means put them."""


class AdditiveSettings(KmeansSettings):
    """How long codebooks and codes are fitted to each other."""

    rounds: PositiveInt = 4
    beam: int = Field(8, ge=1, le=256)
    """Prefixes that are kept at each depth while an item's codes are looked for."""


@dataclass(frozen=True, eq=False)
class AdditiveQuantizer(ResidualQuantizer):
    """Codebooks whose sum is what counts: the codes of a vector are those of the best of ``beam`` paths."""

    kind: ClassVar[str] = "additive"

    beam: int = 8

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Codebooks, and how wide the beam is."""
        return super().tensors() | {"beam": np.array([self.beam], dtype=np.int64)}

    @classmethod
    def restore(cls, tensors: Tensors) -> AdditiveQuantizer:
        """Build it again from ``tensors``."""
        plain = ResidualQuantizer.restore(tensors)
        beam = tensors.get("beam")
        if beam is None or beam.shape != (1,) or not 1 <= int(beam[0]) <= 256:
            raise RarsError("An additive quantiser was stored without the width of its beam.")
        return cls(plain.codebooks, plain.encoder, plain.decoder, int(beam[0]))

    def _nearest(self, block: Floats) -> Codes:
        """The best path of each row: costs of a path add up to |x - sum|^2 / 2 - |x|^2 / 2."""
        scores = block @ self._stacked.T
        rows = np.arange(len(block))[:, None]
        costs, paths = np.zeros((len(block), 1)), np.zeros((len(block), 1, 0), dtype=np.int32)
        for depth, size in enumerate(self.sizes):
            columns = slice(self._offsets[depth], self._offsets[depth + 1])
            steps = self._half_norms[columns] - scores[:, None, columns]
            for before in range(depth):
                steps = steps + self._products[paths[:, :, before] + self._offsets[before], columns]
            total = (costs[:, :, None] + steps).reshape(len(block), -1)
            kept = min(self.beam, total.shape[1])
            best = np.argpartition(total, kept - 1, axis=1)[:, :kept]
            costs = np.take_along_axis(total, best, axis=1)
            code = (best % size).astype(np.int32)
            paths = np.concatenate([paths[rows, best // size], code[:, :, None]], axis=2)
        return np.asarray(paths[rows[:, 0], costs.argmin(axis=1)])


def fit_additive(
    vectors: Floats,
    sizes: tuple[int, ...],
    *,
    seed: int = 42,
    settings: AdditiveSettings | None = None,
    advance: Advance | None = None,
) -> AdditiveQuantizer:
    """Residual k-means, then codes and codebooks in turns."""
    settings = settings or AdditiveSettings()
    points = sample(vectors, settings.points * max(sizes), seed)
    books = residual_codebooks(points, sizes, seed=seed, iterations=settings.iterations)
    codes = ResidualQuantizer(books).encode(points)
    for done in range(settings.rounds):
        found = AdditiveQuantizer(books, beam=settings.beam)
        codes = _nearer(found, points, codes, found.encode(points))
        books = least_squares(points, codes, books)
        if advance:
            advance(done + 1, settings.rounds)
    return AdditiveQuantizer(books, beam=settings.beam)


def least_squares(points: Points, codes: Codes, before: tuple[Points, ...]) -> tuple[Points, ...]:
    """The codebooks for which the points (n, dim) are nearest to the sums of their codes (n, depth).

    With the one-hot matrix A of all codes: (A'A + r I) C = A'X + r C_before. A'A counts how often two codes
    meet.
    """
    sizes = [len(book) for book in before]
    first = np.cumsum([0, *sizes])
    every = codes + first[:-1]
    met = np.zeros((first[-1], first[-1]))
    sums = np.zeros((first[-1], points.shape[1]))
    for depth in range(len(sizes)):
        for other in range(len(sizes)):
            pairs = every[:, depth].astype(np.int64) * first[-1] + every[:, other]
            pair, count = np.unique(pairs, return_counts=True)
            met[pair // first[-1], pair % first[-1]] = count
        order = np.argsort(every[:, depth], kind="stable")
        code, start = np.unique(every[order, depth], return_index=True)
        sums[code] = np.add.reduceat(points[order].astype(np.float64), start)
    stacked = np.concatenate(before).astype(np.float64)
    pull = _PULL * np.eye(first[-1])
    solved = np.linalg.solve(met + pull, sums + _PULL * stacked)
    return tuple(np.split(solved.astype(np.float32), first[1:-1]))


def _nearer(found: ResidualQuantizer, points: Points, ours: Codes, theirs: Codes) -> Codes:
    """Of two codes of each point the nearer ones."""
    apart = [
        ((points - found.reconstruct(codes)) ** 2).sum(axis=1, dtype=np.float64)
        for codes in (ours, theirs)
    ]
    return np.where((apart[1] < apart[0])[:, None], theirs, ours)


def _fit(scene: Scene, settings: AdditiveSettings) -> AdditiveQuantizer:
    return fit_additive(
        scene.points, scene.sizes, seed=scene.seed, settings=settings, advance=scene.advance
    )


LEARNER = Learner(
    about="residual k-means whose codebooks and codes are then fitted to each other",
    settings=AdditiveSettings,
    fit=_fit,
    defaults={"sizes": (256, 256, 256, 256), "collisions": "repair"},
)
