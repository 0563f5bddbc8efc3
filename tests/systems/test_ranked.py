"""The best items are kept whatever the blocks, and equal scores stay in catalogue order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.systems import Ranked
from rars.systems.ranked import Best


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_items=st.integers(1, 40),
    k=st.integers(1, 12),
    block=st.integers(1, 40),
    floor=st.sampled_from([-np.inf, 0.0, 1.0]),
)
def test_the_best_equal_a_full_sort(seed, n_items, k, block, floor):
    scores = np.random.default_rng(seed).integers(-3, 4, size=(5, n_items)).astype(np.float32)
    best = Best(5, k, floor)
    for first in range(0, n_items, block):
        best.add(scores[:, first : first + block], first)
    found = best.ranked()
    for row in range(5):
        expected = [i for i in np.argsort(-scores[row], kind="stable") if scores[row, i] > floor]
        items, values = found.row(row)
        assert items.tolist() == expected[:k]
        assert values.tolist() == scores[row, items].tolist()


def test_cut_where_and_joined_keep_each_text_apart():
    ranked = Ranked.of_lists([[1, 2, 3], [], [4]])
    assert [ranked.cut(2).row(i)[0].tolist() for i in range(3)] == [[1, 2], [], [4]]
    odd = ranked.where(ranked.items % 2 == 1)
    assert [odd.row(i)[0].tolist() for i in range(3)] == [[1, 3], [], []]
    both = Ranked.joined([ranked, odd])
    assert [both.row(i)[0].tolist() for i in range(6)] == [[1, 2, 3], [], [4], [1, 3], [], []]
    assert len(Ranked.joined([])) == 0


def test_scores_must_match_items():
    with pytest.raises(RarsError, match="2 ranked items but 1 scores"):
        Ranked.of_lists([[1, 2]], [[0.5]])
