"""Tasks on two real Ray nodes: as on one machine, and a lost node's task goes on elsewhere."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from rars.errors import Stopped
from rars.experiments import processes
from rars.experiments.processes import run_all
from tests.experiments.test_processes import ODD_JOBS, task
from tests.scale.clusters import NEEDS_RAY, two_nodes


@NEEDS_RAY
def test_two_nodes_one_killed_in_the_middle(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "WORKER", ODD_JOBS)
    slow = [tmp_path / name for name in ("a", "b")]
    wrong, later = tmp_path / "wrong", tmp_path / "later"
    with two_nodes(tmp_path) as (cluster, second):
        alive = [second]

        def watch(state):
            begun = [one.with_name(f"{one.name}.log") for one in slow]
            if alive and all(log.exists() for log in begun):
                cluster.remove_node(alive.pop(), allow_graceful=False)

        tasks = [
            *(task(one, seconds=4.0) for one in slow),
            task(wrong, "fail", why="it is broken."),
            task(later, needs=slow),
        ]
        failures = run_all(tasks, 2, watch, engine="ray")
        assert not alive
        assert [(one.name, one.why) for one in failures] == [("wrong", "it is broken.")]
        assert all(one.exists() for one in (*slow, later))
        starts = [log.read_text().count("$ ") for log in tmp_path.glob("?.log")]
        assert sorted(starts) == [1, 2]  # the one that lost its node was begun again
        _stopped_work_is_saved(tmp_path / "long")


def _stopped_work_is_saved(folder):
    def stop():
        while not folder.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(Stopped):
        run_all([task(folder, "save")], 1, engine="ray")
    assert folder.with_suffix(".saved").exists()
