"""A large folder is read once and then trusted; whatever is done to a file of it, it is read again."""

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


def test_what_was_found_whole_is_not_read_again(folder, read):
    opened(folder)
    assert sorted(read) == ["few.npy", "many.npy"]
    read.clear()
    assert opened(folder).array("few").tolist() == [0, 1, 2]
    assert not read


@pytest.mark.parametrize(("setting", "value"), [("LARGE", 100_000), ("_SETTLED", 60.0)])
def test_what_is_small_or_changed_a_moment_ago_is_always_read(
    folder, read, monkeypatch, setting, value
):
    """A second change within the same tick of the clock would not show."""
    monkeypatch.setattr(checked, setting, value)
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
    with pytest.raises(RarsError, match="its digest does not match"):
        opened(folder)
    with pytest.raises(RarsError, match="its digest does not match"):
        opened(folder)  # a failure is not remembered


def test_another_file_in_its_place_is_read(folder, read):
    opened(folder)
    shutil.copy2(folder / "few.npy", folder / "other")
    (folder / "other").replace(folder / "few.npy")
    read.clear()
    opened(folder)
    assert len(read) == 2


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
    checked.remember("another")
    assert [one.name for one in (tmp_path / "cache" / "checked").iterdir()] == ["another"]


def test_one_finding_is_not_another(folder):
    """That digests are right says nothing about what the files mean."""
    artifact = opened(folder)
    assert checked.known(artifact.mark("digests"))
    assert not checked.known(artifact.mark("index"))
