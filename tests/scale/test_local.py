"""Several processes give what one gives, in order, whatever happens to them."""

from __future__ import annotations

import os

import pytest

from rars.errors import RarsError
from rars.scale import AS_NEEDED, INLINE, choose
from rars.scale.engine import AHEAD, TRIES
from rars.scale.local import Local

from . import work


def calls(count):
    return ({"number": number} for number in range(count))


def test_results_come_in_order_from_other_processes():
    found = list(Local(2).map(work.square, calls(9)))
    assert [value for value, _ in found] == [n * n for n in range(9)]
    assert os.getpid() not in {process for _, process in found}
    assert list(Local(2).map(work.slow_for_the_first, calls(5))) == list(range(5))


def test_calls_are_drawn_as_they_are_needed():
    drawn = []

    def each():
        for number in range(100):
            drawn.append(number)
            yield {"number": number}

    results = Local(2).map(work.slow_for_the_first, each())
    next(results)
    assert len(drawn) <= 1 + AHEAD * 2
    results.close()


def test_a_call_that_loses_its_process_is_made_again(tmp_path):
    given = ({"number": number, "marks": tmp_path} for number in range(6))
    assert list(Local(2).map(work.die_once, given)) == list(range(6))


def test_a_call_that_kills_every_process_is_given_up_in_one_sentence():
    with pytest.raises(RarsError, match=rf"lost its process {TRIES} times \(ended by SIGKILL\)"):
        list(Local(2).map(work.die, calls(1)))


def test_what_a_function_refuses_is_raised_here():
    with pytest.raises(RarsError, match="The second one is not to be had"):
        list(Local(2).map(work.refuse, calls(4)))
    with pytest.raises(RuntimeError, match="ZeroDivisionError: of 0"):
        list(Local(2).map(work.break_down, calls(1)))


def test_each_process_has_its_share_of_the_cores(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert list(Local(1).map(work.threads, [{"name": "MKL_NUM_THREADS"}])) == ["3"]


def test_choosing():
    assert choose() is AS_NEEDED
    assert choose("local", 1) is INLINE
    assert choose("local", 2) == Local(2)
    with pytest.raises(RarsError, match="--workers 0 is less than 1"):
        choose("local", 0)
    with pytest.raises(RarsError, match="--engine 'spark' is unknown; choose local or ray"):
        choose("spark")
