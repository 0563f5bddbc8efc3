"""Several processes of this machine.

Owns: the pool: which process has which call, what is done when one is lost, and their end. Ignores the work.

The processes are started anew (``rars.scale.worker``), not forked: libraries with threads of their own do not
survive a fork. Each has its share of the cores. One that dies loses its call alone; another takes it up.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from rars.errors import RarsError
from rars.scale.cores import THREADS, usable_cores
from rars.scale.engine import AHEAD, TRIES, Call, End, lost, opened


@dataclass(frozen=True)
class Local:
    """So many processes."""

    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise RarsError(f"--workers {self.workers} is less than 1.")

    def share(self, seconds: float) -> int:
        """All of them, whatever it is."""
        return self.workers

    def map(
        self, function: Callable[..., Any], calls: Iterable[Call], count: int | None = None
    ) -> Iterator[Any]:
        """The results, in order."""
        pool = _Pool(function, iter(calls), self.workers)
        try:
            yield from pool.results()
        finally:
            pool.end()


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    line: Connection
    number: int | None = None
    """The call it is busy with."""


@dataclass
class _Pool:
    function: Callable[..., Any]
    calls: Iterator[Call]
    size: int
    crew: list[_Worker] = field(default_factory=list)
    begun: dict[int, Call] = field(default_factory=dict)
    """Calls that are not done."""
    again: list[int] = field(default_factory=list)
    """Those of them that lost their process."""
    tries: dict[int, int] = field(default_factory=dict)
    found: dict[int, Any] = field(default_factory=dict)
    """Results whose turn has not come."""
    drawn: int = 0
    given: int = 0

    def results(self) -> Iterator[Any]:
        """Hand out what is to do, take in what is done."""
        while True:
            self._hand_out()
            if not self.begun:
                return
            self._take_in()
            while self.given in self.found:
                yield self.found.pop(self.given)
                self.given += 1

    def end(self) -> None:
        """Nobody is left behind; what was begun and not done is given up."""
        for worker in self.crew:
            worker.line.close()
            if worker.number is not None:
                worker.process.kill()
        for worker in self.crew:
            worker.process.wait()

    def _hand_out(self) -> None:
        while (number := self._next()) is not None:
            idle = next((one for one in self.crew if one.number is None), None)
            if idle is None:
                if len(self.crew) == self.size:
                    self.again.insert(0, number)
                    return
                idle = self._hired()
            idle.number = number
            with suppress(OSError):  # a process that is gone is seen by whoever waits for it
                idle.line.send((self.function, self.begun[number]))

    def _next(self) -> int | None:
        """A call to make: one that was lost, or the next one, as long as not too many wait."""
        if self.again:
            return self.again.pop(0)
        if all(one.number is not None for one in self.crew) and len(self.crew) == self.size:
            return None
        if self.drawn - self.given >= AHEAD * self.size:
            return None
        call = next(self.calls, None)
        if call is None:
            return None
        number, self.drawn = self.drawn, self.drawn + 1
        self.begun[number] = call
        return number

    def _take_in(self) -> None:
        """Wait for somebody's answer, or somebody's end: its line is closed then."""
        busy = {one.line: one for one in self.crew if one.number is not None}
        for line in wait(list(busy)):
            worker = busy[line]  # type: ignore[index]  # lines are all that was waited for
            try:
                end: End = worker.line.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            assert worker.number is not None
            self.found[worker.number] = opened(end)
            del self.begun[worker.number]
            worker.number = None

    def _bury(self, worker: _Worker) -> None:
        code = worker.process.wait()
        self.crew.remove(worker)
        worker.line.close()
        assert worker.number is not None
        tries = self.tries[worker.number] = self.tries.get(worker.number, 0) + 1
        if tries >= TRIES:
            raise lost(worker.number, _how(code))
        self.again.append(worker.number)

    def _hired(self) -> _Worker:
        ours, theirs = Pipe()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rars.scale.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # ours may be a result that a program reads
            env=os.environ | dict.fromkeys(THREADS, _share_of_cores(self.size)),
        )
        theirs.close()
        with suppress(OSError):
            ours.send(sys.path)
        worker = _Worker(process, ours)
        self.crew.append(worker)
        return worker


def _share_of_cores(workers: int) -> str:
    """Threads of each process; who has said how many is heard."""
    return os.environ.get(THREADS[0]) or str(max(1, usable_cores() // workers))


def _how(code: int) -> str:
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"it ended with code {code}"
