"""Commands in parallel processes: each thing is made once, by one process at a time; a stop loses nothing.

Owns: starting, watching and stopping child processes, their logs, and the lock that keeps two experiments
from working in one folder. Ignores what the commands do.

The lock of a folder is an open file that the children inherit: it is held as long as one of them lives, even
if this process was killed. Whoever comes next waits for them and then finds their work done.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rars.errors import RarsError, Stopped

_TICK = 0.1
_PATIENCE = 60.0
"""Seconds a stopped child may take to save what it has."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """Something to make in ``folder``: commands, asked for when its turn comes, and the folders it needs."""

    name: str
    folder: Path
    commands: Callable[[], Iterable[list[str]]]
    needs: tuple[Path, ...] = ()

    @property
    def log(self) -> Path:
        """What the commands said."""
        return self.folder.with_name(f"{self.folder.name}.log")


@dataclass(frozen=True)
class Failure:
    """A task that did not end well, the last thing it said, and where the rest is."""

    name: str
    why: str
    log: Path

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


def usable_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(tasks: Sequence[Task], jobs: int, watch: Watch | None = None) -> list[Failure]:
    """Do all tasks, ``jobs`` at a time; a failed one does not stop the others.

    Ctrl-C and SIGTERM end the children first and then raise ``Stopped``.
    """
    if jobs < 1:
        raise RarsError(f"--jobs {jobs} is less than 1.")
    pool = _Pool(list(tasks), jobs, watch)
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
    commands: Iterator[list[str]]
    lock: IO[str]
    process: subprocess.Popen[bytes] | None = None


@dataclass
class _Pool:
    waiting: list[Task]
    jobs: int
    watch: Watch | None
    running: list[_Child] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    failed: set[Path] = field(default_factory=set)
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
            if child.process is not None and child.process.poll() is None:
                child.process.terminate()
        until = time.monotonic() + _PATIENCE
        for child in self.running:
            if child.process is not None:
                try:
                    child.process.wait(max(0.0, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    child.process.kill()
                    child.process.wait()
            child.lock.close()
        self.running.clear()

    def _start(self) -> None:
        for task in list(self.waiting):
            if len(self.running) >= self.jobs:
                return
            unmade = {one.folder for one in self.waiting} | {c.task.folder for c in self.running}
            if self.failed & set(task.needs):
                self.waiting.remove(task)
                self._fail(task, "what it needs could not be made")
            elif not unmade & set(task.needs):
                lock = _locked(task.folder)
                if (
                    lock is not None
                ):  # otherwise another process works in the folder: look again later
                    self.waiting.remove(task)
                    self.running.append(_Child(task, iter(task.commands()), lock))

    def _look(self) -> None:
        for child in list(self.running):
            if child.process is not None:
                code = child.process.poll()
                if code is None:
                    continue
                if code != 0:
                    self._finish(child)
                    self._fail(child.task, _last_words(child.task.log, code))
                    continue
            command = next(child.commands, None)
            if command is None:
                self._finish(child)
                self.done += 1
            else:
                child.process = self._launch(child, command)

    def _finish(self, child: _Child) -> None:
        self.running.remove(child)
        child.lock.close()

    def _fail(self, task: Task, why: str) -> None:
        self.failures.append(Failure(task.name, why, task.log))
        self.failed.add(task.folder)

    def _launch(self, child: _Child, command: list[str]) -> subprocess.Popen[bytes]:
        # Several experiments may share a machine: who says how many threads each run gets is heard.
        threads = os.environ.get(_THREADS[0]) or str(max(1, usable_cores() // self.jobs))
        environment = {**os.environ, **dict.fromkeys(_THREADS, threads)}
        with child.task.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=(child.lock.fileno(),),
            )


def _locked(folder: Path) -> IO[str] | None:
    """The folder's lock, or None while another process holds it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        stream = folder.with_name(f".{folder.name}.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise RarsError(f"{folder.parent} cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return None
    return stream


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
