"""A folder that cannot be written is said before the work; a cache without a place is temporary."""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import pytest

from rars import Dataset, artifacts, disk, places
from rars.errors import RarsError, RarsWarning

MUGS = Dataset.of([{"id": "a", "title": "mug"}], [{"id": "q", "text": "mug"}])


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    (tmp_path / "file").touch()
    (tmp_path / "inside" / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../file", "is a file"),
        ("../file/deep/down", "file is a file"),
        ("loop", "it is a link that leads nowhere"),
        ("loop/x", "loop leads nowhere"),
        ("n" * 250, "has 250 bytes"),
        ("é" * 120, "has 240 bytes"),
        ("n" * 300 + "/x", "has 300 bytes"),
        (".", "is the folder you are in"),
        ("..", "is the folder you are in"),
        ("", "cannot be called ''"),
        ("a\0b", "cannot be called"),
        ("/", "choose a folder below it"),
        ("\ud800", "cannot be written"),
        (5, "must be given as text or a path, not int"),
        (None, "not NoneType"),
        (b"x", "not bytes"),
    ],
)
def test_a_target_that_cannot_be_is_one_sentence(here, name, words):
    for write in (MUGS.save, lambda folder: artifacts.writing(folder, kind="x").__enter__()):
        with pytest.raises(RarsError, match=words) as caught:
            write(name)
        assert "\n" not in str(caught.value)
    assert sorted(path.name for path in here.iterdir()) == ["file", "inside"]


def test_a_read_only_target_is_one_sentence(tmp_path, monkeypatch):
    tmp_path.chmod(0o500)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)  # root may do all
    with pytest.raises(RarsError, match=f"{tmp_path} is read-only"):
        MUGS.save(tmp_path / "a" / "b")


def test_what_the_system_refuses_is_one_sentence(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(RarsError, match="could not be written: permission denied"):
        MUGS.save(tmp_path / "a")
    with pytest.raises(RarsError, match="could not be written: permission denied"):
        disk.write_text(tmp_path / "b" / "c.json", "{}")


@pytest.fixture
def no_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("RARS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    places._temporary.cache_clear()
    (tmp_path / "file").touch()
    return monkeypatch, tmp_path


def test_the_cache_is_where_users_expect_it(no_cache):
    patch, home = no_cache
    assert places.cache_folder() == home / ".cache" / "rars"
    patch.setenv("XDG_CACHE_HOME", str(home / "other"))
    assert places.cache_folder() == home / "other" / "rars"
    patch.setenv("RARS_CACHE", "~/mine")
    assert places.cache_folder() == home / "mine"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOME", "/dev/null"),
        ("HOME", ""),
        ("XDG_CACHE_HOME", "/dev/null"),
        ("XDG_CACHE_HOME", "{home}/file/x"),
        ("RARS_CACHE", "/dev/null/x"),
        ("RARS_CACHE", "~nobody-of-this-name/x"),
        ("RARS_CACHE", "n" * 300),
    ],
)
def test_without_a_place_the_cache_is_temporary_and_says_so_once(no_cache, variable, value):
    patch, home = no_cache
    patch.setenv(variable, value.format(home=home))
    with pytest.warns(RarsWarning, match="Nothing is kept for the next time"):
        folder = places.cache_folder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert places.cache_folder() == folder
    (folder / "x").mkdir()


def test_a_home_that_is_unset_is_looked_up(no_cache):
    patch, _ = no_cache
    patch.delenv("HOME")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert places.cache_folder().is_absolute()


def test_without_any_place_there_is_one_sentence(no_cache):
    import tempfile

    patch, _ = no_cache

    def refused(*_, **__):
        raise FileNotFoundError("No usable temporary directory found")

    patch.setenv("HOME", "/dev/null")
    patch.setattr(tempfile, "mkdtemp", refused)
    with pytest.raises(RarsError, match="set RARS_CACHE to a folder"):
        places.cache_folder()


def test_a_folder_that_another_process_makes_meanwhile_is_no_file(tmp_path):
    """Whether something is there and whether it is a folder is one question, not two."""
    names = [tmp_path / f"{number:04d}" for number in range(3000)]
    other = threading.Thread(target=lambda: [name.mkdir() for name in names])
    other.start()
    for name in names:
        while not name.exists():
            places.target(name / "shard")
    other.join()
