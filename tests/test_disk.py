"""A file is the old one or the new one; what a killed writer left goes, what a living one has stays."""

from __future__ import annotations

import fcntl

import pytest

from rars import disk
from rars.errors import RarsError


def test_a_text_without_room_leaves_the_old_one(small_disk):
    disk.write_text(small_disk / "t", "old")
    with pytest.raises(RarsError, match="t could not be written: no space left on device"):
        disk.write_text(small_disk / "t", "new" * 10**6)
    assert [p.name for p in small_disk.iterdir()] == ["t"]
    assert (small_disk / "t").read_text() == "old"


def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not(tmp_path):
    killed, living, other = (tmp_path / f".{name}.1-0.partial" for name in ("t", "t.json", "u"))
    for path in (killed, living, other):
        path.write_text("half")
    claim = disk.claimed(living, fcntl.LOCK_EX)
    disk.write_text(tmp_path / "t", "whole")
    disk.write_text(tmp_path / "t.json", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"t", "t.json", living.name, other.name}
    disk.let(claim)
    disk.write_text(tmp_path / "t.json", "whole")
    assert not living.exists()
    assert other.exists(), "of another file"


def test_in_a_draft_the_folder_s_writer_tells_what_went_wrong(tmp_path):
    full = OSError(28, "No space left on device")
    with pytest.raises(RarsError, match="t could not be written: no space left on device"):
        disk.fail(tmp_path / "t", full)
    with pytest.raises(OSError, match="No space left"):
        disk.fail(disk.unique(tmp_path / "folder") / "part" / "t", full)


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "does not exist"), ("{", "not readable JSON"), ("[" * 10**5, "nested")],
)
def test_json_that_cannot_be_read_is_one_sentence(tmp_path, text, words):
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    with pytest.raises(RarsError, match=words):
        disk.read_json(tmp_path / "a.json")
