"""Seeds, intervals and tests of a study against the same computed the plain way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from rars.errors import RarsError
from rars.evaluation import PerQuery
from rars.evaluation.comparison import Scores
from rars.experiments.design import Condition, Contrast, Point, Setting
from rars.experiments.findings import sentence
from rars.experiments.results import summarise
from rars.experiments.studies import main, masks, objectives
from tests.experiments.made_up import found_of, per_query

SETTING = Setting("tiny", rates={"base": 2e-3, "rars": 2e-3})


def plain_mean(key, rule, seed, measure):
    return float(np.mean(per_query(key, rule, seed).values[measure]))


def test_values_are_means_and_sample_deviations_over_seeds():
    found = found_of(main.STUDY, SETTING)
    scores = found.scores[Point("rars", "all")]
    means = [plain_mean("rars", "all", seed, "nDCG@10") for seed in range(3)]
    assert scores.summary("nDCG@10").mean == pytest.approx(np.mean(means))
    assert scores.summary("nDCG@10").sd == pytest.approx(np.std(means, ddof=1))
    assert scores.means("nDCG@10") == pytest.approx(means)


def test_differences_are_paired_by_query_and_by_seed():
    found = found_of(main.STUDY, SETTING)
    one = found.delta("RARS − Base, AR only", "Recall@100")
    assert one is not None
    ours = np.mean([per_query("rars", "ar", s).values["Recall@100"] for s in range(3)], axis=0)
    theirs = np.mean([per_query("base", "ar", s).values["Recall@100"] for s in range(3)], axis=0)
    assert one.estimate.mean == pytest.approx(float((ours - theirs).mean()))
    within = [
        plain_mean("rars", "ar", s, "Recall@100") - plain_mean("base", "ar", s, "Recall@100")
        for s in range(3)
    ]
    assert one.per_seed == pytest.approx(within)
    assert one.seeds.sd == pytest.approx(np.std(within, ddof=1))


def test_intervals_and_p_values_agree_with_scipy():
    found = found_of(main.STUDY, SETTING)
    one = found.delta("RARS − Base, all levels", "nDCG@10")
    ours = np.mean([per_query("rars", "all", s).values["nDCG@10"] for s in range(3)], axis=0)
    theirs = np.mean([per_query("base", "all", s).values["nDCG@10"] for s in range(3)], axis=0)
    difference = ours - theirs
    boot = stats.bootstrap(
        (difference,),
        np.mean,
        method="percentile",
        n_resamples=10_000,
        rng=np.random.default_rng(5),
    )
    assert one.estimate.low == pytest.approx(boot.confidence_interval.low, abs=0.01)
    assert one.estimate.high == pytest.approx(boot.confidence_interval.high, abs=0.01)
    test = stats.permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        n_resamples=10_000,
        rng=np.random.default_rng(6),
    )
    assert one.p == pytest.approx(test.pvalue, abs=0.02)


def test_holm_covers_exactly_the_declared_family():
    """Every family is corrected by itself: stepping down over its own tests, and over no other's."""
    found = found_of(objectives.STUDY, SETTING)
    by_family = itertools.groupby(found.deltas, key=lambda one: one.contrast.family)
    sizes = {}
    for family, listed in by_family:
        tests = sorted(listed, key=lambda one: one.p)
        sizes[family] = len(tests)
        highest = 0.0
        for place, one in enumerate(tests):
            highest = max(highest, min(1.0, one.p * (len(tests) - place)))
            assert one.p_holm == pytest.approx(highest)
    assert sizes == {"all": 8, "ar": 8}  # four objectives against grouped, two measures


def test_a_failed_seed_is_left_out_of_both_sides_of_its_pair():
    found = found_of(main.STUDY, SETTING, missing=(("base", 1),))
    assert found.scores[Point("base", "ar")].seeds == (0, 2)
    assert found.scores[Point("rars", "ar")].seeds == (0, 1, 2)
    one = found.delta("RARS − Base, AR only", "Recall@100")
    assert one.seeds.n == 2
    want = [
        plain_mean("rars", "ar", s, "Recall@100") - plain_mean("base", "ar", s, "Recall@100")
        for s in (0, 2)
    ]
    assert one.per_seed == pytest.approx(want)


def test_the_parts_of_the_decomposition_add_up():
    found = found_of(masks.STUDY, SETTING)
    for measure in ("Recall@100", "nDCG@10"):
        total, training, retrieval = (
            found.delta(name, measure).estimate.mean
            for name in (masks.TOTAL, masks.TRAINING, masks.RETRIEVAL)
        )
        assert total == pytest.approx(training + retrieval)


def shifted(by):
    queries = np.arange(200, dtype=np.int32)
    noise = np.random.default_rng(0).normal(0, 0.01, (2, 200))
    runs = {
        "a": PerQuery(queries, {"Recall@100": 0.5 + noise[0]}),
        "b": PerQuery(queries, {"Recall@100": 0.5 + by + noise[1]}),
    }
    whole = {Point(key, "ar"): Scores((0,), (run,)) for key, run in runs.items()}
    conditions = [Condition(key, key, SETTING.recipe("base"), ("ar",)) for key in runs]
    contrast = Contrast("b − a", Point("b", "ar"), Point("a", "ar"), ("Recall@100",))
    return summarise(whole, SETTING, conditions, [contrast], ["Recall@100"])


@pytest.mark.parametrize(
    ("by", "verdict"),
    [(0.05, "significantly better"), (-0.05, "significantly worse"), (0.0, "not significant")],
)
def test_a_sentence_says_plainly_what_a_difference_is(by, verdict):
    (one,) = shifted(by).deltas
    assert sentence(one).endswith(f": {verdict}.")


def test_results_on_other_queries_are_refused():
    queries = np.arange(3, dtype=np.int32)
    whole = {
        Point("a", "ar"): Scores((0,), (PerQuery(queries, {"Recall@100": np.ones(3)}),)),
        Point("b", "ar"): Scores((0,), (PerQuery(queries + 1, {"Recall@100": np.ones(3)}),)),
    }
    with pytest.raises(RarsError, match="same queries"):
        summarise(whole, SETTING, [], [], ["Recall@100"])
