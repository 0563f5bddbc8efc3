"""Small models get one thread, large ones what others leave; who has said how many is heard."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from rars.scale import cores, threads
from rars.scale.products import _libraries

from . import work

LARGE = 10 * threads.SMALL


@pytest.fixture
def machine(monkeypatch):
    """A machine of eight cores with a load, on which nobody has said anything."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(cores, "present", lambda: 8)
    monkeypatch.setattr(cores.time, "process_time", lambda: 0.0)

    def loaded(load):
        monkeypatch.setattr(cores.os, "getloadavg", lambda: (load, 0.0, 0.0))

    loaded(0.0)
    return loaded


def test_a_small_model_gets_one_thread_however_idle_the_machine_is(machine):
    found = threads.chosen(1_000_000)
    assert found.threads == 1
    assert found.sentence.startswith("1 thread, because the model is small")


@pytest.mark.parametrize(("load", "expected"), [(0.0, 8), (0.4, 8), (2.6, 5), (8.0, 1), (30.0, 1)])
def test_a_large_model_gets_the_cores_that_others_leave(machine, load, expected):
    machine(load)
    found = threads.chosen(LARGE)
    assert found.threads == expected
    assert bool(found.why) == (expected < 8), "nothing is said of what would be so anyway"


def test_our_own_minutes_are_not_the_load_of_others(machine, monkeypatch):
    machine(1.0)
    monkeypatch.setattr(cores.time, "process_time", lambda: 600.0)
    assert threads.chosen(LARGE).threads == 8


def test_work_that_goes_on_keeps_what_it_began_with(machine):
    machine(8.0)
    assert threads.chosen(LARGE, kept=5).threads == 5


@pytest.mark.parametrize(("said", "expected"), [("3", 3), ("4,2", 4), ("many", 1), ("0", 1)])
def test_who_has_said_how_many_is_heard(machine, monkeypatch, said, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    for weights, kept in ((1, None), (LARGE, None), (LARGE, 7)):
        found = threads.chosen(weights, kept=kept)
        assert (found.threads, found.why) == (expected, "")


def test_a_system_without_loads_is_one_without_others(machine, monkeypatch):
    def none():
        raise OSError

    monkeypatch.setattr(cores.os, "getloadavg", none)
    assert threads.chosen(LARGE).threads == 8


def test_the_number_is_set_while_the_block_runs():
    before = torch.get_num_threads()
    with threads.working(threads.Choice(before + 1)):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    assert threads.weights(torch.nn.Linear(3, 2)) == 8


def test_numpy_has_one_where_the_model_has_one():
    """A second one would take a core while small products are made, and save nothing."""
    with _libraries().limit(limits=2):
        with threads.working(threads.Choice(1)):
            assert work.threads_of_products() == 1
        for count in (2, 3):
            with threads.working(threads.Choice(count)):
                assert work.threads_of_products() == 2
        assert work.threads_of_products() == 2


def test_blocks_within_blocks_and_in_several_threads_leave_the_number_as_it_was():
    """A thread of Python's that came while another was inside would have kept the other's number."""
    before = torch.get_num_threads()
    usual = before + 3
    torch.set_num_threads(usual)
    first_is_inside, second_is_done = threading.Event(), threading.Event()
    seen = []

    def second():
        first_is_inside.wait(30)
        with threads.working(threads.Choice(1)):
            seen.append(torch.get_num_threads())
            with threads.working(threads.Choice(2)):
                seen.append(torch.get_num_threads())
            seen.append(torch.get_num_threads())
        seen.append(torch.get_num_threads())
        second_is_done.set()

    other = threading.Thread(target=second)
    other.start()
    try:
        with threads.working(threads.Choice(1)):
            first_is_inside.set()
            assert second_is_done.wait(30)
            assert torch.get_num_threads() == 1
        other.join()
        assert seen == [1, 2, 1, usual]
        assert torch.get_num_threads() == usual
        third = []
        late = threading.Thread(target=lambda: third.append(torch.get_num_threads()))
        late.start()
        late.join()
        assert third == [usual]
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def three_free(monkeypatch):
    monkeypatch.setattr(cores, "free", lambda used: 3)


def test_parts_are_spread_over_the_free_cores_and_each_has_one_thread(three_free):
    everybody, seen = threading.Barrier(3, timeout=30), []

    def part(number):
        everybody.wait()  # would break if fewer than three were at work together
        seen.append((number, torch.get_num_threads(), work.threads_of_products()))

    threads.on_free_cores(part, range(6))
    assert sorted(seen) == [(number, 1, 1) for number in range(6)]


def test_one_part_alone_and_those_of_a_gpu_are_done_as_they_come(three_free):
    before, seen = torch.get_num_threads(), []

    def part(number):
        seen.append((number, threading.current_thread(), torch.get_num_threads()))

    threads.on_free_cores(part, [0])
    threads.on_free_cores(part, [1, 2], "cuda")
    threads.on_free_cores(part, [])
    assert seen == [(number, threading.current_thread(), before) for number in range(3)]


def test_as_many_at_a_time_as_cores_are_free_and_one_on_a_gpu(monkeypatch):
    """What is expected of a GPU must not be divided by cores that it does not use."""
    monkeypatch.setattr(cores, "free", lambda used: 3)
    assert threads.at_a_time() == 3
    assert threads.at_a_time("cuda") == 1


def test_what_fails_ends_the_rest_and_leaves_the_number_as_it_was(three_free):
    before, done = torch.get_num_threads(), []

    def part(number):
        done.append(number)
        if number == 1:
            raise KeyError(number)
        time.sleep(0.05)

    with pytest.raises(KeyError):
        threads.on_free_cores(part, range(200))
    assert len(done) < 100
    assert torch.get_num_threads() == before
