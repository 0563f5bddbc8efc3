"""A stage of minutes says so once, as soon as it is clear, and a short one never does."""

from __future__ import annotations

import pytest

from rars.progress import Forecast


def told(*counts):
    """What a forecast says after each (second, done, total)."""
    now = [0.0]
    forecast, found = Forecast(clock=lambda: now[0]), []
    for second, done, total in counts:
        now[0] = second
        found.append(forecast.left(done, total))
    return found


def test_the_rest_is_reckoned_from_what_was_done_since_the_first_count():
    """Ten of a hundred in five seconds: ninety more take forty-five, which is not worth a word."""
    assert told((0.0, 0, 100), (5.0, 10, 100)) == [None, None]
    assert told((3.0, 20, 100), (9.0, 22, 100)) == [None, pytest.approx(6 / 2 * 78)]


def test_it_is_told_once_and_not_before_it_is_clear():
    found = told((0.0, 0, 1000), (4.9, 1, 1000), (6.0, 2, 1000), (60.0, 20, 1000))
    assert found == [None, None, pytest.approx(6 / 2 * 998), None]


def test_nothing_done_says_nothing():
    assert told((0.0, 5, 100), (100.0, 5, 100)) == [None, None]


def test_another_stretch_has_a_speed_of_its_own():
    slow = [(0.0, 0, 100), (10.0, 1, 100)]
    quick = [(10.0, 0, 5000), (16.0, 600, 5000)]
    assert told(*slow, *quick) == [None, pytest.approx(990), None, None]
