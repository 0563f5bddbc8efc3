"""Processes: limits, order, failures, locks and stopping, with commands of a few milliseconds."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from rars.errors import Stopped
from rars.experiments.running import Task, _locked, run_all


def python(code, *words):
    return [sys.executable, "-c", code, *map(str, words)]


def task(folder, code="", needs=(), name=None):
    return Task(name or folder.name, folder, lambda: [python(code, folder)], tuple(needs))


MAKE = "import sys, pathlib; pathlib.Path(sys.argv[1]).mkdir()"


def test_what_is_needed_is_made_first_and_failures_stop_only_what_needs_them(tmp_path):
    a, b, c, d = (tmp_path / name for name in "abcd")
    needs_a = (
        "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.with_name('a').rmdir(); p.mkdir()"
    )
    wrong = "import sys; print('rars: it is broken.', file=sys.stderr); sys.exit(2)"
    tasks = [task(b, needs_a, [a]), task(a, MAKE), task(c, wrong), task(d, MAKE, [c])]
    seen = []
    failures = run_all(tasks, 2, lambda state: seen.append((state.done, state.total)))
    assert b.exists()
    assert [(one.name, one.why) for one in failures] == [
        ("c", "it is broken."),
        ("d", "what it needs could not be made"),
    ]
    assert str(tmp_path / "c.log") in str(failures[0])
    assert not d.exists()
    assert seen[-1] == (2, 4)


THREADS = "import os, sys, time; open(sys.argv[1], 'w').write(os.environ['OMP_NUM_THREADS']); time.sleep(.2)"


def test_no_more_than_jobs_run_at_a_time_and_threads_are_shared(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    running = []
    tasks = [task(tmp_path / f"t{at}", THREADS) for at in range(4)]
    run_all(tasks, 2, lambda state: running.append(len(state.running)))
    assert max(running) == 2
    assert (tmp_path / "t0").read_text() == str(max(1, len(os.sched_getaffinity(0)) // 2))


def test_threads_that_the_user_chose_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    run_all([task(tmp_path / "t", THREADS)], 1)
    assert (tmp_path / "t").read_text() == "7"


def test_a_folder_another_process_works_in_is_waited_for(tmp_path):
    folder = tmp_path / "shared"
    lock = _locked(folder)
    assert lock is not None
    assert _locked(folder) is None
    asked = []

    def commands():
        asked.append(time.monotonic())
        return []

    released = []

    def release():
        released.append(time.monotonic())
        lock.close()

    timer = threading.Timer(0.5, release)
    timer.start()
    assert run_all([Task("shared", folder, commands)], 1) == []
    timer.join()
    assert asked[0] >= released[0]


def test_a_stop_ends_the_children_first(tmp_path):
    """SIGTERM reaches a child, which may still save, before the parent gives up."""
    code = (
        "import pathlib, signal, sys, time\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "def save(*_):\n    here.with_suffix('.saved').touch()\n    sys.exit(130)\n"
        "signal.signal(signal.SIGTERM, save)\n"
        "here.touch()\n"
        "time.sleep(60)\n"
    )
    folder = tmp_path / "long"
    sent = []

    def watch(state):
        if folder.exists() and not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped, match="goes on"):
        run_all([task(folder, code), task(tmp_path / "next", MAKE, [folder])], 1, watch)
    assert folder.with_suffix(".saved").exists()
    assert not (tmp_path / "next").exists()
    assert signal.getsignal(signal.SIGTERM) == before
