"""How many cores others are busy on."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from rars.scale import cores


def test_how_busy_others_are_is_seen_while_they_are():
    """The load of a minute would tell of them when they have gone."""
    if cores._so_far() is None:
        pytest.skip("this system does not say how busy its cores are")
    busy = "import time\nend = time.perf_counter() + 30\nwhile time.perf_counter() < end: pass"
    with subprocess.Popen([sys.executable, "-c", busy]) as other:
        watch = cores.Watch()
        time.sleep(1.0)
        found = watch.others()
        other.kill()
    assert 0.3 < found < cores.usable_cores() + 0.2


def test_our_own_work_is_not_that_of_others(monkeypatch):
    readings = iter([(10.0, 100.0, 3.0), (12.0, 103.0, 5.0)])
    monkeypatch.setattr(cores, "_so_far", lambda: next(readings))
    # In two seconds the cores were busy for three, of which two are ours.
    assert cores.Watch().others() == 0.5


def test_where_the_system_says_nothing_it_is_the_load(monkeypatch):
    monkeypatch.setattr(cores, "others", lambda: 2.5)
    monkeypatch.setattr(cores, "_so_far", lambda: None)
    assert cores.Watch().others() == 2.5
    monkeypatch.setattr(cores, "_so_far", lambda: (1.0, 2.0, 3.0))
    assert cores.Watch().others() == 2.5, "no time has passed"


def test_who_has_said_how_many_threads_is_heard_and_others_are_not_asked(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert cores.free(lambda: 1 / 0) == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(cores, "present", lambda: 8)
    assert [cores.free(lambda: used) for used in (0.0, 0.4, 2.6, 8.0, 30.0)] == [8, 8, 5, 1, 1]  # noqa: B023
