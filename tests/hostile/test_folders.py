"""A run that somebody changed is searched or refused in a sentence, and never changed by that."""

from tests.hostile import folders
from tests.hostile.case import hunt


def test_a_tampered_run_is_opened_or_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    assert hunt(folders.cases, seconds=60, most=40)
