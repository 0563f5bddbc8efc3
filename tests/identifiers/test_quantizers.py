"""Residual and hierarchical quantisers against the obvious loops, and alone against together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rars.errors import RarsError
from rars.identifiers.hierarchical import (
    HierarchicalQuantizer,
    fit_hierarchical_kmeans,
    induce_categories,
)
from rars.identifiers.kmeans import cluster, distinct_points, fit_residual_kmeans, sample
from rars.identifiers.quantizers import load_quantizer, save_quantizer
from rars.identifiers.residual import Mlp, ResidualQuantizer

from .worlds import families


def random_residual(sizes=(16, 8, 12), dim=10, inputs=None, seed=0):
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        return rng.normal(size=shape).astype(np.float32)

    books = tuple(numbers(size, dim) / 2**depth for depth, size in enumerate(sizes))
    if inputs is None:
        return ResidualQuantizer(books)
    widths = (inputs, 32, dim)
    there = Mlp(tuple(map(numbers, widths, widths[1:])), tuple(map(numbers, widths[1:])))
    back = Mlp(
        tuple(map(numbers, widths[::-1], widths[-2::-1])), tuple(map(numbers, widths[-2::-1]))
    )
    return ResidualQuantizer(books, there, back)


def fitted():
    vectors = families(1500)
    return {
        "residual": fit_residual_kmeans(vectors, (32, 32, 32)),
        "rqvae": random_residual(dim=8, inputs=24),
        "hierarchical": fit_hierarchical_kmeans(vectors, (8, 8, 8)),
    }


@pytest.fixture(scope="module", params=["residual", "rqvae", "hierarchical"])
def quantizer(request):
    return fitted()[request.param]


def test_residual_codes_are_the_nearest_codeword_to_what_is_left():
    quantizer = random_residual()
    vectors = np.random.default_rng(1).normal(size=(700, 10)).astype(np.float32)
    codes = quantizer.encode(vectors)
    residual = vectors.astype(np.float64)
    for depth, book in enumerate(quantizer.codebooks):
        distances = ((residual[:, None] - book[None]) ** 2).sum(axis=2)
        assert np.array_equal(codes[:, depth], distances.argmin(axis=1))
        if depth == len(quantizer.codebooks) - 1:
            assert np.allclose(quantizer.last_distances(vectors, codes), distances, atol=1e-9)
        residual = residual - book[codes[:, depth]]
    assert np.allclose(quantizer.reconstruct(codes), vectors - residual, atol=1e-5)


def test_an_mlp_in_front_is_applied_before_the_codebooks():
    quantizer = random_residual(dim=6, inputs=9)
    vectors = np.random.default_rng(2).normal(size=(300, 9)).astype(np.float32)
    hidden = np.maximum(vectors @ quantizer.encoder.weights[0] + quantizer.encoder.biases[0], 0)
    latent = hidden @ quantizer.encoder.weights[1] + quantizer.encoder.biases[1]
    assert np.allclose(quantizer.project(vectors), latent, atol=1e-4)
    plain = ResidualQuantizer(quantizer.codebooks)
    assert np.array_equal(quantizer.encode(vectors), plain.encode(quantizer.project(vectors)))
    assert quantizer.decode(quantizer.encode(vectors)).shape == vectors.shape


def test_query_times_item_is_a_sum_over_depths():
    quantizer = random_residual()
    vectors = np.random.default_rng(3).normal(size=(50, 10)).astype(np.float32)
    codes = quantizer.encode(vectors)
    query = quantizer.project(vectors[:1])[0]
    by_depth = sum(quantizer.codewords(d)[codes[:, d]] @ query for d in range(3))
    assert np.allclose(quantizer.reconstruct(codes) @ query, by_depth, atol=1e-4)


def test_similarities_are_those_of_the_vectors_that_identifiers_stand_for(quantizer):
    vectors = families(80, seed=4)
    codes = quantizer.encode(vectors)
    stand_for = getattr(quantizer, "decode", quantizer.reconstruct)(codes)
    expected = vectors[:9] @ stand_for.T
    assert np.allclose(quantizer.similarities(vectors[:9], codes), expected, rtol=1e-3, atol=1e-2)


def test_hierarchical_codes_follow_the_nearest_child_down(tmp_path):
    vectors = families(900)
    tree = fit_hierarchical_kmeans(vectors, (5, 4, 3))
    codes, distances = tree.encode(vectors), None
    distances = tree.last_distances(vectors, codes)
    for row, vector in enumerate(vectors.astype(np.float64)):
        node = 0
        for level in range(3):
            children = tree.centroids[level][
                tree.starts[level][node] : tree.starts[level][node + 1]
            ]
            away = ((children - vector) ** 2).sum(axis=1)
            assert codes[row, level] == away.argmin()
            node = tree.starts[level][node] + codes[row, level]
        assert np.allclose(distances[row, : len(away)], away, atol=1e-9)
        assert np.isinf(distances[row, len(away) :]).all()
        assert np.array_equal(tree.reconstruct(codes[row : row + 1])[0], tree.centroids[2][node])


def test_every_node_of_the_tree_holds_items_and_small_nodes_have_fewer_children():
    vectors = families(300)
    tree = fit_hierarchical_kmeans(vectors, (6, 6, 6))
    codes = tree.encode(vectors)
    for level in range(3):
        prefixes = {tuple(row) for row in codes[:, : level + 1].tolist()}
        assert len(prefixes) == len(tree.centroids[level])
    # 300 items in 36 nodes of depth 2: a node of at most six distinct items gives each its own leaf.
    parents, counts = np.unique(codes[:, :2], axis=0, return_counts=True)
    for parent, count in zip(parents, counts, strict=True):
        if count <= 6:
            inside = codes[(codes[:, :2] == parent).all(axis=1)]
            assert len(np.unique(inside, axis=0)) == count


def test_a_code_the_tree_does_not_have_stands_for_its_parent():
    tree = HierarchicalQuantizer(
        (2, 4),
        (np.array([[0.0], [10.0]], np.float32), np.array([[1.0], [9.0], [11.0]], np.float32)),
        (np.array([0, 2]), np.array([0, 1, 3])),
    )
    codes = np.array([[0, 0], [0, 3], [1, 1]], dtype=np.int32)
    assert tree.reconstruct(codes).ravel().tolist() == [1.0, 0.0, 11.0]


def test_one_by_one_gives_the_same_codes_as_all_together(quantizer):
    vectors = families(3000, seed=7)
    together = quantizer.encode(vectors)
    alone = np.concatenate([quantizer.encode(vectors[i : i + 1]) for i in range(len(vectors))])
    assert np.array_equal(alone, together)
    some = np.random.default_rng(0).permutation(len(vectors))[:1234]
    assert np.array_equal(quantizer.encode(vectors[some]), together[some])
    bits = quantizer.last_distances(vectors[some], together[some])
    assert np.array_equal(
        bits[:50], quantizer.last_distances(vectors[some[:50]], together[some[:50]])
    )


def test_saved_and_loaded_quantisers_give_identical_codes(quantizer, tmp_path):
    vectors = families(400, seed=8)
    save_quantizer(quantizer, tmp_path)
    loaded = load_quantizer(tmp_path)
    codes = quantizer.encode(vectors)
    assert loaded.sizes == quantizer.sizes
    assert np.array_equal(loaded.encode(vectors), codes)
    assert np.array_equal(
        loaded.last_distances(vectors, codes), quantizer.last_distances(vectors, codes)
    )
    assert not list(tmp_path.glob("**/*.pkl"))


def test_vectors_of_another_width_are_refused(quantizer):
    with pytest.raises(RarsError, match="width 24"):
        quantizer.encode(np.zeros((3, 7), dtype=np.float32))


def test_an_unreadable_quantiser_is_one_sentence(quantizer, tmp_path):
    save_quantizer(quantizer, tmp_path)
    (tmp_path / "quantizer.safetensors").write_bytes(b"no tensors")
    with pytest.raises(RarsError, match="safetensors"):
        load_quantizer(tmp_path)
    (tmp_path / "quantizer.json").write_text('{"kind": "crystal ball"}')
    save_quantizer(quantizer, tmp_path)
    (tmp_path / "quantizer.json").write_text('{"kind": "crystal ball"}')
    with pytest.raises(RarsError, match="crystal ball"):
        load_quantizer(tmp_path)


def test_residual_kmeans_tells_most_items_apart_and_lowers_the_error_with_each_depth():
    vectors = families(2000)
    quantizer = fit_residual_kmeans(vectors, (32, 32, 32))
    codes = quantizer.encode(vectors)
    left = [
        (
            (vectors - ResidualQuantizer(quantizer.codebooks[:d]).reconstruct(codes[:, :d])) ** 2
        ).sum()
        for d in (1, 2, 3)
    ]
    assert left[0] > left[1] > left[2]
    assert len(np.unique(codes, axis=0)) > 1000


@pytest.mark.parametrize("fit", [fit_residual_kmeans, fit_hierarchical_kmeans])
def test_fitting_is_the_same_for_the_same_seed_and_reads_memory_maps(fit, tmp_path):
    np.save(tmp_path / "v.npy", families(1200))
    vectors = np.load(tmp_path / "v.npy", mmap_mode="r")
    codes = fit(vectors, (12, 12), seed=3).encode(vectors)
    assert np.array_equal(fit(np.array(vectors), (12, 12), seed=3).encode(vectors), codes)
    assert not np.array_equal(fit(vectors, (12, 12), seed=4).encode(vectors), codes)


@pytest.mark.parametrize("fit", [fit_residual_kmeans, fit_hierarchical_kmeans])
def test_large_catalogues_are_sampled(fit):
    vectors = families(3000)
    quantizer = fit(vectors, (8, 8), points=20)
    codes = quantizer.encode(vectors)
    assert codes.shape == (3000, 2)
    assert len(np.unique(codes[:, 0])) == 8


@pytest.mark.parametrize("count", [1, 2, 5])
def test_fewer_items_than_codes_give_each_its_own_identifier(count):
    vectors = families(count)
    for fit in (fit_residual_kmeans, fit_hierarchical_kmeans):
        codes = fit(vectors, (16, 16)).encode(vectors)
        assert len(np.unique(codes, axis=0)) == count


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.sampled_from([-2.5, -1.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, 3e38, np.inf]),
    )
)
def test_different_points_are_those_of_numpy_in_its_order(points):
    expected = np.unique(points, axis=0)
    np.testing.assert_array_equal(distinct_points(points), expected)
    np.testing.assert_array_equal(distinct_points(np.asfortranarray(points)), expected)


def test_equal_items_are_one_cluster_not_an_error():
    vectors = np.ones((50, 4), dtype=np.float32)
    assert len(cluster(vectors, 16, seed=0)) == 1
    assert (fit_residual_kmeans(vectors, (16, 16)).encode(vectors) == 0).all()
    assert (fit_hierarchical_kmeans(vectors, (16, 16)).encode(vectors) == 0).all()


def test_a_sample_has_no_row_twice():
    rows = sample(np.arange(100, dtype=np.float32)[:, None], 60, seed=1)[:, 0]
    assert len(set(rows.tolist())) == 60
    assert (np.diff(rows) > 0).all()


def test_progress_reaches_its_total():
    seen: list[tuple[int, int]] = []
    fit_hierarchical_kmeans(families(100), (4, 4), advance=lambda *at: seen.append(at))
    fit_residual_kmeans(families(100), (4, 4), advance=lambda *at: seen.append(at))
    assert seen[-1] == (2, 2)
    assert (200, 200) in seen


def test_induced_categories_end_where_a_cluster_is_too_small_to_divide():
    vectors = families(1000)
    paths = induce_categories(vectors, (5, 5, 5), per_child=20)
    assert paths.shape == (1000, 3)
    assert (paths[:, 0] >= 0).all()
    ended = paths == -1
    assert ended.any()
    assert (ended[:, 1:] >= ended[:, :-1]).all(), "-1 stands only at the end"
    for depth in (1, 2):
        parents, counts = np.unique(paths[:, :depth], axis=0, return_counts=True)
        for parent, count in zip(parents, counts, strict=True):
            inside = paths[(paths[:, :depth] == parent).all(axis=1), depth]
            kinds = np.unique(inside)
            assert (kinds >= 0).all() or kinds.tolist() == [-1], "a node is divided for all or none"
            assert len(kinds) <= max(1, count // 20)
