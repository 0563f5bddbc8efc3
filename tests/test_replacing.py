"""Content takes the place of content in one step, with readers in it; what is not ours is left alone."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np

from rars import artifacts, disk
from tests.test_artifacts import KIND, write


def test_names_that_people_read_lead_to_the_newest_content(tmp_path):
    for value in range(4):
        with artifacts.writing(tmp_path / "a", kind=KIND) as draft:
            draft.save_array("values", np.full(3, value))
            if value % 2:
                (draft.folder / "part").mkdir()
                (draft.folder / "part" / "odd.txt").write_text(str(value))
        assert (np.load(tmp_path / "a" / "values.npy") == value).all()
        assert (tmp_path / "a" / "part" / "odd.txt").exists() == bool(value % 2)
        names = {p.name for p in (tmp_path / "a").iterdir() if not p.name.startswith(".")}
        assert names == {"manifest.json", "values.npy"} | ({"part"} if value % 2 else set())
    assert len(list((tmp_path / "a").glob(".v*"))) == 1  # versions do not pile up


def test_a_folder_behind_a_link_is_written_through_it(tmp_path):
    """`rars data shop mine` where mine is a link to another disk used to brick the dataset."""
    write(tmp_path / "disk" / "mine", 1)
    (tmp_path / "mine").symlink_to("disk/mine")
    for value in (2, 3):
        write(tmp_path / "mine", value)
        assert (tmp_path / "mine").is_symlink()
        for place in (tmp_path / "mine", tmp_path / "disk" / "mine"):
            assert artifacts.opening(place, kind=KIND).meta["value"] == value
    (tmp_path / "text").symlink_to("disk/text")
    disk.write_text(tmp_path / "text", "through")
    assert (tmp_path / "disk" / "text").read_text() == "through"
    assert (tmp_path / "text").is_symlink()


def test_a_replaced_folder_can_be_moved_and_copied(tmp_path):
    write(tmp_path / "a", 1)
    write(tmp_path / "a", 2)
    shutil.copytree(tmp_path / "a", tmp_path / "followed")
    shutil.copytree(tmp_path / "a", tmp_path / "copied", symlinks=True)
    (tmp_path / "a").rename(tmp_path / "moved")
    for name in ("followed", "copied", "moved"):
        assert artifacts.opening(tmp_path / name, kind=KIND).meta["value"] == 2
        write(tmp_path / name, 3)
        assert artifacts.opening(tmp_path / name, kind=KIND).meta["value"] == 3
        assert (np.load(tmp_path / name / "values.npy") == 3).all()


def test_what_a_reader_has_open_stays_until_it_is_done(tmp_path):
    write(tmp_path / "a", 0)
    for value in range(1, 4):
        found = artifacts.opening(tmp_path / "a", kind=KIND)
        mapped = found.array("values")
        write(tmp_path / "a", value)
        write(tmp_path / "a", value)
        assert (
            found.array("values") == value - 1
        ).all()  # opened after the folder was replaced twice
        folder = found.folder
        del found
        write(tmp_path / "a", value)
        assert folder == tmp_path / "a" or not folder.exists()
        assert (mapped == value - 1).all()


def test_files_that_people_put_into_a_folder_are_left_alone(tmp_path):
    write(tmp_path / "a", 1)
    (tmp_path / "a" / "notes.txt").write_text("mine")
    write(tmp_path / "a", 2)
    write(tmp_path / "a", 3)
    assert (tmp_path / "a" / "notes.txt").read_text() == "mine"


WRITER = """
import sys, numpy as np
from pathlib import Path
from rars import artifacts, disk
disk.sync = lambda folder: None
disk.os.fsync = lambda descriptor: None
for value in range(1, 1001):
    with artifacts.writing(Path(sys.argv[1]), kind="example") as draft:
        for part in range(4):
            draft.save_array(f"values{part}", np.full(50, value))
        draft.meta["value"] = value
"""


def test_readers_see_the_old_or_the_new_while_a_folder_is_replaced_a_thousand_times(tmp_path):
    with artifacts.writing(tmp_path / "a", kind=KIND) as draft:
        for part in range(4):
            draft.save_array(f"values{part}", np.full(50, 0))
        draft.meta["value"] = 0
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "a")])
    seen, kept = [0], []
    while writer.poll() is None:
        found = artifacts.opening(tmp_path / "a", kind=KIND)
        value = found.meta["value"]
        arrays = [found.array(f"values{part}") for part in range(4)]
        assert all((array == value).all() for array in arrays)
        assert value >= seen[-1]
        seen.append(value)
        if len(kept) < 20:
            kept.append((value, arrays))
    assert writer.wait() == 0
    assert artifacts.opening(tmp_path / "a", kind=KIND).meta["value"] == 1000
    assert len(set(seen)) > 20
    for value, arrays in kept:
        assert all((array == value).all() for array in arrays)
