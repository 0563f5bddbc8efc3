"""What a killed loop kept is found again, by the same work and no other, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress

import torch

from rars import unfinished
from rars.unfinished import Unfinished


def work(cache, made_of="this", seconds=0.0):
    return Unfinished.of("test", made_of, cache=cache, seconds=seconds)


def left(cache, value, made_of="this"):
    """A state that was kept by a process that then died."""
    with suppress(KeyboardInterrupt), work(cache, made_of) as kept:
        kept.keep({"step": value}, weights={"a": torch.full((3,), float(value))})
        raise KeyboardInterrupt


def folders(cache):
    home = cache / "unfinished"
    return [path.name for path in home.iterdir()] if home.exists() else []


def test_the_last_state_of_the_same_work_is_found(tmp_path):
    left(tmp_path, 1)
    left(tmp_path, 2)
    with work(tmp_path) as kept:
        state = kept.found()
    assert state.facts["step"] == 2
    assert state.parts["weights"]["a"].tolist() == [2.0, 2.0, 2.0]


def test_other_work_finds_nothing_of_it(tmp_path):
    left(tmp_path, 1)
    with work(tmp_path, "another") as kept:
        assert kept.found() is None
    with work(tmp_path) as kept:
        assert kept.found() is not None


def test_work_that_is_done_leaves_nothing(tmp_path):
    left(tmp_path, 1)
    with work(tmp_path) as kept:
        kept.keep({}, weights={"a": torch.zeros(1)})
    assert folders(tmp_path) == []


def test_a_damaged_state_counts_as_absent(tmp_path):
    left(tmp_path, 1)
    [file] = (tmp_path / "unfinished").rglob("weights.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with work(tmp_path) as kept:
        assert kept.found() is None


def test_nothing_is_kept_where_no_place_was_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    with Unfinished() as kept:
        kept.keep({"step": 1}, weights={"a": torch.zeros(1)})
        assert kept.found() is None
        assert not kept.due
    assert not (tmp_path / "cache").exists()


def test_a_state_is_due_after_its_time_and_keeping_takes_a_small_share(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(unfinished.time, "monotonic", lambda: now[0])
    with work(tmp_path, seconds=60.0) as kept:
        assert not kept.due
        now[0] += 60
        assert kept.due
        monkeypatch.setattr(kept, "folder", tmp_path / "unfinished" / "slow")
        real = unfinished.artifacts.writing

        def slowly(*call, **options):
            now[0] += 30
            return real(*call, **options)

        monkeypatch.setattr(unfinished.artifacts, "writing", slowly)
        kept.keep({}, weights={"a": torch.zeros(1)})
        now[0] += 300  # a twentieth of the time: 30 seconds of keeping need 600
        assert not kept.due
        now[0] += 300
        assert kept.due


def test_a_second_process_at_the_same_work_disturbs_nobody(tmp_path):
    left(tmp_path, 1)
    code = (
        "import sys, torch; from pathlib import Path; from rars.unfinished import Unfinished\n"
        "with Unfinished.of('test', 'this', cache=Path(sys.argv[1]), seconds=0.0) as kept:\n"
        "    assert kept.found() is None and not kept.due\n"
        "    kept.keep({'step': 7}, weights={'a': torch.zeros(1)})\n"
    )
    with work(tmp_path) as kept:
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        assert kept.found().facts["step"] == 1


def test_of_several_processes_that_work_together_the_first_keeps_it(tmp_path, monkeypatch):
    left(tmp_path, 1)
    monkeypatch.setenv("RANK", "1")
    with work(tmp_path) as kept:
        kept.keep({"step": 2}, weights={"a": torch.zeros(1)})
        assert not kept.due
    monkeypatch.delenv("RANK")
    with work(tmp_path) as kept:
        assert kept.found().facts["step"] == 1


def test_a_full_disk_does_not_end_the_work(tmp_path, monkeypatch):
    def full(path, named):
        raise OSError(28, "No space left on device")

    with work(tmp_path) as kept:
        monkeypatch.setattr("rars.tensors.write", full)
        kept.keep({"step": 1}, weights={"a": torch.zeros(1)})
        assert not kept.due
    assert folders(tmp_path) == []


def test_what_nobody_went_on_with_goes_after_two_weeks(tmp_path):
    for name in ("old", "young"):
        left(tmp_path, 1, name)
    old = tmp_path / "unfinished" / work(tmp_path, "old").folder.name
    before = time.time() - 15 * 24 * 3600
    os.utime(old, (before, before))
    with work(tmp_path, "third"):
        pass
    assert folders(tmp_path) == [work(tmp_path, "young").folder.name]
