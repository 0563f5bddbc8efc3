"""Thinned judgments: every measure equals its definition, and what must stay the same does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import distance

from rars.analysis import assignments
from rars.analysis.evidence import masks as thinning
from rars.analysis.evidence.design import (
    ASSIGNMENTS,
    MEASURES,
    WEIGHTS,
    EvidenceSettings,
    _normalised,
    run_design,
    sizes_of,
)
from rars.analysis.evidence.kernel import COVERAGE, FALSE, JS, MISSING, SUPPORT, TV, measured
from rars.analysis.evidence.result import run
from rars.analysis.evidence.summary import Point, trust
from rars.analysis.study import Scene
from rars.errors import RarsError
from rars.evaluation.statistics import Estimate
from rars.progress import SILENT
from rars.tree import PrefixTree
from tests.analysis.worlds import evidence, groups_by_depth, people_of, populations

FEW = settings(max_examples=25, deadline=None)
SHARES = (0.25, 0.5, 1.0)


def thinned(tree, people, seed):
    nodes = assignments.nodes_of(tree)[tree.positions[people.item]]
    return thinning.masks(people, nodes, SHARES, 0.25, np.random.default_rng(seed))


def measures(tree, people, keep, slot=None):
    """(queries, masks, weights, L + 1, 6) under the semantic identifiers, or with other slots."""
    found = np.empty((len(people), len(keep), len(WEIGHTS), tree.depth + 1, 6))
    mass = np.stack([_normalised(people, weight) for weight in WEIGHTS])
    slot = tree.positions[people.item] if slot is None else slot
    measured(slot, people.start, mass, keep, assignments.nodes_of(tree), sizes_of(tree), found)
    return found


def moved(tree, people, kind, seed):
    first = assignments.nodes_of(tree)[tree.positions, 0].astype(np.int64)
    group = first if kind == "first code" else np.zeros_like(first)
    draws = assignments.Draws.of(tree, group, people.item)
    return draws.slots(assignments.states(seed, 7, count=1)[0])[draws.members(people.item)]


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_every_measure_is_its_definition(world, seed):
    codes, tree, people = world
    keep = thinned(tree, people, seed)
    found = measures(tree, people, keep)
    for q, (a, b) in enumerate(zip(people.start[:-1], people.start[1:], strict=True)):
        for w, weight in enumerate(WEIGHTS):
            mass = _normalised(people, weight)[a:b].tolist()
            for m, kept in enumerate(keep[:, a:b].tolist()):
                for depth in range(1, tree.depth + 2):
                    expected = evidence(codes, codes, people.item[a:b], mass, kept, depth)
                    np.testing.assert_allclose(found[q, m, w, depth - 1], expected, atol=1e-12)


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_distances_are_those_of_scipy(world, seed):
    codes, tree, people = world
    keep = thinned(tree, people, seed)
    found = measures(tree, people, keep)[:, 0, 0]
    mass = _normalised(people, "linear")
    for q, (a, b) in enumerate(zip(people.start[:-1], people.start[1:], strict=True)):
        for depth in range(1, tree.depth + 2):
            names, group = np.unique(
                [str(z) for z in groups_by_depth(codes, people.item[a:b], depth)],
                return_inverse=True,
            )
            full = np.bincount(group, mass[a:b], len(names))
            part = np.bincount(group, mass[a:b] * keep[0, a:b], len(names))
            part /= part.sum()
            assert found[q, depth - 1, TV] == pytest.approx(
                distance.cityblock(full, part) / 2, abs=1e-12
            )
            js = distance.jensenshannon(full, part) ** 2 if len(full) > 1 else 0.0
            assert found[q, depth - 1, JS] == pytest.approx(np.nan_to_num(js), abs=1e-9)


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_with_everything_kept_the_estimate_is_the_reference(world, seed):
    _, tree, people = world
    whole = measures(tree, people, thinned(tree, people, seed))[:, SHARES.index(1.0)]
    assert np.abs(whole[..., [TV, JS, MISSING, FALSE]]).max() < 1e-12
    assert np.isnan(whole[..., COVERAGE]).all()


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_coarser_groups_bring_targets_together_and_cover_more(world, seed):
    _, tree, people = world
    found = measures(tree, people, thinned(tree, people, seed))[:, :2]
    for measure in (TV, JS, MISSING):
        assert (np.diff(found[..., measure], axis=-1) > -1e-12).all()
    for measure in (COVERAGE, SUPPORT):
        assert (np.diff(found[..., measure], axis=-1) < 1e-12).all()


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_within_the_first_code_nothing_changes_at_the_first_depth(world, seed):
    _, tree, people = world
    keep = thinned(tree, people, seed)
    own = measures(tree, people, keep)
    other = measures(tree, people, keep, moved(tree, people, "first code", seed))
    np.testing.assert_allclose(own[..., 0, :], other[..., 0, :], atol=1e-12)


@FEW
@given(populations(least=2), st.integers(0, 9), st.sampled_from(["first code", "global"]))
def test_what_concerns_single_items_does_not_change_under_reassignment(world, seed, kind):
    _, tree, people = world
    keep = thinned(tree, people, seed)
    own = measures(tree, people, keep)[..., -1, :]
    other = measures(tree, people, keep, moved(tree, people, kind, seed))[..., -1, :]
    kept = [TV, JS, MISSING, COVERAGE, SUPPORT]
    np.testing.assert_allclose(own[..., kept], other[..., kept], atol=1e-12)


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_with_an_identifier_for_each_item_the_leaf_lacks_what_is_withheld(world, seed):
    codes, _, people = world
    own = np.column_stack([np.maximum(codes[:, :-1], 0), np.arange(len(codes))])
    tree = PrefixTree.build(own)
    keep = thinned(tree, people, seed)
    found = measures(tree, people, keep)
    for w, weight in enumerate(WEIGHTS):
        mass = _normalised(people, weight)
        retained = np.stack(
            [np.add.reduceat(mass * one, people.start[:-1]) for one in keep], axis=1
        )
        np.testing.assert_allclose(found[:, :, w, -2, TV], 1 - retained, atol=1e-12)


# -- masks -----------------------------------------------------------------------------------------


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_masks_are_nested_and_keep_as_many_as_asked(world, seed):
    _, tree, people = world
    keep = thinned(tree, people, seed)
    for smaller, larger in pairwise(keep[: len(SHARES)]):
        assert (smaller <= larger).all()
    for row, share in zip(keep, (*SHARES, 0.25, 0.25), strict=True):
        counts = np.add.reduceat(row, people.start[:-1], dtype=int)
        expected = [max(1, int(np.floor(share * n + 1e-9))) for n in people.counts]
        assert counts.tolist() == expected


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_concentrated_evidence_is_nearest_to_the_first_that_is_kept(world, seed):
    codes, tree, people = world
    keep = thinned(tree, people, seed)
    for a, b in zip(people.start[:-1], people.start[1:], strict=True):
        uniform, near = keep[0, a:b], keep[-1, a:b]
        rows = codes[people.item[a:b]]
        firsts = np.flatnonzero(uniform & near)
        assert len(firsts)  # they begin with the same item
        ok = False
        for first in firsts:
            common = np.cumprod(rows == rows[first], axis=1).sum(axis=1)
            ok |= near.all() or common[near].min() >= common[~near].max()
        assert ok


def test_equal_grades_are_not_biased_and_higher_ones_are_kept_more_often():
    people = people_of([(0, i, 2.0) for i in range(8)])
    tree_nodes = np.arange(8, dtype=np.int32)[:, None]
    for seed in range(5):
        keep = thinning.masks(people, tree_nodes, (0.25,), 0.25, np.random.default_rng(seed))
        np.testing.assert_array_equal(keep[0], keep[1])
    people = people_of([(q, i, 3.0 if i < 4 else 1.0) for q in range(500) for i in range(8)])
    nodes = np.tile(tree_nodes, (500, 1))
    keep = thinning.masks(people, nodes, (0.125,), 0.125, np.random.default_rng(0))
    assert keep[0, people.grade == 3].sum() == pytest.approx(250, abs=40)
    # One is kept, in proportion to the grade: 12 of 16.
    assert keep[1, people.grade == 3].sum() == pytest.approx(375, abs=35)


# -- the whole study -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(identified):
    shop, tree = identified
    asked = EvidenceSettings(replicates=3, draws=50, randomisations=200)
    scene = Scene("shop", shop, tree)
    return run_design(scene, asked, lambda done, total: None), run([scene], asked, SILENT)


def test_replicates_are_averaged_within_each_query(found):
    design, _ = found
    for number, name in enumerate(ASSIGNMENTS):
        own = design.per_query("tv", assignment=name)[:, : design.depth]
        np.testing.assert_allclose(
            design.replicates[:, number, ..., 0].mean(axis=0), own, atol=1e-12
        )


def test_no_assignment_has_more_candidates_than_the_common_budget(found):
    design, _ = found
    values = {
        name: design.values[..., : len(SHARES), :, :, MEASURES.index(name)] for name in MEASURES
    }
    assert (values["budget"] <= values["support"] + 1e-9).all()
    below = [at for at, share in enumerate(design.settings.retention[:3]) if share < 1]
    matched, coverage = (values[name][:, :, below] for name in ("matched", "coverage"))
    assert (matched <= coverage + 1e-12).all()


def test_the_family_is_two_measures_at_every_depth_and_tables_are_made(found):
    design, result = found
    primary = [key for key in result.corrected if key[1] != "matched"]
    assert len(primary) == 2 * design.depth
    one = result.scenes["shop"]
    assert one.source == one.multi + one.single + one.none
    assert sum(part.queries for part in one.strata) == one.multi
    assert one.means["tv"]["semantic"][0] == pytest.approx(one.means["tv"]["first code"][0])
    assert one.means["tv"]["semantic"][0] < one.means["tv"]["global"][0]
    assert len(result.tables()) == 6
    assert len(result.figures()) == 5


def test_trust_is_where_the_curve_crosses_the_share_for_good():
    def curve(*values):
        return [
            Point(share, 10 * share, share, [Estimate(value, value, value)], [], [], [])
            for share, value in zip((0.25, 0.5, 0.75, 1.0), values, strict=True)
        ]

    found = trust(curve(0.5, 0.3, 0.1, 0.0), 0, 0.2, 0.25)
    assert found.retention == pytest.approx(0.625)
    assert found.kept == pytest.approx(6.25)
    assert found.more == pytest.approx(3.75)
    assert trust(curve(0.1, 0.3, 0.2, 0.0), 0, 0.2, 0.25).retention == pytest.approx(0.75)
    assert trust(curve(0.1, 0.1, 0.1, 0.0), 0, 0.2, 0.25).retention == 0.25
    assert trust(curve(0.5, 0.5, 0.4, 0.3), 0, 0.2, 0.25).retention is None


@pytest.mark.parametrize(
    "wrong", [{"at": 0.3}, {"retention": (0.5, 0.25)}, {"retention": (0.0, 0.25)}]
)
def test_levels_that_make_no_sense_are_refused(wrong):
    from rars.analysis.studies import study

    with pytest.raises(RarsError, match="--set for the study evidence"):
        study("evidence").asked(**wrong)
