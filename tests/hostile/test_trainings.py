"""A training on a small and odd catalogue is refused before anything is learned, or found and measured."""

from __future__ import annotations

from tests.hostile import trainings
from tests.hostile.case import hunt


def test_what_is_begun_is_finished(tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    assert hunt(trainings.cases, seed=6, seconds=60, most=8)
