"""How trainings went: read from journals, kept without them, and drawn."""

from __future__ import annotations

import json

import pytest

from rars.errors import RarsError
from rars.experiments.courses import Course
from rars.experiments.kept import Kept

COURSE = Course((1.0, 2.0, 3.0), {"Recall@100": (0.2, 0.5, 0.5), "nDCG@10": (0.1, 0.3, 0.2)})


def test_a_course_is_what_the_journal_tells_of_validation(tmp_path):
    path = tmp_path / "journal.jsonl"
    lines = [
        {"step": 1, "epoch": 0.5, "loss": 3.0},
        {"step": 2, "epoch": 1, "validation": 0.2, "validation_ndcg": 0.1},
        {"step": 3, "epoch": 2, "validation": 0.4},  # of a journal that told of recall alone
        {"step": 4, "epoch": 3, "validation": 0.5, "validation_ndcg": 0.3, "phase": "second"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = Course.read(path)
    assert found is not None
    assert found.epochs == (1.0, 3.0)
    assert found.values == {"Recall@100": (0.2, 0.5), "nDCG@10": (0.1, 0.3)}
    path.write_text(json.dumps(lines[0]) + "\n")
    assert Course.read(path) is None
    assert Course.read(tmp_path / "nowhere.jsonl") is None


def test_the_best_epoch_is_the_first_of_equals():
    assert COURSE.best("Recall@100") == (2.0, 0.5)
    assert COURSE.best("nDCG@10") == (2.0, 0.3)


def test_a_course_outlives_its_run(tmp_path):
    kept = Kept(tmp_path)
    assert kept.find_course("rars-1f") is None
    kept.put_course("rars-1f", COURSE)
    kept.put_course("rars-1f", Course((9.0,), {"Recall@100": (0.0,), "nDCG@10": (0.0,)}))
    assert kept.find_course("rars-1f") == COURSE, "what is kept is not written over"
    assert Kept().find_course("rars-1f") is None


@pytest.mark.parametrize(
    "text", ['{"epochs": [1]}', "[]", '{"epochs": [1], "Recall@100": [0.1, 0.2], "nDCG@10": [0.1]}']
)
def test_what_is_no_course_is_one_sentence(tmp_path, text):
    (tmp_path / "rars-1f").mkdir()
    (tmp_path / "rars-1f" / "course.json").write_text(text)
    with pytest.raises(RarsError, match=r"course.json does not hold the course of a training\.$"):
        Kept(tmp_path).find_course("rars-1f")
