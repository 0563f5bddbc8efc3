"""Fusion adds comparable scores, and its weights are fitted on the queries given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.baselines import Fusion, fuse
from rars.baselines.fusion import fitted_weights
from rars.errors import RarsError
from rars.evaluation.truth import Truth
from rars.search.fitting import EACH, Candidates, fit
from rars.systems import Ranked


@dataclass(frozen=True)
class Fixed:
    """Always the same list, whatever is asked."""

    items: tuple[int, ...]

    def search(self, texts, k=100, *, advance=None):
        return Ranked.of_lists([self.items[:k]] * len(texts))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31), weight=st.sampled_from([0.0, 0.3, 1.0]), k=st.integers(1, 20))
def test_fused_scores_equal_a_plain_computation(seed, weight, k):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(2):
        lists = [rng.permutation(15)[: rng.integers(0, 8)] for _ in range(4)]
        scores = [np.sort(rng.integers(0, 9, len(row)))[::-1] for row in lists]
        found.append(Ranked.of_lists(lists, scores))
    weights = (weight, 1 - weight)
    fused = fuse(found, weights, k)
    for text in range(4):
        total: dict[int, float] = {}
        for part, share in zip(found, weights, strict=True):
            items, scores = part.row(text)
            for item, score in zip(items.tolist(), scores.tolist(), strict=True):
                spread = scores.max() - scores.min()
                unit = (score - scores.min()) / spread if spread else 1.0
                total[item] = total.get(item, 0.0) + share * unit
        items, scores = fused.row(text)
        assert len(items) == min(k, len(total))
        assert len(set(items.tolist())) == len(items)
        np.testing.assert_allclose(scores, sorted(total.values(), reverse=True)[:k], atol=1e-6)
        np.testing.assert_allclose(scores, [total[i] for i in items.tolist()], atol=1e-6)


def test_all_weight_on_one_system_keeps_its_order():
    lists = [Ranked.of_lists([[4, 2, 9]]), Ranked.of_lists([[9, 1]])]
    assert fuse(lists, (1, 0)).items.tolist()[:2] == [4, 2]
    assert fuse(lists, (0, 1)).items.tolist()[0] == 9


def truth_of(relevant, size=50):
    """What is relevant to each text: items, all alike."""
    row = np.repeat(np.arange(len(relevant)), [len(one) for one in relevant])
    item = np.array([item for one in relevant for item in sorted(one)], dtype=np.int64)
    rows = np.arange(len(relevant), dtype=np.int32)
    return Truth(rows, row.astype(np.int64), item, np.ones(len(row)), size, 0)


def test_the_system_that_knows_has_the_weight():
    rng = np.random.default_rng(0)
    lists = [rng.permutation(50)[:20] for _ in range(60)]
    knows = Ranked.of_lists([np.sort(one) for one in lists], [np.linspace(1, 0, 20)] * 60)
    guesses = Ranked.of_lists(lists, [np.linspace(1, 0, 20)] * 60)
    truth = truth_of([set(np.sort(one)[:3].tolist()) for one in lists])
    weights = fitted_weights([guesses, knows], truth)
    assert sum(weights) == pytest.approx(1, abs=1e-3)
    assert weights[1] > 0.9
    assert fitted_weights([knows, guesses], truth) == pytest.approx(weights[::-1], abs=1e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), systems=st.integers(1, 3))
def test_weights_are_those_of_the_fit_on_plainly_gathered_candidates(seed, systems):
    """The same candidates and scores, gathered item by item."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(systems):
        lists = [rng.permutation(250)[: rng.integers(0, 200)] for _ in range(12)]
        found.append(Ranked.of_lists(lists, [np.sort(rng.random(len(a)))[::-1] for a in lists]))
    truth = truth_of([set(rng.integers(0, 250, 6).tolist()) for _ in range(12)], size=250)
    query, scores, gains = [], [], []
    for text in range(12):
        rows = [part.row(text) for part in found]
        offered = sorted({int(item) for items, _ in rows for item in items[:EACH]})
        relevant = set(truth.item[truth.row == text].tolist())
        for item in offered:
            query.append(text)
            gains.append(float(item in relevant))
            scores.append([unit(*one, item) for one in rows])
    known = Candidates.of(12, np.array(query, int), np.array(scores).reshape(-1, systems), gains)
    expected = fit(known, [1 / systems] * systems).weights
    whole = expected.sum()
    expected = expected / whole if whole > 0 else np.full(systems, 1 / systems)
    np.testing.assert_allclose(fitted_weights(found, truth), expected, atol=1e-4)


def unit(items, scores, item):
    """The score of an item on a scale from 0 to 1; 0 where it was not returned."""
    if item not in items:
        return 0.0
    low, high = float(scores.min()), float(scores.max())
    score = float(scores[items.tolist().index(item)])
    return (score - low) / (high - low) if high > low else 1.0


def test_nothing_to_learn_from_gives_all_the_same_weight():
    found = [Ranked.of_lists([[0, 1], []]), Ranked.of_lists([[2], []])]
    assert fitted_weights(found, truth_of([{7}, {8}])) == (0.5, 0.5)
    with pytest.raises(RarsError, match="2 texts but judgments of 1"):
        fitted_weights(found, truth_of([{7}]))


def test_parts_are_searched_deeper_than_shown():
    """Item 5 is first for nobody and best in the sum."""
    parts = (Fixed((0, 5, 1, 2)), Fixed((3, 5, 4, 6)))
    assert Fusion(parts, (0.5, 0.5), depth=4).search(["any"], k=1).items.tolist() == [5]
    assert Fusion(parts, (0.5, 0.5), depth=1).search(["any"], k=1).items.tolist() == [0]


def test_a_tuned_fusion_keeps_its_weights_for_other_texts():
    parts, seen = (Fixed((0, 5, 1, 2)), Fixed((3, 5, 4, 6))), []
    best = Fusion.tuned(parts, ["any"], truth_of([{5}]))
    assert best.weights == pytest.approx((0.5, 0.5))
    found = best.search(["a", "b"], k=2, advance=lambda done, total: seen.append((done, total)))
    assert [found.row(i)[0].tolist() for i in range(2)] == [[5, 0], [5, 0]]
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("count", "weights", "words"),
    [
        (0, (), "at least one system"),
        (2, (1.0,), "2 systems got 1 weights"),
        (2, (1.0, -0.5), "must be 0 or more"),
        (2, (0.0, 0.0), "not all 0"),
    ],
)
def test_impossible_weights_are_refused(count, weights, words):
    with pytest.raises(RarsError, match=words):
        fuse([Ranked.of_lists([[1]])] * count, weights)


def test_results_of_different_texts_are_not_fused():
    with pytest.raises(RarsError, match="the same texts"):
        fuse([Ranked.of_lists([[1]]), Ranked.of_lists([[1], [2]])], (0.5, 0.5))
