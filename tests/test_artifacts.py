"""A folder on disk is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rars import artifacts, disk
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


def snapshot(folder):
    """Every name below a folder, what it leads to, its bytes and when it was changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        lead = str(path.readlink()) if path.is_symlink() else None
        found[str(path)] = (known.st_mode, known.st_mtime_ns, lead, content)
    return found


def test_reading_changes_nothing_on_disk(tmp_path):
    for value in (1, 2):
        write(tmp_path / "a", value)
        before = snapshot(tmp_path)
        artifacts.opening(tmp_path / "a", kind=KIND).array("values").sum()
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("sizes", [[], [0], [3], [0, 7, 0, 1], [9] * 1200])
def test_an_array_in_blocks_is_to_the_byte_that_of_one_piece(tmp_path, sizes):
    whole = np.arange(sum(sizes), dtype=np.uint16)
    with artifacts.writing(tmp_path / "a", kind=KIND) as draft:
        draft.save_array("whole", whole)
        draft.stream_array("blocks", np.uint16, np.split(whole, np.cumsum(sizes)))
    one, other = (tmp_path / "a" / f"{name}.npy" for name in ("whole", "blocks"))
    assert one.read_bytes() == other.read_bytes()


# -- full disks ------------------------------------------------------------------------------------


def filled(draft):
    np.save(draft.folder / "filler.npy", np.zeros(10))
    draft.save_array("values", np.zeros(10**6))


def mapped(draft):
    draft.map_array("values", np.float32, (10**6,))[:] = 1


def streamed(draft):
    draft.stream_array("values", np.float32, (np.ones(10**5) for _ in range(10)))


def tensors(draft):
    import safetensors.numpy

    safetensors.numpy.save_file({"w": np.zeros(10**6)}, draft.folder / "w.safetensors")


def parquet(draft):
    import pyarrow as pa
    import pyarrow.parquet as pq

    noise = np.random.default_rng(0).integers(0, 2**60, 10**6)
    pq.write_table(pa.table({"x": noise}), draft.folder / "x.parquet")


@pytest.mark.parametrize("make", [filled, mapped, streamed, tensors, parquet])
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


@pytest.mark.parametrize("failing", ["fsync", "write_array"])
def test_room_that_runs_out_at_the_last_moment_leaves_the_old_folder(
    tmp_path, monkeypatch, failing
):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    write(tmp_path / "a", 1)
    where = disk.os if failing == "fsync" else np.lib.format
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
        "for value in range(10**6):\n"
        "    with artifacts.writing(Path(sys.argv[1]), kind='example') as draft:\n"
        "        draft.save_array('values', np.full(1000, value)); draft.meta['value'] = value\n"
        "    print('written', flush=True)\n"
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
    read, digest = [], disk.digest_file
    monkeypatch.setattr(disk, "digest_file", lambda path: read.append(path.name) or digest(path))
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
