"""A folder on disk is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rars import artifacts
from rars.errors import RarsError

KIND = "example"


def write(folder, value):
    with artifacts.writing(folder, kind=KIND) as draft:
        if isinstance(value, Exception):
            raise value
        draft.save_array("values", np.full(1000, value))
        draft.meta["value"] = value


def test_a_written_folder_opens_with_its_facts(tmp_path):
    write(tmp_path / "a", 3)
    found = artifacts.opening(tmp_path / "a", kind=KIND)
    assert found.meta["value"] == 3
    assert (found.array("values") == 3).all()


def test_an_error_while_writing_leaves_the_old_folder(tmp_path):
    write(tmp_path / "a", 1)
    with pytest.raises(RarsError, match="finite"):
        write(tmp_path / "a", RarsError("not finite"))
    assert artifacts.opening(tmp_path / "a", kind=KIND).meta["value"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(artifacts.Draft, "save_array", full)
    with pytest.raises(RarsError, match="could not be written: no space left on device"):
        write(tmp_path / "a", 1)
    assert not list(tmp_path.iterdir())


# -- replacing -------------------------------------------------------------------------------------


def snapshot(folder):
    """Every name below a folder, what it leads to, its bytes and when it was changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        lead = str(path.readlink()) if path.is_symlink() else None
        found[str(path)] = (known.st_mode, known.st_mtime_ns, lead, content)
    return found


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
    artifacts.write_text(tmp_path / "text", "through")
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


def test_reading_changes_nothing_on_disk(tmp_path):
    for value in (1, 2):
        write(tmp_path / "a", value)
        before = snapshot(tmp_path)
        artifacts.opening(tmp_path / "a", kind=KIND).array("values").sum()
        assert snapshot(tmp_path) == before


WRITER = """
import sys, numpy as np
from pathlib import Path
from rars import artifacts
artifacts._sync = lambda folder: None
artifacts.os.fsync = lambda descriptor: None
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


# -- full disks ------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(line, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def filled(draft):
    np.save(draft.folder / "filler.npy", np.zeros(10))
    draft.save_array("values", np.zeros(10**6))


def mapped(draft):
    draft.map_array("values", np.float32, (10**6,))[:] = 1


def tensors(draft):
    import safetensors.numpy

    safetensors.numpy.save_file({"w": np.zeros(10**6)}, draft.folder / "w.safetensors")


def parquet(draft):
    import pyarrow as pa
    import pyarrow.parquet as pq

    noise = np.random.default_rng(0).integers(0, 2**60, 10**6)
    pq.write_table(pa.table({"x": noise}), draft.folder / "x.parquet")


@pytest.mark.parametrize("make", [filled, mapped, tensors, parquet])
def test_a_disk_without_room_is_one_sentence_and_costs_nothing(small_disk, make):
    write(small_disk / "a", 1)
    before = snapshot(small_disk)
    for name in ("a", "new/b"):
        with (
            pytest.raises(RarsError, match=r"could not be written: no space left on device\.$"),
            artifacts.writing(small_disk / name, kind=KIND) as draft,
        ):
            make(draft)
        assert snapshot(small_disk).keys() == before.keys()
    assert artifacts.opening(small_disk / "a", kind=KIND).meta["value"] == 1
    write(small_disk / "a", 2)
    assert artifacts.opening(small_disk / "a", kind=KIND).meta["value"] == 2


def test_a_text_without_room_leaves_the_old_one(small_disk):
    artifacts.write_text(small_disk / "t", "old")
    with pytest.raises(RarsError, match="t could not be written: no space left on device"):
        artifacts.write_text(small_disk / "t", "new" * 10**6)
    assert [p.name for p in small_disk.iterdir()] == ["t"]
    assert (small_disk / "t").read_text() == "old"


@pytest.mark.parametrize("failing", ["fsync", "write_array"])
def test_room_that_runs_out_at_the_last_moment_leaves_the_old_folder(
    tmp_path, monkeypatch, failing
):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    write(tmp_path / "a", 1)
    where = artifacts.os if failing == "fsync" else np.lib.format
    with monkeypatch.context() as patch:
        patch.setattr(where, failing, full)
        with pytest.raises(RarsError, match="no space left on device"):
            write(tmp_path / "a", 2)
    assert artifacts.opening(tmp_path / "a", kind=KIND).meta["value"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"manifest.json", "values.npy"}


# -- what is refused -------------------------------------------------------------------------------


def test_a_folder_of_something_else_is_never_replaced(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.tex").write_text("years of work")
    with pytest.raises(RarsError, match="not a rars example"):
        write(tmp_path / "a", 1)
    assert (tmp_path / "a" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "values.npy").unlink(), "values.npy is missing"),
        (lambda f: (f / "values.npy").write_bytes(b"x"), "has 1 bytes"),
        (lambda f: (f / "manifest.json").write_text("{"), "not readable JSON"),
        (lambda f: (f / "manifest.json").unlink(), "has no manifest.json"),
    ],
)
def test_damage_is_named(tmp_path, damage, words):
    write(tmp_path / "a", 1)
    damage(tmp_path / "a")
    with pytest.raises(RarsError, match=words):
        artifacts.opening(tmp_path / "a", kind=KIND)


def test_another_kind_is_refused(tmp_path):
    write(tmp_path / "a", 1)
    with pytest.raises(RarsError, match="describes 'example', not a tree"):
        artifacts.opening(tmp_path / "a", kind="tree")


def test_sigkill_at_any_moment_leaves_a_whole_folder(tmp_path):
    code = (
        "import sys, numpy as np\nfrom pathlib import Path\nfrom rars import artifacts\n"
        "print('go', flush=True)\n"
        "for value in range(10**6):\n"
        "    with artifacts.writing(Path(sys.argv[1]), kind='example') as draft:\n"
        "        draft.save_array('values', np.full(1000, value)); draft.meta['value'] = value\n"
    )
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "a")], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        time.sleep(float(rng.uniform(0.05, 0.2)))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        found = artifacts.opening(tmp_path / "a", kind=KIND)
        assert (found.array("values") == found.meta["value"]).all()
        seen.add(found.meta["value"])
    assert seen
    write(tmp_path / "a", 1)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]  # drafts of the killed are swept away


def test_a_shared_file_keeps_its_digest_and_is_not_read_again(tmp_path, monkeypatch):
    with artifacts.writing(tmp_path / "old", kind=KIND) as draft:
        draft.save_array("large", np.arange(5))
    read, digest = [], artifacts.digest_file
    monkeypatch.setattr(
        artifacts, "digest_file", lambda path: read.append(path.name) or digest(path)
    )
    with artifacts.writing(tmp_path / "new", kind=KIND) as draft:
        draft.link(tmp_path / "old", "large.npy")
        draft.save_array("small", np.arange(2))
        with artifacts.writing(draft.folder / "part", kind="part") as inner:
            inner.save_array("own", np.arange(3))
    assert sorted(read) == ["manifest.json", "own.npy", "small.npy"]
    assert artifacts.opening(tmp_path / "new", kind=KIND).array("large").tolist() == [0, 1, 2, 3, 4]
    assert (tmp_path / "new/large.npy").samefile(tmp_path / "old/large.npy")


def test_damage_of_a_shared_file_is_not_sealed_anew(tmp_path):
    with artifacts.writing(tmp_path / "old", kind=KIND) as draft:
        draft.save_array("large", np.arange(5))
    path = tmp_path / "old/large.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with artifacts.writing(tmp_path / "new", kind=KIND) as draft:
        draft.link(tmp_path / "old", "large.npy")
    with pytest.raises(RarsError, match="has changed since it was written"):
        artifacts.opening(tmp_path / "new", kind=KIND)


def test_a_file_called_manifest_in_a_part_is_a_file_like_any_other(tmp_path):
    with artifacts.writing(tmp_path / "a", kind=KIND) as draft:
        (draft.folder / "model").mkdir()
        (draft.folder / "model/manifest.json").write_text('{"of": "somebody else"}')
    assert artifacts.opening(tmp_path / "a", kind=KIND).folder == tmp_path / "a"
