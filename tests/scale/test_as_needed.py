"""Other processes help where work turns out to be long, and nobody has to say so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rars.scale import AS_NEEDED, as_needed, memory
from rars.scale import cores as machine

from . import work

HERE = os.getpid()


@pytest.fixture
def cores(monkeypatch):
    """So many are free, and there is memory for as many processes."""

    def chosen(count):
        monkeypatch.setattr(machine, "free", lambda used: count)
        monkeypatch.setattr(as_needed, "_rooms", lambda: 100)

    chosen(4)
    return chosen


@pytest.fixture
def eager(monkeypatch):
    """Starting a process costs nothing."""
    monkeypatch.setattr(as_needed, "START", 0.0)


def numbers(count):
    return ({"number": number} for number in range(count))


def processes_of(found):
    """Who computed the squares, which come in order."""
    values, processes = zip(*found, strict=True)
    assert list(values) == [number * number for number in range(len(values))]
    return processes


def test_short_work_is_done_here(cores):
    assert set(processes_of(AS_NEEDED.map(work.square, numbers(20), 20))) == {HERE}


def test_long_work_is_shared_after_the_first_call_has_shown_it(cores, eager):
    cores(2)
    first, *others = processes_of(AS_NEEDED.map(work.square, numbers(9), 9))
    assert first == HERE
    assert HERE not in others
    assert 1 <= len(set(others)) <= 2


@pytest.mark.parametrize("calls", [0, 1])
def test_nobody_is_started_for_what_is_done(cores, eager, calls):
    found = AS_NEEDED.map(work.square, numbers(calls), calls)
    assert {process for _, process in found} <= {HERE}


def test_work_whose_end_nobody_knows_is_done_here(cores, eager):
    assert set(processes_of(AS_NEEDED.map(work.square, numbers(9)))) == {HERE}


def test_a_busy_machine_is_left_alone(cores, eager):
    cores(1)
    assert set(processes_of(AS_NEEDED.map(work.square, numbers(9), 9))) == {HERE}


def test_who_has_said_how_many_threads_is_heard(monkeypatch):
    monkeypatch.setattr(as_needed, "_rooms", lambda: 100)
    for said, expected in (("1", 1), ("3", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert AS_NEEDED.workers == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.0, 1), (10.0, 1), (10.6, 1), (10.7, 4), (1000.0, 4)]
)
def test_processes_are_started_where_they_save_more_than_their_start(cores, seconds, expected):
    """Of 4 processes each does a quarter: 3/4 of the work is saved, for the 8 s of a start."""
    assert AS_NEEDED.share(seconds) == expected


@pytest.mark.parametrize(("busy", "starts"), [(1.0, True), (1.3, True), (1.8, False), (2.1, False)])
def test_work_that_uses_the_cores_by_itself_is_left_to_it(cores, monkeypatch, busy, starts):
    """Of two cores nearly two are at work: more processes would cost their start and save nothing."""
    cores(2)
    clock = [0.0]
    monkeypatch.setattr(as_needed.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(as_needed.time, "process_time", lambda: busy * clock[0])
    monkeypatch.setattr(as_needed, "Local", lambda workers: Helpers(workers))
    started = []

    class Helpers:
        def __init__(self, workers):
            started.append(workers)

        def map(self, function, calls):
            return (function(**call) for call in calls)

    def slow(number):
        clock[0] += 10.0
        return number

    assert list(AS_NEEDED.map(slow, numbers(20), 20)) == list(range(20))
    assert started == ([2] if starts else [])


def test_there_is_memory_for_each(monkeypatch):
    monkeypatch.setattr(machine, "free", lambda used: 4)
    monkeypatch.setattr(memory, "peak", lambda: 1 << 20)
    assert AS_NEEDED.workers == 4
    monkeypatch.setattr(memory, "peak", lambda: 1 << 60)
    assert AS_NEEDED.workers == (1 if Path("/proc/meminfo").exists() else 4)


def test_results_that_nobody_wants_any_more_leave_nobody_behind(cores, eager):
    cores(2)
    found = AS_NEEDED.map(work.square, numbers(50), 50)
    next(found)
    _, other = next(found)
    found.close()
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)
