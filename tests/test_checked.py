"""A large file is read once and then trusted; whatever is done to it, it is read again."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from rars import artifacts, checked, disk
from rars.errors import RarsError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checked, "LARGE", 1000)
    monkeypatch.setattr(checked, "_SETTLED", 0.0)
    with artifacts.writing(tmp_path / "numbers", kind="numbers") as draft:
        draft.save_array("many", np.arange(1000))
        draft.save_array("few", np.arange(3))
    return tmp_path / "numbers"


@pytest.fixture
def read(monkeypatch):
    """The files that were read for their digests."""
    listed, digest = [], disk.digest_file

    def digest_file(path):
        listed.append(path.name)
        return digest(path)

    monkeypatch.setattr(disk, "digest_file", digest_file)
    return listed


def opened(folder):
    return artifacts.opening(folder, kind="numbers")


def shared(folder):
    """Another folder that shares the large file."""
    with artifacts.writing(folder.parent / "shared", kind="numbers") as draft:
        draft.link(folder, "many.npy")
    return folder.parent / "shared"


def test_a_large_file_that_was_found_whole_is_not_read_again(folder, read):
    opened(folder)
    assert sorted(read) == ["few.npy", "many.npy"]
    read.clear()
    assert opened(folder).array("few").tolist() == [0, 1, 2]
    assert read == ["few.npy"]


def test_what_was_changed_a_moment_ago_is_always_read(folder, read, monkeypatch):
    """A second change within the same tick of the clock would not show."""
    monkeypatch.setattr(checked, "_SETTLED", 60.0)
    for _ in range(2):
        read.clear()
        opened(folder)
        assert len(read) == 2


@pytest.mark.parametrize("name", ["many.npy", "few.npy"])
def test_a_changed_byte_is_found_even_with_the_old_time(folder, name):
    opened(folder)
    path = folder / name
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):  # a failure is not remembered
        with pytest.raises(RarsError, match="its digest does not match"):
            opened(folder)


def test_another_file_in_its_place_is_read(folder, read):
    opened(folder)
    shutil.copy2(folder / "many.npy", folder / "other")
    (folder / "other").replace(folder / "many.npy")
    read.clear()
    opened(folder)
    assert "many.npy" in read


def test_a_further_name_changes_nothing_of_what_is_known(folder, read):
    """The file system says that a file changed when it got a hard link."""
    opened(folder)
    read.clear()
    second = shared(folder)
    for one in (folder, second):
        opened(one)
    assert "many.npy" not in read
    (second / "many.npy").write_bytes(b"0" * (folder / "many.npy").stat().st_size)
    with pytest.raises(RarsError, match="its digest does not match"):
        opened(folder)


def test_a_further_name_says_nothing_of_a_file_that_nobody_checked(folder, read):
    opened(shared(folder))
    assert "many.npy" in read


def test_a_further_name_for_a_file_written_a_moment_ago_says_nothing(folder, read, monkeypatch):
    opened(folder)
    monkeypatch.setattr(checked, "_SETTLED", 60.0)
    read.clear()
    opened(shared(folder))
    assert "many.npy" in read


def test_without_a_place_for_a_cache_everything_is_read(folder, read, monkeypatch):
    monkeypatch.setattr(checked.places, "cache_folder", lambda: folder / "few.npy")
    for _ in range(2):
        read.clear()
        opened(folder)
        assert len(read) == 2


def test_what_was_not_opened_for_months_is_forgotten(folder, tmp_path):
    opened(folder)
    [kept] = (tmp_path / "cache" / "checked").iterdir()
    os.utime(kept, (0, 0))
    checked.remember(checked.Mark("another"))
    assert [one.name for one in (tmp_path / "cache" / "checked").iterdir()] == ["another"]


def test_that_content_is_whole_does_not_say_that_it_means_something(folder):
    mark = opened(folder).mark("index")
    assert not checked.known(mark)
    checked.remember(mark)
    assert checked.known(opened(folder).mark("index"))
    assert not checked.known(opened(folder).mark("tree"))
    with artifacts.writing(folder.parent / "other", kind="numbers") as draft:
        draft.save_array("many", np.arange(1001))
    assert not checked.known(opened(folder.parent / "other").mark("index"))
