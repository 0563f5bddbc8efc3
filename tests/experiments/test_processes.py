"""Processes: limits, order, failures, locks and stopping, with tasks of a few milliseconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rars.errors import Stopped
from rars.experiments import processes
from rars.experiments.processes import run_all
from rars.experiments.tasks import Task

ODD_JOBS = (sys.executable, str(Path(__file__).with_name("odd_jobs.py")))


@pytest.fixture(autouse=True)
def odd_jobs(monkeypatch):
    monkeypatch.setattr(processes, "WORKER", ODD_JOBS)


def task(folder, kind="make", needs=(), **arguments):
    given = arguments if kind in ("fail", "crash", "lack") else {"out": str(folder), **arguments}
    return Task(folder.name, kind, given, folder, tuple(needs))


def test_what_is_needed_is_made_first_and_failures_stop_only_what_needs_them(tmp_path):
    a, b, c, d = (tmp_path / name for name in "abcd")
    tasks = [
        task(b, needs=[a], without=str(a)),
        task(a),
        task(c, "fail", why="it is broken."),
        task(d, needs=[c]),
    ]
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


def test_weights_that_cannot_be_had_are_told_apart_and_asked_for_once(tmp_path):
    first, second, third = (tmp_path / name for name in "abc")
    lacking = [
        Task(one.name, "lack", {"why": "It is nowhere."}, one, weights=("far",))
        for one in (first, second)
    ]
    failures = run_all([*lacking, task(third, needs=[first])], 1)
    assert {(one.name, one.why) for one in failures} == {(n, "It is nowhere.") for n in "abc"}
    assert all(one.unavailable for one in failures)
    assert not second.with_name("b.log").exists()  # never started


def test_a_defect_leaves_its_traceback_in_the_log(tmp_path):
    (failure,) = run_all([task(tmp_path / "t", "crash")], 1)
    assert failure.why == "ValueError: a defect"
    assert "Traceback" in failure.log.read_text()


def test_a_task_of_no_known_kind_is_refused_in_one_sentence(tmp_path):
    (failure,) = run_all([task(tmp_path / "t", "guess")], 1)
    assert "there is no task 'guess'" in failure.why


def test_no_more_than_jobs_run_at_a_time_and_threads_are_shared(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    running = []
    tasks = [task(tmp_path / f"t{at}", "threads") for at in range(4)]
    run_all(tasks, 2, lambda state: running.append(len(state.running)))
    assert max(running) == 2
    assert (tmp_path / "t0").read_text() == str(max(1, len(os.sched_getaffinity(0)) // 2))


def test_threads_that_the_user_chose_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    run_all([task(tmp_path / "t", "threads")], 1)
    assert (tmp_path / "t").read_text() == "7"


def test_a_child_goes_on_alone_and_whoever_comes_next_finds_its_work_done(tmp_path):
    """What a killed experiment leaves behind: a process that holds its folder's lock until it is done."""
    folder, other, done = tmp_path / "shared", tmp_path / "other", tmp_path / "done"
    orphan = subprocess.Popen([*ODD_JOBS, str(task(folder, after=str(done)).write())])
    until = time.monotonic() + 60
    while processes._free(folder) and time.monotonic() < until:
        time.sleep(0.01)
    seen = []

    def watch(state):
        seen.append((folder.exists(), other.exists(), state.running))
        if other.exists():
            done.touch()  # only now does the orphan finish

    assert run_all([task(folder), task(other)], 1, watch) == []
    assert orphan.wait(timeout=20) == 0
    # The folder was left alone, and others had their turn, until the orphan was done.
    assert all(there for there, _, running in seen if "shared" in running)
    assert any(made and not there for there, made, _ in seen)
    assert folder.exists()


def test_a_stop_ends_the_children_first(tmp_path):
    """SIGTERM reaches a child, which may still save, before the parent gives up."""
    folder = tmp_path / "long"
    sent = []

    def watch(state):
        if folder.exists() and not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped, match="goes on"):
        run_all([task(folder, "save"), task(tmp_path / "next", needs=[folder])], 1, watch)
    assert folder.with_suffix(".saved").exists()
    assert not (tmp_path / "next").exists()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_task_survives_its_file_and_its_digest_says_which_call_it_is(tmp_path):
    one = task(tmp_path / "a", seconds=1.0)
    assert Task.read(one.write()) == one
    assert one.digest == Task("other name", "make", one.arguments, tmp_path / "b").digest
    assert one.digest != task(tmp_path / "a", seconds=2.0).digest
    assert one.file != task(tmp_path / "a", seconds=2.0).file
