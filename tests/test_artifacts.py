"""A folder on disk is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import os
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
    with pytest.raises(RarsError, match="could not be written: No space left on device"):
        write(tmp_path / "a", 1)
    assert not list(tmp_path.iterdir())


def test_a_kill_between_the_two_renames_is_undone(tmp_path):
    write(tmp_path / "a", 1)
    (tmp_path / "a").rename(tmp_path / ".a.previous")  # what a kill in the middle of a swap leaves
    assert artifacts.opening(tmp_path / "a", kind=KIND).meta["value"] == 1
    write(tmp_path / "a", 2)
    assert artifacts.opening(tmp_path / "a", kind=KIND).meta["value"] == 2


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
