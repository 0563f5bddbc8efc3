"""Prefix coverage and loss events equal their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data import Judgments
from rars.errors import RarsError
from rars.evaluation import Measure, Ranking, Truth, coverage, identifier_ranking, measure
from rars.systems import Ranked
from rars.tree import PrefixTree
from tests.evaluation.worlds import grades_of, random_judgments, random_ranking


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    depth=st.integers(1, 4),
    codes=st.integers(1, 4),
    k=st.integers(1, 12),
    shorter=st.booleans(),
)
def test_coverage_and_loss_equal_their_definitions(seed, depth, codes, k, shorter):
    rng = np.random.default_rng(seed)
    n_items = 40
    matrix = rng.integers(codes, size=(n_items, depth))
    if shorter:  # some identifiers end early
        matrix[np.arange(depth) >= rng.integers(1, depth + 1, size=n_items)[:, None]] = -1
    tree = PrefixTree.build(matrix)
    judged = random_judgments(rng, 5, n_items)
    ranking = random_ranking(rng, 5, n_items, 20)
    truth = Truth.of_judgments(judged, np.arange(5), n_items).at_identifiers(tree)
    leaves = identifier_ranking(ranking, tree)
    found = coverage(leaves, truth, tree, k)
    grades = grades_of(judged)
    for place, query in enumerate(truth.queries.tolist()):
        relevant = [tuple(matrix[i]) for i, grade in grades[query].items() if grade > 0]
        shown = list(dict.fromkeys(tuple(matrix[i]) for i in ranking.ranked.row(query)[0]))[:k]
        shares = []
        for length in range(1, depth + 1):
            wanted = {sid[:length] for sid in relevant}
            shares.append(len(wanted & {sid[:length] for sid in shown}) / len(wanted))
            assert found.values[f"Coverage@L{length}"][place] == pytest.approx(shares[-1])
        for length in range(1, depth):
            lost = shares[length - 1] > 0 and shares[length] == 0
            assert found.values[f"Loss@L{length}-L{length + 1}"][place] == lost
    recall = measure(leaves, truth, [Measure("Recall", k)]).values[f"Recall@{k}"]
    np.testing.assert_allclose(found.values[f"Coverage@L{depth}"], recall)


def test_a_branch_lost_half_way_is_one_loss_event():
    tree = PrefixTree.build([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]])
    judged = Judgments.merged(np.array([0]), np.array([0]), np.array([3.0]))
    truth = Truth.of_judgments(judged, np.array([0]), 4).at_identifiers(tree)
    shown = Ranking.of([0], Ranked.of_lists([tree.leaves_of([2, 3])]))
    found = coverage(shown, truth, tree)
    assert {name: values[0] for name, values in found.values.items()} == {
        "Coverage@L1": 1,
        "Coverage@L2": 0,
        "Coverage@L3": 0,
        "Loss@L1-L2": 1,
        "Loss@L2-L3": 0,
    }


def test_coverage_of_items_instead_of_identifiers_is_refused():
    tree = PrefixTree.build([[0], [0], [1]])
    judged = Judgments.merged(np.array([0]), np.array([0]), np.array([3.0]))
    truth = Truth.of_judgments(judged, np.array([0]), 3)
    with pytest.raises(RarsError, match="at_identifiers"):
        coverage(Ranking.of([0], Ranked.of_lists([[0]])), truth, tree)
