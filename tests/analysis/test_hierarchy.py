"""Reassigned identifiers keep the tree; entropies and p-values on them equal those by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.analysis import assignments, hierarchy
from rars.analysis.study import Scene
from rars.progress import SILENT
from rars.tree import PrefixTree, Relevance, ambiguity, project
from tests.analysis.worlds import (
    distinct_leaves,
    pairs_of,
    populations,
    refinements,
    taus,
)

FEW = settings(max_examples=25, deadline=None)


def control_groups(tree, kind):
    nodes = assignments.nodes_of(tree)[tree.positions]
    if kind == "global":
        return np.zeros(tree.n_items, dtype=np.int64)
    first = nodes[:, 0].astype(np.int64)
    if kind == "first code":
        return first
    return np.unique(first * 3 + np.arange(tree.n_items) % 3, return_inverse=True)[1]


kinds = st.sampled_from(["global", "first code", "category"])


@FEW
@given(populations(), st.booleans())
def test_entropies_of_the_compiled_loop_are_those_of_the_projection(world, whole):
    codes, tree, people = world
    weight = people.grade if whole else people.grade * 0.37
    found = hierarchy.semantic_entropies(tree, people, weight)
    expected = ambiguity(tree, project(tree, Relevance.of(people.row, people.item, weight))).entropy
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(
        found, refinements(codes, pairs_of(people, weight), len(people)), atol=1e-12
    )


@FEW
@given(populations(), kinds, st.integers(0, 9))
def test_a_reassignment_keeps_identifiers_prefix_sizes_and_groups(world, kind, seed):
    codes, tree, _ = world
    group = control_groups(tree, kind)
    draws = assignments.Draws.of(tree, group, np.arange(tree.n_items))
    slot = draws.slots(assignments.states(seed, 0, count=1)[0])
    assert sorted(slot.tolist()) == list(range(tree.n_items))
    moved = np.empty_like(codes)
    moved[draws.items] = tree.identifiers(tree.order[slot])
    assert sorted(map(tuple, moved.tolist())) == sorted(map(tuple, codes.tolist()))
    again = PrefixTree.build(moved)
    for depth in range(tree.depth):
        np.testing.assert_array_equal(again.children[depth], tree.children[depth])
    np.testing.assert_array_equal(again.buckets, tree.buckets)
    owner = np.empty(tree.n_items, dtype=np.int64)
    owner[tree.positions] = group
    np.testing.assert_array_equal(owner[slot], group[draws.items])


@FEW
@given(populations(), st.integers(0, 9))
def test_within_the_first_code_every_query_keeps_its_first_distribution(world, seed):
    _, tree, people = world
    draws = assignments.Draws.of(tree, control_groups(tree, "first code"), people.item)
    slot = draws.slots(assignments.states(seed, 1, count=1)[0])[draws.members(people.item)]
    first = assignments.nodes_of(tree)[:, 0]
    np.testing.assert_array_equal(first[slot], first[tree.positions[people.item]])


@FEW
@given(populations(), kinds, st.integers(0, 9))
def test_means_under_reassignments_are_those_by_hand(world, kind, seed):
    codes, tree, people = world
    group = control_groups(tree, kind)
    states = assignments.states(seed, 2, count=4)
    found = hierarchy.reassigned(tree, people, people.grade, group, states)
    draws = assignments.Draws.of(tree, group, people.item)
    for row, state in zip(found, states, strict=True):
        moved = codes.copy()
        moved[draws.items] = tree.identifiers(tree.order[draws.slots(state)])
        delta = refinements(moved, pairs_of(people, people.grade), len(people))
        tau = taus(delta, distinct_leaves(moved, people))
        np.testing.assert_allclose(row[:-2], delta.mean(axis=0), atol=1e-12)
        assert row[-1] == len(tau)
        assert row[-2] == pytest.approx(np.mean(tau) if tau else 0.0)


def test_assignments_do_not_depend_on_how_they_are_divided():
    random = np.random.default_rng(0)
    codes = random.integers(0, 4, (300, 3))
    tree = PrefixTree.build(codes)
    from tests.analysis.worlds import people_of

    people = people_of(
        [(q, int(i), 1.0 + i % 3) for q in range(20) for i in random.choice(300, 60, False)]
    )
    states = assignments.states(5, 0, count=7)
    group = control_groups(tree, "first code")
    whole = hierarchy.reassigned(tree, people, people.grade, group, states)
    parts = [
        hierarchy.reassigned(tree, people, people.grade, group, one)
        for one in (states[:3], states[3:])
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    np.testing.assert_array_equal(assignments.states(5, 0, count=3), states[:3])
    assert (assignments.states(6, 0, count=7) != states).all()


def test_every_order_of_a_group_is_as_likely_as_any_other():
    tree = PrefixTree.build(np.arange(4)[:, None])
    draws = assignments.Draws.of(tree, np.zeros(4, dtype=np.int64), np.arange(4))
    drawn = [tuple(draws.slots(state)) for state in assignments.states(0, 9, count=4800)]
    _, times = np.unique(drawn, axis=0, return_counts=True)
    assert len(times) == 24
    assert ((times - 200) ** 2 / 200).sum() < 50  # chi square with 23 degrees of freedom, p = 0.001


def test_p_is_twice_the_smaller_tail_with_the_observed_one_counted():
    values = np.arange(999.0)
    assert hierarchy.two_sided(values, 2000.0) == 0.002
    assert hierarchy.two_sided(values, 0.5) == pytest.approx(2 * 2 / 1000)
    assert hierarchy.two_sided(values, 499.0) == 1.0


def test_the_study_of_two_shops_corrects_over_both(identified):
    shop, tree = identified
    scenes = [Scene(name, shop, tree) for name in ("one", "two")]
    asked = hierarchy.HierarchySettings(assignments=39, draws=50)
    found = hierarchy.run(scenes, asked, SILENT)
    one = found.scenes["one"]
    assert set(one.controls) == set(hierarchy.CONTROLS)
    assert one.controls["global"].values["tau"].mean < one.controls["first code"].values["tau"].mean
    assert one.controls["first code"].values["tau"].mean < one.semantic["tau"].mean
    assert one.controls["global"].p["tau"] == pytest.approx(2 / 40)
    assert found.corrected["tau"]["one", "global"] == pytest.approx(min(1.0, 8 * 2 / 40))
    assert one.controls["global"].movable == 1.0
    moved = [one.controls[name].movable for name in hierarchy.CONTROLS]
    assert moved == sorted(moved, reverse=True)
    assert found.scenes["two"].semantic == one.semantic
    assert [len(table.columns) for table in found.tables()] == [6, 2, 5]
