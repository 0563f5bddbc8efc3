"""The journal survives a kill in the middle of a line and tells of one uninterrupted run."""

from __future__ import annotations

import sys

import pytest

from rars.errors import RarsError
from rars.training.journal import Journal, read


def test_lines_after_the_checkpoint_are_forgotten(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, 0)
    for step in (1, 2, 3):
        journal.write(step=step, loss=float(step))
    journal.close()
    again = Journal(path, 2)
    again.write(step=3, loss=0.5)
    again.close()
    assert [(line["step"], line["loss"]) for line in read(path)] == [(1, 1.0), (2, 2.0), (3, 0.5)]


def test_a_line_cut_short_by_a_kill_is_ignored(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    assert [line["step"] for line in read(path)] == [1]
    Journal(path, 5).close()
    assert path.read_text() == '{"step": 1, "loss": 2.0}\n'


def test_tensorboard_that_is_not_installed_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RarsError, match="pip install"):
        Journal(tmp_path / "journal.jsonl", 0, board=True)
