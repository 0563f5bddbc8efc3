"""Intervals, p-values and corrections agree with scipy, statsmodels and with simulated truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from rars.errors import RarsError
from rars.evaluation import (
    estimates,
    holm,
    seed_differences,
    seed_summary,
    sign_test,
)
from rars.evaluation import statistics as module

DATASETS = 200
LOW, HIGH = stats.binom.ppf([0.025, 0.975], DATASETS, 0.05)
"""How many of 200 true hypotheses a sound 5 % test rejects, in 95 of 100 simulations."""


def null_differences(rng, queries: int, columns: int = 1) -> np.ndarray:
    """Differences of two equally good systems: many zeros, the rest symmetric and heavy-tailed."""
    differences = rng.standard_t(4, size=(queries, columns)) / 10
    return differences * (rng.random((queries, columns)) < 0.7)


# -- bootstrap ------------------------------------------------------------------------------------


def test_the_bootstrap_interval_agrees_with_scipy():
    values = np.random.default_rng(1).beta(0.5, 1.5, size=(150, 2))
    ours = estimates(values, draws=20_000, seed=3)
    for column, one in enumerate(ours):
        theirs = stats.bootstrap(
            (values[:, column],), np.mean, n_resamples=20_000, method="percentile", rng=4
        ).confidence_interval
        assert one.mean == pytest.approx(values[:, column].mean())
        width = theirs.high - theirs.low
        assert abs(one.low - theirs.low) < 0.03 * width
        assert abs(one.high - theirs.high) < 0.03 * width


def test_intervals_of_two_systems_use_the_same_queries():
    """Pairing: a system that is always 0.1 better is 0.1 better in every resample, without spread."""
    base = np.random.default_rng(0).random(50)
    means = module.resampled_means(np.stack([base, base + 0.1], axis=1), draws=500)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 0.1)
    assert means[:, 0].std() > 0.01


def test_blocks_do_not_lose_draws(monkeypatch):
    """A draw is the mean of n values whatever the block size: here one draw a block."""
    monkeypatch.setattr(module, "_CELLS", 1)
    means = module.resampled_means(np.arange(20.0), draws=300, seed=0)
    assert means.shape == (300, 1)
    assert means.mean() == pytest.approx(9.5, abs=0.3)
    assert len(np.unique(means)) > 30


def test_the_same_seed_gives_the_same_numbers():
    values = np.random.default_rng(0).random((40, 2))
    assert estimates(values, draws=200, seed=5) == estimates(values, draws=200, seed=5)
    assert estimates(values, draws=200, seed=5) != estimates(values, draws=200, seed=6)
    p = [sign_test(values - 0.5, draws=200, seed=seed).tolist() for seed in (5, 5, 6)]
    assert p[0] == p[1] != p[2]


def test_intervals_miss_the_truth_about_as_often_as_classical_ones():
    """Percentile intervals are a little short for few queries, so t-intervals of the same data judge them."""
    rng = np.random.default_rng(11)
    missed = classical = 0
    for dataset in range(DATASETS):
        values = rng.beta(1, 3, size=120)
        one = estimates(values, draws=1000, seed=dataset)[0]
        missed += not one.low <= 0.25 <= one.high
        low, high = stats.t.interval(0.95, 119, values.mean(), stats.sem(values))
        classical += not low <= 0.25 <= high
    assert abs(missed - classical) <= 5
    assert missed > LOW


# -- sign randomisation ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.2, 0.7]), min_size=1, max_size=9))
def test_few_queries_are_enumerated_exactly(values):
    differences = np.array(values)
    far = [
        abs(np.dot(signs, differences)) >= abs(differences.sum()) - 1e-9
        for signs in product([-1, 1], repeat=len(values))
    ]
    assert sign_test(differences)[0] == pytest.approx(np.mean(far))


def test_the_exact_p_value_agrees_with_scipy():
    differences = np.random.default_rng(2).normal(0.3, 1, size=10)
    theirs = stats.permutation_test(
        (differences, np.zeros(10)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert sign_test(differences)[0] == pytest.approx(theirs.pvalue)


def test_random_patterns_come_near_the_exact_p_value():
    differences = np.random.default_rng(4).normal(0.4, 1, size=12)
    exact = sign_test(differences, draws=5000)[0]  # 2^12 patterns are fewer
    drawn = sign_test(differences, draws=4000)[0]
    assert exact != drawn
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000))


def test_the_observed_pattern_counts_among_the_drawn_ones():
    """So p is never 0, however strong the effect."""
    assert sign_test(np.ones(200), draws=99)[0] == 1 / 100


def test_queries_without_a_difference_say_nothing():
    some = np.array([0.2, 0.1, -0.1, 0.4, 0.3])
    padded = np.concatenate([some, np.zeros(500)])
    assert sign_test(padded)[0] == sign_test(some)[0]
    assert sign_test(np.zeros(10))[0] == 1.0


def test_equal_sums_count_as_equal_in_spite_of_rounding():
    """0.1 + 0.2 and 0.3 differ as floats; all sixteen patterns here are counted by their true sums."""
    assert sign_test([0.1, 0.2, -0.3, 0.0])[0] == 1.0


def test_columns_are_tested_one_by_one():
    rng = np.random.default_rng(6)
    matrix = rng.normal(0.1, 1, size=(60, 3))
    matrix[:, 1] = 0
    together = sign_test(matrix, draws=500, seed=1)
    alone = [sign_test(matrix[:, column], draws=500, seed=1)[0] for column in range(3)]
    assert together.tolist() == pytest.approx(alone)


def test_the_test_rejects_a_true_null_hypothesis_in_one_of_twenty_cases():
    rng = np.random.default_rng(7)
    rejected = sum(
        sign_test(null_differences(rng, 60), draws=2000, seed=dataset)[0] <= 0.05
        for dataset in range(DATASETS)
    )
    assert LOW <= rejected <= HIGH


def test_holm_keeps_the_family_wise_error_at_one_of_twenty():
    """Six true null hypotheses per dataset, correlated as measures of one system are."""
    rng = np.random.default_rng(9)
    plain = corrected = 0
    for dataset in range(DATASETS):
        shared = null_differences(rng, 60)
        family = 0.3 * shared + null_differences(rng, 60, columns=6)
        p = sign_test(family, draws=2000, seed=dataset)
        plain += (p <= 0.05).any()
        corrected += (holm(p) <= 0.05).any()
    assert LOW <= corrected <= HIGH
    assert plain > HIGH  # without the correction it does not hold


@pytest.mark.parametrize("queries", [200, 3000])
def test_a_real_difference_is_found(queries):
    """Also among thousands of queries, as real test sets have."""
    rng = np.random.default_rng(10)
    assert sign_test(null_differences(rng, queries) + 0.05, draws=2000)[0] < 0.001


def test_no_draws_are_refused():
    for function in (estimates, sign_test):
        with pytest.raises(RarsError, match="At least one draw is needed, not 0"):
            function(np.ones(30), draws=0)


# -- Holm, seeds ----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(p):
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


def test_holm_refuses_what_is_no_p_value():
    with pytest.raises(RarsError, match="between 0 and 1"):
        holm([0.2, 1.2])


def test_seeds_are_summed_up_by_mean_and_sample_deviation():
    values = [38.1, 38.4, 38.2, 38.5, 38.0]
    found = seed_summary(values)
    assert (found.n, found.mean) == (5, pytest.approx(np.mean(values)))
    assert found.sd == pytest.approx(stats.tstd(values))
    assert seed_summary([1.0]).as_dict() == {"n": 1, "mean": 1.0, "sd": None}


def test_differences_are_taken_within_seeds():
    """Both systems vary a lot from seed to seed, their difference hardly."""
    reference = np.array([10.0, 14.0, 12.0])
    better = reference + np.array([1.0, 1.1, 0.9])
    found = seed_differences(better.tolist(), reference.tolist())
    assert found.mean == pytest.approx(1.0)
    assert found.sd == pytest.approx(0.1)
    with pytest.raises(RarsError, match="the same seeds, not 2 against 3"):
        seed_differences([1.0, 2.0], reference.tolist())


@pytest.mark.parametrize(
    ("values", "words"), [([], "at least one query"), ([1.0, np.nan], "finite value")]
)
def test_values_that_have_no_mean_are_refused(values, words):
    for function in (estimates, sign_test):
        with pytest.raises(RarsError, match=words):
            function(values)


def test_a_crossed_bootstrap_covers_queries_and_replicates():
    rng = np.random.default_rng(0)
    queries, replicates = rng.normal(size=(1, 80, 1)), rng.normal(size=(30, 1, 1))
    # Additive effects: the variance of the mean is the sum of both variances of means.
    found = module.crossed_estimates(queries + replicates, draws=4000, seed=1)[0]
    spread = np.sqrt(queries.var() / 80 + replicates.var() / 30)
    assert found.mean == pytest.approx(queries.mean() + replicates.mean())
    assert (found.high - found.low) / (2 * stats.norm.ppf(0.975)) == pytest.approx(spread, rel=0.08)
    alone = module.crossed_estimates(queries, draws=4000, seed=1)[0]
    once = estimates(queries[0], draws=4000, seed=2)[0]
    assert alone.high - alone.low == pytest.approx(once.high - once.low, rel=0.08)


def test_a_crossed_bootstrap_needs_finite_values_of_three_axes():
    for wrong in (np.zeros((3, 4)), np.full((2, 2, 1), np.nan), np.zeros((0, 2, 1))):
        with pytest.raises(RarsError, match="crossed bootstrap"):
            module.crossed_estimates(wrong)
