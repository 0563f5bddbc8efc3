"""What is said before long work grows with the work, is shared by workers, and names what is needed."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.scale import cost, memory

STAGES = [name for name in cost.coefficients() if name != "probe"]


@given(st.sampled_from(STAGES), st.floats(1, 1e7), st.floats(1, 10), st.integers(1, 64))
def test_more_work_costs_no_less_and_more_workers_cost_no_more(name, amount, more, workers):
    one = cost.stage(name, amount)
    larger = cost.stage(name, amount * more)
    spread = cost.stage(name, amount, workers=workers)
    assert one.seconds <= larger.seconds
    assert one.memory <= larger.memory
    assert one.disk <= larger.disk
    assert spread.seconds <= one.seconds
    assert spread.seconds >= one.seconds / workers
    assert cost.stage(name, amount, at_once=amount / more).memory <= one.memory


def test_stages_follow_one_another():
    both = cost.Cost(1, 500e6, 3e6) + cost.Cost(200, 200e6, 4e6)
    assert both == cost.Cost(201, 500e6, 7e6)
    assert both.sentence(2.0) == ("Expected: about 7 minutes, 500 MB of memory, 7 MB of disk.")
    assert both.as_dict(2.0) == {"seconds": 402, "memory": 500_000_000, "disk": 7_000_000}


def test_this_machine_is_as_slow_as_its_probe_says():
    assert cost.probe(clock=iter(range(100)).__next__) == 1.0
    assert cost.slowness() > 0


def test_a_machine_that_others_use_is_watched_for_longer():
    """The first probes may meet nothing but the turns of others: three in five here, one in ten later."""
    usual = cost.coefficients()["probe"]["seconds"]
    assert cost.slowness(lambda: 3 * usual) == pytest.approx(3)
    turns = iter([16, 1, 16, 16, 1])
    seen = []

    def probed():
        time.sleep(0.005)
        seen.append(usual * (next(turns, None) or (11 if len(seen) % 10 == 0 else 1)))
        return seen[-1]

    assert cost.slowness(probed) < 5
    assert len(seen) > 15


def test_the_peak_is_that_of_the_hungriest_process():
    hungry = "print(len(bytearray(300_000_000)))"
    subprocess.run([sys.executable, "-c", hungry], check=True, capture_output=True)
    assert memory.peak() > 300_000_000


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: not enough memory: you tried ...")]
)
def test_a_full_memory_is_known_however_it_is_said(error):
    assert memory.ran_out(error)
    assert not memory.ran_out(RuntimeError("shapes do not match"))
