"""k-means on vectors that may be many and memory-mapped, and codebooks made by it, depth by depth.

Owns: sampling, the call into faiss, and residual k-means. Clustering needs a few hundred points per centroid
and no more, so a catalogue of any size costs the same to cluster; encoding it then reads it once. Ignores
where vectors come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from pydantic import PositiveInt

from rars.arrays import Floats, Points
from rars.config import Section
from rars.identifiers.learner import Learner, Scene
from rars.identifiers.quantizer import Quantizer
from rars.identifiers.residual import ResidualQuantizer
from rars.progress import Advance
from rars.scale.products import as_numpy


class KmeansSettings(Section):
    """How clusters are found."""

    iterations: PositiveInt = 25
    """Rounds of each k-means."""
    points: PositiveInt = 256
    """Training points per centroid: a larger catalogue is sampled down to points x codes."""


def cluster(
    points: Points, count: int, *, seed: int, iterations: int = 25, restarts: int = 1
) -> Points:
    """At most ``count`` centroids, (k, dim); fewer where there are fewer distinct points.

    >>> cluster(np.array([[0.0], [0.0], [9.0]], dtype=np.float32), 8, seed=0).ravel().tolist()
    [0.0, 9.0]
    """
    if len(points) <= 4 * count:  # few points: duplicates among them would leave centroids empty
        kinds = distinct_points(points)
        if len(kinds) <= count:
            return kinds.astype(np.float32)
    faiss = library()
    kmeans = faiss.Kmeans(
        points.shape[1],
        count,
        niter=iterations,
        nredo=restarts,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),  # the caller has sampled
    )
    with _one_thread():
        kmeans.train(np.ascontiguousarray(points, dtype=np.float32))
    return np.asarray(kmeans.centroids, dtype=np.float32)


def distinct_points(points: Points) -> Points:
    """The different rows, in increasing order: ``np.unique`` by rows, which is slow for wide ones.

    >>> distinct_points(np.array([[9, 1], [-2, 5], [9, 0], [-2, 5]], dtype=np.float32)).tolist()
    [[-2.0, 5.0], [9.0, 0.0], [9.0, 1.0]]
    """
    # Bits of a float are in order as bytes, from the highest, once those of negative ones are turned round.
    bits = np.ascontiguousarray(points + np.float32(0)).view(np.uint32)  # -0 is 0
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(">u4")
    rows = ordered.view(np.dtype((np.void, 4 * points.shape[1]))).ravel()
    return points[np.unique(rows, return_index=True)[1]]


@cache
def library() -> Any:
    """faiss, as fast as NumPy on processors that it does not know."""
    with as_numpy():
        import faiss
    return faiss


@contextmanager
def _one_thread() -> Iterator[None]:
    """Clusters that do not depend on the number of cores; small ones are also faster this way."""
    faiss = library()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def sample(vectors: Floats, most: int, seed: int) -> Points:
    """At most ``most`` rows, drawn without repetition and read in the order they lie on disk."""
    if len(vectors) <= most:
        return np.asarray(vectors, dtype=np.float32)
    rows = np.random.default_rng(seed).choice(len(vectors), most, replace=False)
    return np.asarray(vectors[np.sort(rows)], dtype=np.float32)


def residual_codebooks(
    points: Points,
    sizes: Sequence[int],
    *,
    seed: int,
    iterations: int = 25,
    restarts: int = 1,
    advance: Advance | None = None,
) -> tuple[Points, ...]:
    """One codebook per depth, each clustered on what the depths before it left of ``points``."""
    residual = np.array(points, dtype=np.float32)
    books: list[Points] = []
    for depth, size in enumerate(sizes):
        book = cluster(residual, size, seed=seed + depth, iterations=iterations, restarts=restarts)
        books.append(book)
        if depth + 1 < len(sizes):
            residual -= book[ResidualQuantizer((book,)).encode(residual)[:, 0]]
        if advance:
            advance(depth + 1, len(sizes))
    return tuple(books)


def fit_residual_kmeans(
    vectors: Floats,
    sizes: Sequence[int],
    *,
    seed: int = 42,
    iterations: int = 25,
    points: int = 256,
    advance: Advance | None = None,
) -> ResidualQuantizer:
    """Residual k-means: no training, and in practice a match for trained codebooks."""
    drawn = sample(vectors, points * max(sizes), seed)
    books = residual_codebooks(drawn, sizes, seed=seed, iterations=iterations, advance=advance)
    return ResidualQuantizer(books)


def fits(learn: Callable[..., Quantizer]) -> Callable[[Scene, KmeansSettings], Quantizer]:
    """The ``fit`` of a learner whose function takes vectors, sizes and the k-means settings."""

    def fit(scene: Scene, settings: KmeansSettings) -> Quantizer:
        return learn(
            scene.points,
            scene.sizes,
            seed=scene.seed,
            iterations=settings.iterations,
            points=settings.points,
            advance=scene.advance,
        )

    return fit


LEARNER = Learner(
    about="k-means; then k-means on what the first codebook left over; and so on",
    settings=KmeansSettings,
    fit=fits(fit_residual_kmeans),
    defaults={"sizes": (256, 256, 256, 256), "collisions": "repair"},
)
