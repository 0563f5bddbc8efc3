"""Fusion adds comparable scores, and its weights are those that are best on the queries given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.baselines import Fusion, fuse
from rars.baselines.fusion import choose_weights
from rars.errors import RarsError
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


def test_weights_are_the_best_of_the_grid():
    """Only in the middle of the grid does item 1 (second for both) come first."""
    found = [
        Ranked.of_lists([[0, 1, 2]], [[10, 9, 0]]),
        Ranked.of_lists([[2, 1, 0]], [[10, 6, 0]]),
    ]
    asked = []

    def quality(ranked):
        asked.append(ranked)
        return float(ranked.items[0] == 1) + 0.1 * float(ranked.scores[0])

    weights = choose_weights(found, quality, steps=4)
    assert len(asked) == 5
    assert weights == (0.75, 0.25)
    assert fuse(found, weights).items[0] == 1


def test_three_systems_share_the_grid():
    found = [Ranked.of_lists([[item, 7]]) for item in range(3)]
    seen = []
    chosen = choose_weights(found, lambda ranked: seen.append(ranked) or 0.0, steps=2)
    assert len(seen) == 6
    assert chosen == (1.0, 0.0, 0.0)  # the first among equals


def test_parts_are_searched_deeper_than_shown():
    """Item 5 is first for nobody and best in the sum."""
    parts = (Fixed((0, 5, 1, 2)), Fixed((3, 5, 4, 6)))
    assert Fusion(parts, (0.5, 0.5), depth=4).search(["any"], k=1).items.tolist() == [5]
    assert Fusion(parts, (0.5, 0.5), depth=1).search(["any"], k=1).items.tolist() == [0]


def test_a_tuned_fusion_keeps_its_weights_for_other_texts():
    parts, seen = (Fixed((0, 5, 1, 2)), Fixed((3, 5, 4, 6))), []
    best = Fusion.tuned(parts, ["any"], lambda found: float(found.items[0] == 5), k=3, steps=4)
    assert best.weights == (0.5, 0.5)
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
