"""A training says what it will take when its first steps have shown it, once, and no sooner."""

from __future__ import annotations

import pytest

from rars.pipeline.outlook import SHOWN, Outlook
from tests.saying import Said


class Clock:
    """A step takes so long."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def said_of(steps: int, seconds: float) -> list[str]:
    said = Said()
    outlook = Outlook(said, "rars", weights=1_000_000, clock=Clock(seconds))
    for step in range(steps):
        outlook({"progress": (step + 0.5) / steps, "memory_mb": 800.0})
    assert len(said.notes) == steps
    return said.lines


def test_a_long_training_is_foreseen_once():
    """600 steps of two seconds; four of them are seen before it is said."""
    assert said_of(600, 2.0) == ["Expected: about 20 minutes, 839 MB of memory, 28 MB of disk."]


def test_a_training_of_seconds_says_nothing():
    assert said_of(4, (SHOWN - 1) / 4) == []


@pytest.mark.parametrize("steps", [2, 3])
def test_few_long_steps_are_enough(steps):
    [line] = said_of(steps, 100.0)
    assert line.startswith(f"Expected: about {['50 s', '2 minutes'][steps - 2]}")
