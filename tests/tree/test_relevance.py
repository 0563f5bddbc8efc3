"""One measure, projected: mass is conserved, marginals agree, and entropies obey their identities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from rars.errors import RarsError
from rars.tree import PrefixTree, Relevance, ambiguity, project
from tests.tree.oracle import judged_trees, masses, refinement_entropy


def projected(codes, pairs):
    tree = PrefixTree.build(codes)
    query, item, rho = (np.array(column) for column in zip(*pairs, strict=True))
    relevance = Relevance.of(query, item, rho)
    return tree, relevance, project(tree, relevance)


@given(judged_trees())
def test_projection_equals_direct_summation_over_items(case):
    codes, pairs = case
    tree, relevance, projection = projected(codes, pairs)
    expected = masses(codes, pairs)
    for depth, level in enumerate(projection.levels):
        paths = [tuple(p) for p in tree.paths(depth, level.node).tolist()]
        found = {
            (int(relevance.queries[row]), path): mass
            for row, path, mass in zip(level.row, paths, level.mass, strict=True)
        }
        flat = {(q, z): m for q, levels in expected.items() for z, m in levels[depth].items()}
        assert found == pytest.approx(flat)
        assert len(found) == len(level.node)


@given(judged_trees())
def test_mass_is_conserved_at_every_parent(case):
    _, _, projection = projected(*case)
    for above, level in zip(projection.levels[:-1], projection.levels[1:], strict=True):
        summed = np.bincount(level.parent, weights=level.mass, minlength=len(above.mass))
        np.testing.assert_allclose(summed, above.mass)
    np.testing.assert_allclose(projection.levels[0].mass, 1.0)


@given(judged_trees())
def test_conditionals_are_distributions_over_the_children_of_one_parent(case):
    tree, _, projection = projected(*case)
    for depth in range(1, tree.depth + 1):
        level, above = projection.levels[depth], projection.levels[depth - 1]
        total = np.bincount(level.parent, projection.conditional(depth), len(above.mass))
        np.testing.assert_allclose(total, 1.0)
        np.testing.assert_array_equal(tree.parents(depth, level.node), above.node[level.parent])
        np.testing.assert_array_equal(level.row, above.row[level.parent])


@given(judged_trees())
def test_refinement_entropy_equals_its_definition(case):
    codes, pairs = case
    tree, relevance, projection = projected(codes, pairs)
    measured = ambiguity(tree, projection)
    expected = masses(codes, pairs)
    for row, query in enumerate(relevance.queries.tolist()):
        for depth in range(1, tree.depth + 1):
            direct = refinement_entropy(expected[query], depth)
            assert measured.entropy[row, depth - 1] == pytest.approx(direct, abs=1e-12)


@given(judged_trees())
def test_chain_rule_depth_entropies_sum_to_the_entropy_of_the_leaves(case):
    tree, _, projection = projected(*case)
    leaves = projection.levels[-1]
    total = np.bincount(leaves.row, -leaves.mass * np.log(leaves.mass), projection.n_rows)
    np.testing.assert_allclose(ambiguity(tree, projection).entropy.sum(axis=1), total, atol=1e-12)


@given(judged_trees())
def test_bounds_variance_below_entropy_below_capacity(case):
    tree, _, projection = projected(*case)
    measured = ambiguity(tree, projection)
    assert (measured.variance <= measured.entropy + 1e-12).all()
    assert (measured.entropy <= measured.capacity + 1e-12).all()
    assert (measured.normalised <= 1 + 1e-12).all()
    assert ((measured.entropy > 0) == measured.branches).all()
    assert ((measured.mass > 0) == measured.branches).all()


@given(judged_trees())
def test_depth_allocation_is_a_distribution_where_anything_branches(case):
    tree, _, projection = projected(*case)
    measured = ambiguity(tree, projection)
    some = measured.branches.any(axis=1)
    np.testing.assert_allclose(measured.allocation[some].sum(axis=1), 1.0)
    assert np.isnan(measured.mean_depth[~some]).all()
    assert ((measured.mean_depth[some] >= 1) & (measured.mean_depth[some] <= tree.depth)).all()


def test_a_single_positive_is_a_deterministic_path():
    tree, _, projection = projected([[0, 1, 2], [0, 1, 3], [1, 0, 0]], [(0, 1, 2.0)])
    assert [level.mass.tolist() for level in projection.levels] == [[1.0]] * 4
    assert not ambiguity(tree, projection).entropy.any()


def test_items_that_share_a_sid_add_up():
    _, _, projection = projected([[0, 0], [0, 0], [0, 1]], [(0, 0, 1.0), (0, 1, 2.0), (0, 2, 3.0)])
    np.testing.assert_allclose(projection.levels[2].mass, [0.5, 0.5])


def test_the_papers_stationery_example():
    # Appendix "Real-Product Case Studies" (d): an Exact and a Complement below one parent: 3/4 and 1/4.
    tree, _, projection = projected([[133, 49, 0], [133, 49, 1]], [(0, 0, 3.0), (0, 1, 1.0)])
    np.testing.assert_allclose(projection.conditional(3), [0.75, 0.25])
    measured = ambiguity(tree, projection)
    np.testing.assert_allclose(measured.variance[0], [0, 0, 1 - (0.75**2 + 0.25**2)])


@pytest.mark.parametrize("rho", [np.nan, -1.0, np.inf])
def test_impossible_evidence_is_refused(rho):
    with pytest.raises(RarsError, match="finite and not negative"):
        Relevance.of([0], [0], [rho])


def test_a_query_without_evidence_has_no_row():
    relevance = Relevance.of([0, 1], [0, 0], [0.0, 1.0])
    assert relevance.queries.tolist() == [1]
