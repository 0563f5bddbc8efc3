"""Whatever a command line holds, it is done, or refused with nothing changed."""

from __future__ import annotations

from tests.hostile import commands
from tests.hostile.case import hunt


def test_a_command_is_done_or_refused_and_every_folder_stays_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    assert hunt(commands.cases, seed=4, seconds=60, most=40)
