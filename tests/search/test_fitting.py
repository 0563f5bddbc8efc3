"""Weights by likelihood: the minimum that other optimisers find, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from rars.errors import RarsError
from rars.search.fitting import FINITE, STRENGTHS, Candidates, fit


def drawn(seed, queries=60, parts=3, weights=None, relevant=4):
    """Queries whose relevant items are drawn from the softmax of known weights."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 30, queries)
    query = np.repeat(np.arange(queries), sizes)
    scores = rng.normal(size=(len(query), parts)) * rng.uniform(0.2, 5.0, parts)
    scores += rng.normal(size=(queries, parts))[query] * 3
    if weights is None:
        weights = rng.uniform(0, 2, parts)
    gains = np.zeros(len(query))
    for one in range(queries):
        mine = np.flatnonzero(query == one)
        total = scores[mine] @ weights
        chance = np.exp(total - total.max())
        for pick in rng.choice(mine, rng.integers(1, relevant + 1), p=chance / chance.sum()):
            gains[pick] = rng.integers(1, 4)
    return Candidates.of(queries, query, scores, gains)


def plain(candidates, usual, strength, weights):
    """The module's equation, query by query."""
    rows = [
        (candidates.scores[low:high], candidates.gains[low:high])
        for low, high in zip(candidates.pointers[:-1], candidates.pointers[1:], strict=True)
    ]
    deviation = np.sqrt(np.mean([scores.var(axis=0) for scores, _ in rows], axis=0))
    loss = 0.0
    for scores, gains in rows:
        total = scores @ weights
        log = total - total.max() - np.log(np.exp(total - total.max()).sum())
        loss -= float(gains / gains.sum() @ log)
    own, toward = weights * deviation, np.asarray(usual) * deviation
    toward = toward / np.linalg.norm(toward)
    away = own - (own @ toward) * toward
    return (loss + strength / 2 * away @ away + FINITE / 2 * own @ own) / len(rows)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), parts=st.integers(1, 5), strength=st.sampled_from([0.0, 1, 50]))
def test_the_minimum_is_the_one_another_optimiser_finds(seed, parts, strength):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1, 2, parts)  # some parts would be better off below 0
    candidates = drawn(seed, parts=parts, weights=truth)
    usual = rng.uniform(0.1, 2, parts)
    found = fit(candidates, usual, strength=strength).weights
    other = minimize(
        lambda w: plain(candidates, usual, strength, w),
        usual,
        method="L-BFGS-B",
        bounds=[(0, None)] * parts,
        options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 2000},
    )
    reached = plain(candidates, usual, strength, found)
    assert reached <= other.fun + 1e-9
    np.testing.assert_allclose(found, other.x, rtol=1e-3, atol=1e-3)
    slope = approx_fprime(found, lambda w: plain(candidates, usual, strength, w), 1e-7)
    np.testing.assert_allclose(slope[found > 1e-4], 0, atol=1e-5)
    assert (slope > -1e-5).all()


def test_known_weights_are_found_again():
    truth = np.array([0.5, 2.0, 0.0, 1.0])
    candidates = drawn(3, 3000, parts=4, weights=truth, relevant=1)
    unit = candidates.where(np.arange(3000) == 0).scores.std(
        axis=0
    )  # a small part is known less well
    found = fit(candidates, [1.0] * 4).weights
    np.testing.assert_allclose(found * unit, truth * unit, atol=0.1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), parts=st.integers(1, 5))
def test_weights_are_never_negative_and_always_numbers(seed, parts):
    rng = np.random.default_rng(seed)
    candidates = drawn(seed, queries=int(rng.integers(1, 12)), parts=parts, weights=-np.ones(parts))
    found = fit(candidates, rng.uniform(0.1, 1, parts))
    assert np.isfinite(found.weights).all()
    assert (found.weights >= 0).all()
    assert found.strength in STRENGTHS


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_a_shift_within_a_query_or_another_unit_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    candidates, usual = drawn(seed), rng.uniform(0.1, 1, 3)
    before = fit(candidates, usual)
    shift = rng.normal(size=(len(candidates), 3))[candidates.owner] * 10
    unit = np.exp(rng.normal(size=3))
    again = fit(
        Candidates(candidates.pointers, (candidates.scores + shift) * unit, candidates.gains * 7),
        usual / unit * rng.uniform(0.1, 10),
    )
    assert again.strength == before.strength
    np.testing.assert_allclose(again.weights * unit, before.weights, rtol=1e-5, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_neither_the_order_of_queries_nor_of_candidates_matters(seed):
    rng = np.random.default_rng(seed)
    candidates = drawn(seed)
    blocks = [candidates.where(np.arange(60) == one) for one in rng.permutation(60)]
    mixed = [
        Candidates(one.pointers, one.scores[order], one.gains[order])
        for one in blocks
        for order in [rng.permutation(len(one.gains))]
    ]
    found, again = (
        fit(one, [1.0] * 3, strength=3.0) for one in (candidates, Candidates.joined(mixed))
    )
    np.testing.assert_allclose(again.weights, found.weights, rtol=1e-6, atol=1e-9)


def test_the_same_twice():
    first, second = (fit(drawn(5), [1.0, 2.0, 3.0]) for _ in range(2))
    assert first.weights.tolist() == second.weights.tolist()


@pytest.mark.parametrize("bad", ["irrelevant", "none", "one", "nan", "infinite", "negative"])
def test_a_query_that_tells_nothing_costs_nothing(bad):
    good = drawn(8)
    count = {"none": 0, "one": 1}.get(bad, 4)
    scores, gains = np.arange(12.0).reshape(4, 3)[:count], np.array([1.0, 2.0, 0.0, 0.0])[:count]
    scores[:1, 1] = {"nan": np.nan, "infinite": -np.inf}.get(bad, 1.0)
    gains[:2] *= {"irrelevant": 0.0, "negative": -1.0}.get(bad, 1.0)
    odd = Candidates.of(1, np.zeros(count, dtype=int), scores, gains)
    found = fit(Candidates.joined([odd, good, odd]), [1.0] * 3, strength=3.0)
    assert found.queries == len(good)
    np.testing.assert_array_equal(found.weights, fit(good, [1.0] * 3, strength=3.0).weights)


def test_nothing_to_learn_from_leaves_the_usual_weights():
    nothing = Candidates.of(2, np.zeros(0, dtype=int), np.zeros((0, 2)), np.zeros(0))
    assert fit(nothing, [0.3, 0.7]).weights.tolist() == [0.3, 0.7]
    assert fit(nothing, [0.3, 0.7]).queries == 0
    alike = Candidates.of(2, np.repeat([0, 1], 3), np.full((6, 2), 0.1), [1, 0, 0, 1, 0, 0])
    assert fit(alike, [0.3, 0.7]).weights.tolist() == [0.3, 0.7]


def test_a_part_that_says_the_same_of_all_keeps_its_share():
    good = drawn(2)
    scores = np.column_stack([good.scores, np.full(len(good.scores), 0.1)])
    found = fit(Candidates(good.pointers, scores, good.gains), [1.0, 1.0, 1.0, 0.5], strength=1e9)
    assert found.weights[3] == pytest.approx(found.weights[0] / 2, rel=1e-3)


def test_a_strong_pull_keeps_the_usual_proportions_and_a_weak_one_does_not():
    candidates, usual = drawn(4, weights=np.array([3.0, 0.1, 0.5])), np.array([0.2, 0.5, 0.3])
    strong, weak = (fit(candidates, usual, strength=rho).weights for rho in (1e7, 0.0))
    np.testing.assert_allclose(strong / strong.sum(), usual, atol=1e-3)
    assert weak[0] > weak[2] > weak[1]


def test_one_part_that_is_always_right_leaves_weights_finite():
    query = np.repeat(np.arange(20), 5)
    gains = np.tile([1.0, 0, 0, 0, 0], 20)
    found = fit(Candidates.of(20, query, np.column_stack([gains, -gains]), gains), [1.0, 1.0])
    assert np.isfinite(found.weights).all()
    assert found.weights[0] > 0 == found.weights[1]


@pytest.mark.parametrize(
    ("usual", "strength", "words"),
    [
        ([1.0], None, "3 parts got 1"),
        ([1.0, -1.0, 1.0], None, "0 or more"),
        ([0.0, 0.0, 0.0], None, "not all 0"),
        ([1.0, np.nan, 1.0], None, "0 or more"),
        ([1.0, 1.0, 1.0], -1.0, "strength"),
    ],
)
def test_impossible_requests_are_refused(usual, strength, words):
    with pytest.raises(RarsError, match=words):
        fit(drawn(1), usual, strength=strength)
