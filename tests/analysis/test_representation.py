"""The probe fits a fresh tree head to a frozen encoder, and leaves the run as it was."""

from __future__ import annotations

import json
import math

import pytest

from rars import artifacts
from rars.analysis.representation import probe


def test_a_fresh_head_learns_from_the_encoder_and_the_own_head_is_read_from_the_journal(run_of):
    run = run_of("rars")
    before = artifacts.opening(run.folder / "model", kind="retriever").digest
    seen = []
    found = probe(run, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2, 2)
    lines = [json.loads(line) for line in (run.folder / "journal.jsonl").read_text().splitlines()]
    last = [line["tree"] for line in lines if line["epoch"] > 1]
    assert found.own == pytest.approx(sum(last) / len(last))
    assert 0 < found.train < math.log(16) * 3
    assert found.validation is not None
    assert found.as_dict()["run"] == str(run.folder)
    assert artifacts.opening(run.folder / "model", kind="retriever").digest == before


def test_a_run_without_a_tree_head_has_none_of_its_own(run_of):
    found = probe(run_of("base"))
    assert found.own is None
    assert found.train > 0
