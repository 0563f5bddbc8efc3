"""Cells: vectors that lie together are stored together, so that a query looks at a few stretches of them.

Owns: an inverted file over one stored segment of vectors, whose rows are in the order of their cells: where
each cell begins, in which direction it lies, and which rows a query looks at. Ignores identifiers, evidence,
and which item a row is.

Cells are those of k-means; the ones nearest to a query by direction come first (by q . centroid itself, cells
that are wide would be passed over: 1.5 points of recall less). With about 4 sqrt(n) cells, finding cells
and scoring what lies in sixteen of them both cost sqrt(n), not the catalogue. Putting n vectors into cells
would cost n sqrt(n): where cells are many, a vector is held against those of a few regions near it, which
makes it about n n^1/4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rars.arrays import Floats, Ints, Points
from rars.artifacts import Artifact, Draft
from rars.identifiers.kmeans import cluster
from rars.identifiers.residual import ResidualQuantizer
from rars.scale.products import ONE_THREAD

NAMES = ("-centroids", "-cells")
"""What the arrays of a segment's cells are called, after the segment."""

_PROBED = 16
_POINTS, _ROUNDS, _SEED = 32, 8, 42
_FEW = 2_048
"""Cells that every vector is held against; of more, those of the regions near it."""
_PROBES = 8
"""Regions in which the cell of a vector is looked for: 99.3 % of 100,000 vectors got the nearest of all."""
_TOGETHER = 4_096
"""Vectors that are put into cells together: what is picked of them for each region stays in a cache."""
_COMPARED = 60
"""Multiplications that comparing takes as long as."""


def usual_reach(items: int) -> int:
    """How many items of a catalogue are worth a look: about sixteen of its cells.

    >>> [usual_reach(items) for items in (10_000, 300_000, 10_000_000)]
    [2000, 2191, 12649]
    """
    return max(2000, round(_PROBED * math.sqrt(items) / 4))


def usual_cells(rows: int) -> int:
    """How many cells a segment is cut into."""
    return max(1, round(4 * math.sqrt(rows)))


def work(rows: int, dim: int) -> float:
    """What it takes to find so many rows their cells, as multiplications in single precision.

    Products in double precision count twice, and six times where they are made few at a time; comparing one
    with the best takes as long as some multiplications. All as measured.
    """
    count = usual_cells(rows)
    products = _ROUNDS * min(rows, Cells.sample_size(count)) * count
    if count <= _FEW:
        products += 2 * rows * count
    else:
        products += 6 * rows * (1 + _PROBES) * math.isqrt(count)
    return float(products * (dim + _COMPARED))


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a segment: their directions (k, dim), and where each of them begins (k + 1,)."""

    centroids: Points
    starts: Ints

    @classmethod
    def of(cls, sample: Points, blocks: Iterable[Floats], count: int) -> tuple[Cells, Ints]:
        """Cells found on a sample of vectors, and the row (n,) that each of all vectors gets among them."""
        with ONE_THREAD:
            centroids = cluster(sample, count, seed=_SEED, iterations=_ROUNDS)
            nearest = (
                _Regions.of(centroids) if len(centroids) > _FEW else ResidualQuantizer((centroids,))
            )
            cell = np.concatenate([nearest.encode(block)[:, 0] for block in blocks])
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(len(centroids) + 1))
        rows = np.empty(len(cell), dtype=np.int64)
        rows[order] = np.arange(len(cell))
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        directions = np.divide(centroids, np.maximum(lengths, 1e-12), dtype=np.float32)
        return cls(directions, starts.astype(np.int64)), rows

    @staticmethod
    def sample_size(count: int) -> int:
        """How many vectors so many cells are found on."""
        return _POINTS * count

    def near(self, query: Points, reach: int) -> Ints:
        """The rows, sorted, that a query (dim,) looks at: those of as many cells as hold ``reach`` rows."""
        order = np.argsort(-(self.centroids @ query), kind="stable")
        sizes = np.diff(self.starts)
        enough = int(np.searchsorted(np.cumsum(sizes[order]), reach)) + 1
        taken = np.sort(order[:enough])
        counts = sizes[taken]
        first = np.cumsum(counts) - counts
        return np.asarray(np.repeat(self.starts[taken] - first, counts) + np.arange(counts.sum()))

    def save(self, draft: Draft, segment: str) -> None:
        """Write the arrays beside those of the segment."""
        for end, values in zip(NAMES, (self.centroids, self.starts), strict=True):
            draft.save_array(segment + end, values)

    @classmethod
    def load(cls, artifact: Artifact, segment: str) -> Cells | None:
        """Map the cells of a segment; None where it has none."""
        if not (artifact.folder / f"{segment}{NAMES[0]}.npy").exists():
            return None
        return cls(*(np.asarray(artifact.array(segment + end)) for end in NAMES))

    def fits(self, rows: int, dim: int) -> bool:
        """Whether stored cells are of so many rows."""
        return (
            self.centroids.ndim == 2
            and self.centroids.shape[1] == dim
            and self.centroids.dtype == np.float32
            and bool(np.isfinite(self.centroids).all())
            and self.starts.shape == (len(self.centroids) + 1,)
            and self.starts.dtype.kind == "i"
            and (self.starts[0], self.starts[-1]) == (0, rows)
            and bool((np.diff(self.starts) >= 0).all())
        )


@dataclass(frozen=True, eq=False)
class _Regions:
    """Centroids (k, dim) in about sqrt(k) regions: the nearest to a vector is looked for near it.

    ``middles``  of the regions; ``members`` the centroids of each
    """

    centroids: Floats
    middles: Floats
    members: Sequence[Ints]

    @classmethod
    def of(cls, centroids: Points) -> _Regions:
        """Regions are those of k-means, of the centroids themselves."""
        middles = cluster(centroids, math.isqrt(len(centroids)), seed=_SEED, iterations=_ROUNDS)
        home = ResidualQuantizer((middles,)).encode(centroids)[:, 0]
        members = [np.flatnonzero(home == region) for region in range(len(middles))]
        return cls(centroids.astype(np.float64), middles.astype(np.float64), members)

    def encode(self, vectors: Floats) -> Ints:
        """The cell of each vector, (n, 1): the nearest in the ``_PROBES`` regions nearest to it."""
        starts = range(0, max(len(vectors), 1), _TOGETHER)
        return np.concatenate([self._nearest(vectors[at : at + _TOGETHER]) for at in starts])

    def _nearest(self, vectors: Floats) -> Ints:
        points = np.asarray(vectors, dtype=np.float64)
        probes = min(_PROBES, len(self.middles))
        near = np.argpartition(_costs(points, self.middles), probes - 1, axis=1)[:, :probes]
        order = np.argsort(near, axis=None, kind="stable")
        ends = np.cumsum(np.bincount(near.ravel(), minlength=len(self.middles)))
        lowest, cell = np.full(len(points), np.inf), np.zeros((len(points), 1), dtype=np.int32)
        for rows, some in zip(np.split(order // probes, ends[:-1]), self.members, strict=True):
            if not len(rows) or not len(some):
                continue
            costs = _costs(points[rows], self.centroids[some])
            best = costs.argmin(axis=1)
            cost = costs[np.arange(len(rows)), best]
            closer = cost < lowest[rows]
            lowest[rows[closer]] = cost[closer]
            cell[rows[closer], 0] = some[best[closer]]
        return cell


def _costs(points: Floats, centroids: Floats) -> Floats:
    """|c|^2 / 2 - x.c, (n, k): orders centroids as their distances to a point do."""
    return np.asarray(np.einsum("ij,ij->i", centroids, centroids) / 2 - points @ centroids.T)
