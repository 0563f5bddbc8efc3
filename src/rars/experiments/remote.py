"""Tasks on the nodes of a Ray cluster.

Owns: one Ray task a run: it starts the same child that a run has on one machine, on a node that has a core
free, and looks after it. If the node is lost, Ray starts the task elsewhere, and the child goes on from the
last checkpoint. Ignores which tasks there are and when they may start (``processes``).

Nodes see the folders of the experiment under the same paths: locks, logs, checkpoints and results are files
there. A child ends with whoever looks after it, so a run has one child, wherever it is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from rars.scale.cluster import connected, task_options
from rars.scale.cores import THREADS

RETRIES = 10
"""How many nodes a run may lose."""
_TICK = 0.2


class Nodes:
    """Starts commands on the nodes of the cluster of ``RAY_ADDRESS``."""

    @cached_property
    def _ray(self) -> Any:
        return connected()

    def __call__(self, command: Sequence[str], log: Path, threads: str) -> RemoteProcess:
        """A command that adds to a log."""
        stop = log.with_suffix(".stop")
        stop.unlink(missing_ok=True)
        # One core each, however many threads: what a node has is then shared as its jobs are.
        start = self._ray.remote(look_after).options(**task_options(RETRIES))
        return RemoteProcess(
            self._ray, start.remote(list(command), str(log), str(stop), threads), stop
        )


class RemoteProcess:
    """A command that runs somewhere."""

    def __init__(self, ray: Any, reference: Any, stop: Path) -> None:
        self._ray, self._reference, self._stop = ray, reference, stop

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        ready, _ = self._ray.wait([self._reference], timeout=0)
        return self._code() if ready else None

    def terminate(self) -> None:
        """Ask it to save and end: whoever looks after it sees the file."""
        self._stop.touch()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once there is one."""
        ready, _ = self._ray.wait([self._reference], timeout=timeout)
        if not ready:
            raise subprocess.TimeoutExpired("a task of the cluster", timeout or 0.0)
        return self._code()

    def kill(self) -> None:
        """End it."""
        self._ray.cancel(self._reference, force=True)

    def _code(self) -> int:
        try:
            return int(self._ray.get(self._reference))
        except self._ray.exceptions.RayError:
            return -int(signal.SIGKILL)  # lost more nodes than it may, or ended by us


def look_after(command: Sequence[str], log: str, stop: str, threads: str) -> int:
    """Run a command on this node; its exit code. It is asked to end when the file ``stop`` appears."""
    environment = {**os.environ, **dict.fromkeys(THREADS, threads)}
    with Path(log).open("ab") as stream:
        stream.write(f"$ {' '.join(command)}\n".encode())
        stream.flush()
        child = subprocess.Popen(
            [*command, str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
        )
    asked = False
    while (code := child.poll()) is None:
        if not asked and Path(stop).exists():
            asked = True
            child.terminate()
        time.sleep(_TICK)
    Path(stop).unlink(missing_ok=True)
    return code
