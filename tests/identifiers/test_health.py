from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rars.errors import RarsError
from rars.identifiers.health import check_health, gini, measure_health, untrained_recall
from rars.identifiers.kmeans import fit_residual_kmeans

from .worlds import families


def test_every_number_of_a_small_catalogue_by_hand():
    codes = np.array([[0, 0], [0, 0], [0, 1], [2, -1]], dtype=np.int32)
    health = measure_health(codes, (4, 2))
    first, second = health.depths
    assert (health.items, health.distinct, health.collision_rate) == (4, 3, 0.5)
    assert health.leaves == {1: 2, 2: 1}
    assert (first.used, first.dead, first.prefixes, first.items_max) == (2, 2, 2, 3)
    assert first.items_mean == 2.0
    assert first.perplexity == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))))
    assert first.gini == pytest.approx(0.25)
    # the identifier that ended at depth 1 does not count at depth 2
    assert (second.used, second.prefixes, second.items_mean) == (2, 2, 1.5)
    json.dumps(health.as_dict())


@given(hnp.arrays(np.int64, st.integers(1, 30), elements=st.integers(1, 50)))
def test_gini_is_half_the_mean_difference_over_the_mean(counts):
    expected = np.abs(counts[:, None] - counts[None, :]).mean() / (2 * counts.mean())
    assert gini(counts) == pytest.approx(expected, abs=1e-9)


def test_collapse_at_the_first_depth_is_refused_with_advice():
    codes = np.column_stack([np.zeros(1000), np.arange(1000)]).astype(np.int32)
    with pytest.raises(RarsError, match=r"depth 1 uses 1 of 256 codes.*residual-kmeans"):
        check_health(measure_health(codes, (256, 1000)))


def test_too_few_different_identifiers_are_refused_with_advice():
    codes = np.arange(1000, dtype=np.int32)[:, None] % 100
    with pytest.raises(RarsError, match=r"1000 items got only 100 different.*sizes"):
        check_health(measure_health(codes, (1000,)))


def test_sharing_is_fine_where_there_are_not_enough_codes():
    codes = np.arange(1000, dtype=np.int32)[:, None] % 100
    check_health(measure_health(codes, (100,)))


def test_a_tiny_catalogue_is_no_collapse():
    check_health(measure_health(np.zeros((1, 4), dtype=np.int32), (256,) * 4))


def test_untrained_recall_is_that_of_sorting_all_items():
    items, queries = families(500, seed=1), families(40, seed=2)
    quantizer = fit_residual_kmeans(items, (8, 8))
    codes = quantizer.encode(items)
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers([40, 500], size=(300, 2)), axis=0)
    query, item = pairs[pairs[:, 0] % 3 > 0].T  # some queries have no positives
    scores = queries @ quantizer.reconstruct(codes).T
    recalls = []
    for q in np.unique(query):
        # scores of one identifier are equal up to rounding here; make them exactly so
        found = np.argsort(-np.round(scores[q].astype(np.float64), 4), kind="stable")[:50]
        recalls.append(np.isin(item[query == q], found).mean())
    measured = untrained_recall(queries, quantizer, codes, (query, item), k=50)
    assert measured == pytest.approx(np.mean(recalls), abs=0.01)


def test_items_of_one_identifier_stand_in_catalogue_order():
    items = np.ones((6, 3), dtype=np.float32)
    quantizer = fit_residual_kmeans(items, (4,))
    codes = quantizer.encode(items)

    def recall(item, k):
        return untrained_recall(items[:1], quantizer, codes, (np.array([0]), np.array([item])), k)

    assert [recall(item, 3) for item in range(6)] == [1, 1, 1, 0, 0, 0]
    assert recall(5, 100) == 1.0


def test_a_suffix_does_not_change_untrained_recall():
    items = families(200)
    quantizer = fit_residual_kmeans(items, (8, 8))
    codes = quantizer.encode(items)
    longer = np.column_stack([codes, np.arange(200, dtype=np.int32)])
    pairs = (np.arange(20), np.arange(20))
    assert untrained_recall(items[:20], quantizer, longer, pairs, 10) == untrained_recall(
        items[:20], quantizer, codes, pairs, 10
    )
