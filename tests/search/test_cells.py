"""Vectors are put into the cell nearest to them, and where cells are many, nearly always."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.scale.products import _libraries
from rars.search import cells
from rars.search.cells import Cells, _Regions


def clustered(seed, count, dim=8):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, dim))
    return (centres[rng.integers(20, size=count)] + 0.4 * rng.normal(size=(count, dim))).astype(
        np.float32
    )


def nearest(points, centroids):
    """By definition: the least distance, the first of equals."""
    return ((points[:, None] - centroids[None].astype(np.float64)) ** 2).sum(2).argmin(1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 60))
def test_a_vector_is_held_against_every_cell_of_the_regions_it_looks_into(seed, count, points):
    """With as many probes as regions that is every cell."""
    centroids, vectors = clustered(seed, count), clustered(seed + 1, points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "_PROBES", 1000)
        found = _Regions.of(centroids).encode(vectors)[:, 0]
    best = nearest(vectors, centroids)
    distance = np.linalg.norm(vectors - centroids[found], axis=1)
    np.testing.assert_allclose(
        distance, np.linalg.norm(vectors - centroids[best], axis=1), rtol=1e-6
    )


def test_few_regions_find_the_nearest_cell_nearly_always(monkeypatch):
    vectors = clustered(3, 6_000)
    centroids = vectors[:400]
    regions = _Regions.of(centroids)
    assert len(regions.members) == 20
    assert sorted(np.concatenate(regions.members)) == list(range(400))
    same = regions.encode(vectors)[:, 0] == nearest(vectors, centroids)
    assert same.mean() > 0.98
    monkeypatch.setattr(cells, "_PROBES", 1)
    assert (regions.encode(vectors)[:, 0] == nearest(vectors, centroids)).mean() < same.mean()


def test_cells_of_many_are_whole_and_find_what_cells_of_few_find(monkeypatch):
    """Every row stands in one cell, and a query that looks at all of them sees all rows."""
    vectors = clustered(5, 3_000)
    blocks = [vectors[:1_700], vectors[1_700:]]
    exact, _ = Cells.of(vectors, blocks, 200)
    monkeypatch.setattr(cells, "_FEW", 100)
    found, rows = Cells.of(vectors, blocks, 200)
    np.testing.assert_array_equal(found.centroids, exact.centroids)
    assert sorted(rows) == list(range(3_000))
    assert found.fits(3_000, 8)
    assert len(found.near(vectors[0], 3_000)) == 3_000
    assert abs(np.diff(found.starts) - np.diff(exact.starts)).sum() < 0.05 * 3_000


def test_a_cell_does_not_depend_on_how_many_threads_numpy_has():
    """What one process writes with all cores, another writes with one, to the bit."""
    vectors, seen = clustered(7, 600), []

    def blocks():
        seen.extend(one["num_threads"] for one in _libraries().info())
        yield vectors

    with _libraries().limit(limits=2):
        Cells.of(vectors, blocks(), 20)
    assert set(seen) == {1}
