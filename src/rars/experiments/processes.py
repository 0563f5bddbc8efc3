"""Tasks in child processes: each folder is made once, by one process at a time; a stop loses nothing.

Owns: starting, watching and stopping the children, and their logs. Ignores what a task does
(``rars.experiments.tasks``).

The child holds the lock of its folder (``rars.experiments.worker``), so it goes on alone if this process is
killed, and two experiments can share runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rars import locks
from rars.errors import RarsError, Stopped
from rars.experiments.tasks import UNAVAILABLE, Task
from rars.scale.cores import THREADS, usable_cores

__all__ = ["Failure", "State", "Watch", "run_all", "usable_cores"]

WORKER = (sys.executable, "-P", "-m", "rars.experiments.worker")
"""The command of a child; the file of its task follows."""

_TICK = 0.1
_PATIENCE = 60.0
"""Seconds a stopped child may take to save what it has."""


@dataclass(frozen=True)
class Failure:
    """A task that did not end well, the last thing it said, and where the rest is."""

    name: str
    why: str
    log: Path
    unavailable: bool = False
    """Whether it needs what cannot be had here, such as the weights of a model."""

    def __str__(self) -> str:
        return f"{self.name} ({self.why.rstrip('.')}; see {self.log})"


@dataclass(frozen=True)
class State:
    """Where the work stands."""

    done: int
    total: int
    running: tuple[str, ...]
    failed: int


Watch = Callable[[State], None]


class Process(Protocol):
    """A started task, as ``subprocess.Popen`` shows one, wherever it runs."""

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""

    def terminate(self) -> None:
        """Ask it to save and end."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once there is one."""

    def kill(self) -> None:
        """End it."""


Launch = Callable[[Sequence[str], Path, str], Process]
"""Starts a command that adds to a log, with so many threads."""


def run_all(
    tasks: Sequence[Task], jobs: int, watch: Watch | None = None, engine: str = "local"
) -> list[Failure]:
    """Do all tasks, ``jobs`` at a time; a failed one does not stop the others.

    With the ``engine`` ray they run on the nodes of a cluster, and go on elsewhere if a node is lost. Ctrl-C
    and SIGTERM end the children first and then raise ``Stopped``.
    """
    if jobs < 1:
        raise RarsError(f"--jobs {jobs} is less than 1.")
    launch: Launch = _here
    if engine == "ray":
        from rars.experiments.remote import Nodes

        launch = Nodes()
    elif engine != "local":
        raise RarsError(f"--engine {engine!r} is unknown; choose local or ray.")
    pool = _Pool(list(tasks), jobs, watch, launch)
    try:
        with _terminable():
            pool.go()
    except KeyboardInterrupt as error:
        raise Stopped("stopped; all that was done is kept, the same command goes on.") from error
    finally:
        pool.end()
    return pool.failures


@dataclass
class _Child:
    task: Task
    process: Process


@dataclass
class _Pool:
    waiting: list[Task]
    jobs: int
    watch: Watch | None
    launch: Launch
    running: list[_Child] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    failed: dict[Path, Failure] = field(default_factory=dict)
    lacking: dict[tuple[str, ...], Failure] = field(default_factory=dict)
    """Weights that could not be had."""
    done: int = 0

    def go(self) -> None:
        """Start what can start, look after what runs, until nothing is left."""
        total = len(self.waiting)
        while self.waiting or self.running:
            self._start()
            self._look()
            if self.watch is not None:
                names = tuple(child.task.name for child in self.running)
                self.watch(State(self.done, total, names, len(self.failures)))
            if self.waiting or self.running:
                time.sleep(_TICK)

    def end(self) -> None:
        """Ask the children to stop, wait until they have saved, and kill those that do not."""
        for child in self.running:
            if child.process.poll() is None:
                child.process.terminate()
        until = time.monotonic() + _PATIENCE
        for child in self.running:
            try:
                child.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
        self.running.clear()

    def _start(self) -> None:
        for task in list(self.waiting):
            if len(self.running) >= self.jobs:
                return
            unmade = {one.folder for one in self.waiting} | {c.task.folder for c in self.running}
            missing = next((self.failed[one] for one in task.needs if one in self.failed), None)
            missing = missing or self.lacking.get(task.weights)
            if missing is not None:
                self.waiting.remove(task)
                gone = missing.unavailable
                why = missing.why if gone else "what it needs could not be made"
                self._fail(task, why, unavailable=gone)
            elif not unmade & set(task.needs) and _free(task.folder):
                # While another process works in the folder, the tasks behind have their turn.
                self.waiting.remove(task)
                self.running.append(_Child(task, self._launch(task)))

    def _look(self) -> None:
        for child in list(self.running):
            code = child.process.poll()
            if code is None:
                continue
            self.running.remove(child)
            if code == 0:
                self.done += 1
            else:
                why = _last_words(child.task.log, code)
                self._fail(child.task, why, unavailable=code == UNAVAILABLE)

    def _fail(self, task: Task, why: str, *, unavailable: bool = False) -> None:
        failure = Failure(task.name, why, task.log, unavailable)
        self.failures.append(failure)
        self.failed[task.folder] = failure
        if unavailable and task.weights:
            self.lacking[task.weights] = failure

    def _launch(self, task: Task) -> Process:
        # Several experiments may share a machine: who says how many threads each run gets is heard.
        threads = os.environ.get(THREADS[0]) or str(max(1, usable_cores() // self.jobs))
        return self.launch([*WORKER, str(task.write())], task.log, threads)


def _here(command: Sequence[str], log: Path, threads: str) -> subprocess.Popen[bytes]:
    """A child of this process."""
    environment = {**os.environ, **dict.fromkeys(THREADS, threads)}
    with log.open("ab") as stream:
        stream.write(f"$ {' '.join(command)}\n".encode())
        stream.flush()
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=environment
        )


def _free(folder: Path) -> bool:
    """Whether nobody works in a folder; who comes in between is waited for by the child."""
    return locks.is_free(folder)


def _last_words(log: Path, code: int) -> str:
    if code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.startswith("$ ")]
    last = said[-1].removeprefix("rars: ") if said else ""
    return last or f"it ended with code {code}"


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
