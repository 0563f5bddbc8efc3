"""Queries compared with queries: pairs with equal evidence, disjoint halves, two positives at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rars.analysis import heterogeneity, replication, sensitivity
from rars.analysis.population import EVIDENCE, equal_pairs
from rars.analysis.profiles import apart, profiles, total_variation
from rars.analysis.study import Scene
from rars.errors import RarsError
from rars.progress import SILENT
from tests.analysis.worlds import pairs_of, people_of, populations, refinements

FEW = settings(max_examples=30, deadline=None)
# Small worlds seldom have queries whose items all have identifiers of their own: most are passed over.
FEW_ALIKE = settings(FEW, suppress_health_check=[HealthCheck.filter_too_much])
kinds = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=30)


@FEW
@given(kinds, st.integers(0, 9))
def test_pairs_are_disjoint_and_alike_and_as_many_as_possible(listed, seed):
    rows = np.array(listed)
    pairs = equal_pairs(rows, np.random.default_rng(seed))
    assert len(set(pairs.ravel().tolist())) == pairs.size
    assert (rows[pairs[:, 0]] == rows[pairs[:, 1]]).all()
    assert len(pairs) == sum(n // 2 for n in Counter(listed).values())


@FEW_ALIKE
@given(populations(least=2), st.sampled_from(list(EVIDENCE)), st.integers(0, 9))
def test_queries_with_equal_grades_and_distinct_identifiers_have_equal_entropy(
    world, evidence, seed
):
    codes, tree, people = world
    people = people.where(~people.collides(tree))
    assume(len(people) > 1)
    delta = refinements(codes, pairs_of(people, people.weights(evidence)), len(people))
    for one, other in equal_pairs(people.grade_counts()[1], np.random.default_rng(seed)):
        assert delta[one].sum() == pytest.approx(delta[other].sum())


@FEW_ALIKE
@given(populations(least=2))
def test_profiles_and_their_distances_are_those_by_hand(world):
    codes, tree, people = world
    people = people.where(~people.collides(tree))
    assume(len(people))
    delta = refinements(codes, pairs_of(people, people.grade), len(people))
    expected = delta / delta.sum(axis=1, keepdims=True)
    found = profiles(tree, people.row, people.item, people.grade)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    for one in range(len(people)):
        for other in range(len(people)):
            mine, theirs = found[one : one + 1], found[other : other + 1]
            distance = (
                sum(abs(a - b) for a, b in zip(expected[one], expected[other], strict=True)) / 2
            )
            assert total_variation(mine, theirs)[0] == pytest.approx(distance)
            peaks = [
                {at for at, value in enumerate(row) if value >= max(row) - 1e-12}
                for row in (mine[0], theirs[0])
            ]
            assert apart(mine, theirs)[0] == (not peaks[0] & peaks[1])


@FEW
@given(populations(), st.integers(0, 9))
def test_halves_are_disjoint_with_equally_many_of_every_grade(world, seed):
    _, _, people = world
    half = replication.split(people, np.random.default_rng(seed))
    for q in range(len(people)):
        for grade in np.unique(people.grade):
            mine = half[(people.row == q) & (people.grade == grade)]
            n = len(mine)
            assert sorted(mine.tolist()) == [-1] * (n % 2) + [0] * (n // 2) + [1] * (n // 2)


@FEW
@given(populations(least=2), st.integers(0, 9))
def test_two_positives_of_a_query_are_two_of_its_own(world, seed):
    _, _, people = world
    place = sensitivity.drawn_pairs(people, np.random.default_rng(seed)).reshape(-1, 2)
    assert (place[:, 0] != place[:, 1]).all()
    assert (people.row[place] == np.arange(len(people))[:, None]).all()


def test_distances_within_and_across_are_those_of_the_definition(identified):
    shop, tree = identified
    asked = replication.ReplicationSettings(splits=2, draws=20, randomisations=100)
    found = replication.run([Scene("shop", shop, tree)], asked, SILENT)
    people = replication.Population.of(Scene("shop", shop, tree), asked)
    halves = people.grade_counts()[1] // 2
    people = people.where((halves.sum(axis=1) >= 2) & ~people.collides(tree))
    pairs = equal_pairs(people.grade_counts()[1] // 2, np.random.default_rng(0))
    within, cross = [], []
    for at in range(2):
        random = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(1, at)))
        half = replication.split(people, random)
        for q, r in pairs:
            own = {}
            for query in (q, r):
                for side in (0, 1):
                    mine = (people.row == query) & (half == side)
                    n = int(mine.sum())
                    own[query, side] = profiles(
                        tree, np.zeros(n, int), people.item[mine], people.grade[mine]
                    )
            tv = {(a, b): total_variation(own[a], own[b])[0] for a in own for b in own}
            within.append((tv[(q, 0), (q, 1)] + tv[(r, 0), (r, 1)]) / 2)
            cross.append((tv[(q, 0), (r, 1)] + tv[(r, 0), (q, 1)]) / 2)
    one = found.scenes["shop"].found["linear"]
    assert found.scenes["shop"].pairs == len(pairs)
    assert one.within.mean == pytest.approx(np.mean(within))
    assert one.cross.mean == pytest.approx(np.mean(cross))
    assert one.gap.mean == pytest.approx(np.mean(cross) - np.mean(within))
    assert len(found.corrected) == 2


def test_the_other_studies_tell_what_they_found(identified):
    shop, tree = identified
    scenes = [Scene("one", shop, tree), Scene("two", shop, tree)]
    alike = heterogeneity.run(scenes, heterogeneity.HeterogeneitySettings(draws=20), SILENT)
    assert alike.scenes["one"].colliding == 0
    assert 0 <= alike.scenes["one"].found["binary"].tv.mean <= 1
    asked = sensitivity.SensitivitySettings(subsamples=2)
    kept = sensitivity.run(scenes, asked, SILENT)
    people = sensitivity.Population.of(scenes[0], asked).several()
    total = np.zeros(tree.depth)
    for at in range(2):
        random = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(2, at)))
        for one, other in sensitivity.drawn_pairs(people, random).reshape(-1, 2):
            a, b = tree.identifiers(people.item[[one, other]])
            common = int(np.cumprod(a == b).sum())
            shares = people.grade[[one, other]] / people.grade[[one, other]].sum()
            if common < tree.depth:
                total[common] -= float((shares * np.log(shares)).sum()) / (2 * len(people))
    np.testing.assert_allclose(kept.scenes["one"].two["linear"], total, atol=1e-12)
    for result in (alike, kept):
        assert len(result.findings()) == 2
        assert result.as_dict()["one"] == result.as_dict()["two"]


def test_what_cannot_be_compared_is_said(identified):
    shop, tree = identified
    lonely = shop.with_queries(shop.queries_in("test")[:1])
    scene = Scene("lonely", lonely, tree)
    with pytest.raises(RarsError, match="lonely: no two queries"):
        heterogeneity.measure(scene, heterogeneity.HeterogeneitySettings())
    with pytest.raises(RarsError, match="has no query with a positive"):
        heterogeneity.measure(scene, heterogeneity.HeterogeneitySettings(split="train"))


def test_people_of_keeps_grades():
    people = people_of([(3, 1, 2.0), (1, 0, 1.0)])
    assert people.queries.tolist() == [1, 3]
    assert people.grade.tolist() == [1.0, 2.0]
