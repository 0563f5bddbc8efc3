"""Hard negatives are what BM25 finds and nobody wants, those that somebody refused first."""

from __future__ import annotations

import numpy as np

from rars.baselines import Bm25
from rars.baselines.negatives import hard_negatives
from tests.evaluation.worlds import make_dataset

TITLES = ["red mug", "red red mug", "red lamp", "desk lamp", "red desk"]


def test_refused_items_come_first_then_the_best_that_are_not_relevant(tmp_path):
    judged = [("red mug", "v", 3), ("red mug", "y", 0), ("red mug", "x", 0), ("lamp", "y", 3)]
    dataset = make_dataset(
        tmp_path / "data",
        list("vwxyz"),
        ["red mug", "lamp", "desk"],
        [*judged, ("desk", "z", 3)],
        titles=TITLES,
        splits=["train", "train", "test"],
    )
    ranked = Bm25.of(dataset).search(["red mug"], 10).row(0)[0].tolist()
    others = [item for item in ranked if item not in (0, 2, 3)]
    found = hard_negatives(dataset, 4)
    assert found[0].tolist() == [2, 3, *others][:4]  # x is in BM25's list, y is not
    assert found[1].tolist() == [2, -1, -1, -1]
    assert found[2].tolist() == [-1] * 4  # test queries are not looked at


def test_without_training_judgments_there_are_none(tmp_path):
    dataset = make_dataset(tmp_path / "data", ["x"], ["q"], [("q", "x", 3)], splits=["test"])
    assert (hard_negatives(dataset, 2) == np.full((1, 2), -1)).all()
