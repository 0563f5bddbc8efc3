"""Prefix maxima are exact: any tree, any signs, sparse, dense or combined, every node of every depth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.search.evidence import Ancestry, Evidence, beam_maxima, combine
from rars.tree import PrefixTree

# Few distinct values, so that ties and equality with the baseline come up.
SCORES = st.sampled_from([-3.0, -1.5, -1.0, -0.25, 0.0, 0.5, 1.0, 2.5])


@st.composite
def trees(draw):
    depth = draw(st.integers(1, 4))
    codes = draw(
        st.lists(
            st.lists(st.integers(0, 2), min_size=depth, max_size=depth), min_size=1, max_size=30
        )
    )
    return PrefixTree.build(codes)


@st.composite
def sparse(draw, tree):
    chosen = draw(st.lists(st.booleans(), min_size=tree.n_items, max_size=tree.n_items))
    positions = np.flatnonzero(chosen)
    scores = draw(st.lists(SCORES, min_size=len(positions), max_size=len(positions)))
    return Evidence.sparse(Ancestry.of(tree), positions, scores, draw(SCORES))


@st.composite
def dense(draw, tree):
    scores = draw(st.lists(SCORES, min_size=tree.n_items, max_size=tree.n_items))
    return Evidence.from_dense(Ancestry.of(tree), np.array(scores))


def every_score(evidence):
    """f of all items in SID order, straight from the fields."""
    if evidence.positions is None:
        return [float(score) for score in evidence.scores]
    listed = dict(zip(evidence.positions.tolist(), evidence.scores.tolist(), strict=True))
    return [listed.get(place, evidence.baseline) for place in range(evidence.ancestry.tree.n_items)]


def maxima_by_definition(tree, scores, depth, nodes):
    """F_t(u, q): the largest score of the items below each node, one item at a time."""
    low, high = tree.item_ranges(depth, nodes)
    return [max(scores[a:b]) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def assert_exact(evidence, scores):
    tree = evidence.ancestry.tree
    for depth in range(tree.depth + 1):
        every = np.arange(tree.n_nodes(depth))
        expected = maxima_by_definition(tree, scores, depth, every)
        np.testing.assert_allclose(evidence.prefix_maxima(depth, every), expected, atol=1e-12)
        # One node at a time takes the other way through the code.
        alone = [evidence.prefix_maxima(depth, [node])[0] for node in every]
        np.testing.assert_allclose(alone, expected, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_sparse_maxima_equal_the_definition(data):
    evidence = data.draw(trees().flatmap(sparse))
    assert_exact(evidence, every_score(evidence))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_dense_maxima_equal_the_definition(data):
    evidence = data.draw(trees().flatmap(dense))
    assert_exact(evidence, every_score(evidence))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_weighted_sums_equal_the_definition(data):
    tree = data.draw(trees())
    parts = data.draw(
        st.lists(st.tuples(SCORES, st.one_of(sparse(tree), dense(tree))), min_size=1, max_size=4)
    )
    total = combine(parts)
    scores = np.sum([weight * np.array(every_score(part)) for weight, part in parts], axis=0)
    np.testing.assert_allclose(total.dense(), scores, atol=1e-12)
    assert_exact(total, scores.tolist())


def test_an_unmatched_item_wins_over_matched_ones_below_the_baseline():
    # Two leaves of two items: one leaf is all matched, in the other an unmatched item is left.
    tree = PrefixTree.build([[0, 0], [0, 0], [0, 1], [0, 1]])
    evidence = Evidence.sparse(Ancestry.of(tree), [0, 1, 2], [-0.9, -0.8, -0.7], baseline=-0.2)
    assert evidence.prefix_maxima(2, [0, 1]).tolist() == [-0.8, -0.2]
    assert evidence.prefix_maxima(1, [0]).tolist() == [-0.2]


def test_a_subtree_without_an_unmatched_item_does_not_get_the_baseline():
    tree = PrefixTree.build([[0, 0], [0, 1], [1, 0]])
    evidence = Evidence.sparse(Ancestry.of(tree), [0, 1], [-0.9, -0.8], baseline=-0.2)
    assert evidence.prefix_maxima(1, [0, 1]).tolist() == [-0.8, -0.2]
    assert evidence.prefix_maxima(0, [0]).tolist() == [-0.2]


def test_large_trees_take_the_fast_ways():
    # Random examples are small; here runs, tables and searches all come into play.
    rng = np.random.default_rng(0)
    tree = PrefixTree.build(rng.integers(0, 12, (5000, 3)))
    ancestry = Ancestry.of(tree)
    for matched in (0, 1, 40, 900, 4999):
        positions = np.sort(rng.choice(5000, matched, replace=False))
        evidence = Evidence.sparse(ancestry, positions, rng.normal(size=matched), baseline=0.3)
        scores = evidence.dense()
        for depth in range(4):
            for nodes in (
                rng.integers(0, tree.n_nodes(depth), 5),
                rng.integers(0, tree.n_nodes(depth), 4000),
                np.zeros(0, dtype=np.int64),
            ):
                expected = maxima_by_definition(tree, scores.tolist(), depth, nodes)
                np.testing.assert_array_equal(evidence.prefix_maxima(depth, nodes), expected)
                whole = Evidence.from_dense(ancestry, scores)
                np.testing.assert_array_equal(whole.prefix_maxima(depth, nodes), expected)


def test_a_crowded_sum_is_kept_densely_and_stays_exact():
    rng = np.random.default_rng(1)
    tree = PrefixTree.build(rng.integers(0, 6, (200, 2)))
    ancestry = Ancestry.of(tree)
    parts = [
        (
            1.0,
            Evidence.sparse(
                ancestry, np.sort(rng.choice(200, 40, replace=False)), rng.normal(size=40), -0.1
            ),
        )
        for _ in range(4)
    ]
    total = combine(parts)
    assert total.positions is None
    assert combine(parts[:1]).positions is not None
    assert_exact(total, np.sum([part.dense() for _, part in parts], axis=0).tolist())


def test_a_beam_step_of_several_queries_asks_each_its_own_evidence():
    tree = PrefixTree.build([[0, 0], [0, 1], [1, 0], [1, 1]])
    ancestry = Ancestry.of(tree)
    one = Evidence.sparse(ancestry, [0], [1.0])
    two = Evidence.sparse(ancestry, [3], [2.0], baseline=-1.0)
    found = beam_maxima([one, two, one], 2, [0, 0, 1, 1, 1], [0, 3, 3, 0, 1])
    assert found.tolist() == [1.0, 0.0, 2.0, -1.0, -1.0]


def test_scores_of_items_are_read_by_catalogue_row():
    tree = PrefixTree.build([[2], [0], [1]])
    evidence = Evidence.sparse(Ancestry.of(tree), [0], [5.0], baseline=-1.0)
    assert evidence.of([0, 1, 2]).tolist() == [-1.0, 5.0, -1.0]
    assert Evidence.from_dense(Ancestry.of(tree), [1.0, 2.0, 3.0]).of([0, 1, 2]).tolist() == [
        3.0,
        1.0,
        2.0,
    ]


def test_a_score_is_needed_for_every_item():
    tree = PrefixTree.build([[0], [1]])
    with pytest.raises(ValueError, match="2 scores"):
        Evidence.from_dense(Ancestry.of(tree), [1.0])
