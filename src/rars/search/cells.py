"""Cells: item vectors that lie together are listed together, so that a query looks at a few lists.

Owns: an inverted file over one stored segment of vectors: centroids by k-means and the rows of each cell, and
which rows a query looks at. Ignores identifiers, evidence, and which item a row is.

The cells of largest q . centroid come first: a centroid is the mean of its vectors, so that is the mean of
q . x over the cell. With about 2 sqrt(n) cells, finding the cells and scoring what lies in eight of them
both cost sqrt(n), not the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rars.arrays import Floats, Ints, Points
from rars.artifacts import Artifact, Draft
from rars.identifiers.kmeans import cluster
from rars.identifiers.residual import ResidualQuantizer
from rars.tree.sorting import run_starts

NAMES = ("-centroids", "-cell-starts", "-cell-rows")
"""What the arrays of a segment's cells are called, after the segment."""

_PROBED = 8
_POINTS, _ROUNDS, _SEED = 32, 8, 42


def usual_reach(items: int) -> int:
    """How many items of a catalogue are worth a look: about eight of its cells.

    >>> [usual_reach(items) for items in (10_000, 300_000, 10_000_000)]
    [2000, 2191, 12649]
    """
    return max(2000, round(_PROBED * math.sqrt(items) / 2))


def usual_cells(rows: int) -> int:
    """How many cells a segment is cut into."""
    return max(1, round(2 * math.sqrt(rows)))


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of n vectors.

    ``centroids``  (k, dim) the mean of each cell, of the sample that it was found on
    ``starts``     (k + 1,) where each cell's rows begin
    ``rows``       (n,) the rows of the segment, cell by cell
    """

    centroids: Points
    starts: Ints
    rows: Ints

    @classmethod
    def of(cls, sample: Points, blocks: Iterable[Floats], count: int) -> Cells:
        """Cells found on a sample of vectors, and filled with all of them, block by block."""
        centroids = cluster(sample, count, seed=_SEED, iterations=_ROUNDS)
        nearest = ResidualQuantizer((centroids,))
        cell = np.concatenate([nearest.encode(block)[:, 0] for block in blocks])
        rows = np.argsort(cell, kind="stable").astype(np.int32)
        starts = np.searchsorted(cell[rows], np.arange(len(centroids) + 1))
        return cls(centroids, starts.astype(np.int64), rows)

    @staticmethod
    def sample_size(count: int) -> int:
        """How many vectors so many cells are found on."""
        return _POINTS * count

    def near(self, query: Points, reach: int) -> Ints:
        """The rows of the cells that a query (dim,) looks at: as many cells as hold ``reach`` rows."""
        order = np.argsort(-(self.centroids @ query), kind="stable")
        sizes = np.diff(self.starts)[order]
        enough = int(np.searchsorted(np.cumsum(sizes), reach)) + 1
        taken, counts = order[:enough], sizes[:enough]
        first = np.cumsum(counts) - counts
        places = np.repeat(self.starts[taken] - first, counts) + np.arange(counts.sum())
        return np.asarray(self.rows[places])

    def save(self, draft: Draft, segment: str) -> None:
        """Write the arrays beside those of the segment."""
        for end, values in zip(NAMES, (self.centroids, self.starts, self.rows), strict=True):
            draft.save_array(segment + end, values)

    @classmethod
    def load(cls, artifact: Artifact, segment: str) -> Cells | None:
        """Map the cells of a segment; None where it has none."""
        if not (artifact.folder / f"{segment}{NAMES[0]}.npy").exists():
            return None
        return cls(*(np.asarray(artifact.array(segment + end)) for end in NAMES))

    def fits(self, rows: int, dim: int) -> bool:
        """Whether stored cells hold each of so many rows once."""
        return (
            self.centroids.ndim == 2
            and self.centroids.shape[1] == dim
            and self.centroids.dtype == np.float32
            and bool(np.isfinite(self.centroids).all())
            and self.starts.shape == (len(self.centroids) + 1,)
            and self.starts.dtype.kind == self.rows.dtype.kind == "i"
            and self.starts[0] == 0
            and self.starts[-1] == rows
            and bool((np.diff(self.starts) >= 0).all())
            and self.rows.shape == (rows,)
            and _each_once(self.rows)
        )


def _each_once(rows: Ints) -> bool:
    found = np.sort(rows)
    return not len(rows) or (
        found[0] == 0 and found[-1] == len(rows) - 1 and len(run_starts(found)) == len(rows)
    )
