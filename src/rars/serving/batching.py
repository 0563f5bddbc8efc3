"""Many small questions searched together, without anybody waiting long.

Owns: the queue, which questions are searched at once, who is refused, and when beams become narrower. Ignores
what a question is: a job says what it is of, what it costs in beam rows, and until when.

One thread searches. It takes what waits for the same target, up to a budget of beam rows (queries x width),
as soon as the first of them has waited a moment; a batch is meant to take no more than half of the deadline.
``pressure`` is the larger of two shares: beam rows that wait, of those that may; and the time they will take,
of the deadline. From ``degrade_at`` on the narrower beam is used; at 1, or where a job would come too late,
it is refused. Background jobs go when nothing waits. A deadline is that of whoever asks: the time that a
crowded event loop takes to read a request and to write its answer is taken off it.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rars.serving.refusals import Refused, overloaded
from rars.serving.settings import Settings

_BEAT = 0.05
"""Seconds between two looks at how late the event loop is; what was seen counts half after two seconds."""
_FADING = 0.5 ** (_BEAT / 2)


class Speed:
    """How long a batch of so many beam rows takes: a + b rows, by least squares over the latest batches.

    >>> speed = Speed()
    >>> for rows in (100, 3200, 100, 3200):
    ...     speed.learn(rows, 0.010 + 0.00001 * rows)
    >>> round(speed.of(1600, budget=3200), 3), round(speed.of(6400, budget=3200), 3)
    (0.026, 0.084)
    """

    def __init__(self, memory: float = 0.9) -> None:
        self._memory = memory
        self._sums = [0.0] * 5  # of 1, x, y, xx, xy

    def learn(self, rows: int, seconds: float) -> None:
        """A batch was done."""
        new = (1.0, rows, seconds, rows * rows, rows * seconds)
        self._sums = [self._memory * old + one for old, one in zip(self._sums, new, strict=True)]

    def of(self, rows: int, budget: int) -> float:
        """Seconds that rows will take, cut into batches of at most the budget."""
        batch, each = self._line()
        return -(-rows // budget) * batch + each * rows if rows else 0.0

    def within(self, seconds: float) -> float:
        """How many rows one batch may have to be done in so many seconds."""
        batch, each = self._line()
        return max(0.0, seconds - batch) / each if each else math.inf

    def _line(self) -> tuple[float, float]:
        """Seconds of a batch, and of each of its rows."""
        n, x, y, xx, xy = self._sums
        if not x:
            return 0.0, 0.0
        spread = n * xx - x * x
        # Of batches that were all alike nothing but their mean is known.
        each = max(0.0, (n * xy - x * y) / spread) if spread > 1e-6 * n * xx else y / x
        each = min(each, y / x)
        return max(0.0, (y - each * x) / n), each


@dataclass(eq=False)
class Job:
    """Something to be done by the searching thread.

    ``target``   jobs of equal targets may be done together; ``rows`` is what it costs
    ``timeout``  seconds; ``client`` is whoever asked
    """

    target: Hashable
    asked: Any
    rows: int
    timeout: float
    client: str = ""
    background: bool = False
    entered: float = field(default_factory=time.perf_counter)
    done: asyncio.Future[Any] = field(init=False)


class Work(Protocol):
    """Does a batch of jobs of one target: a result or an exception for each."""

    def __call__(self, target: Hashable, asked: Sequence[Any], *, narrow: bool) -> list[Any]:
        """Called in the searching thread."""


class Watch(Protocol):
    """Who counts what the queue does."""

    def batched(self, queries: int, rows: int, seconds: float, *, narrow: bool) -> None:
        """A batch was done."""

    def shed(self, reason: str) -> None:
        """A job was refused."""


class Batcher:
    """The queue and the one thread that empties it."""

    def __init__(self, work: Work, settings: Settings, watch: Watch) -> None:
        self._work, self._settings, self._watch = work, settings, watch
        self._jobs: deque[Job] = deque()
        self._later: deque[Job] = deque()
        self._clients: Counter[str] = Counter()
        self._rows = 0
        self._running_rows = 0
        self._speed = Speed()
        self._late = False  # whether the last batch had answers that came too late
        self._lag = 0.0  # seconds that the event loop is behind
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="rars-search", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to work; called in the event loop that asks."""
        self._loop = asyncio.get_running_loop()
        self._beat(self._loop.time())
        self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End when what was begun is done; what still waits is refused."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout)

    # -- in the event loop -------------------------------------------------------------------------

    def _beat(self, due: float) -> None:
        """Note how late the loop is: as long a request waited to be read, and its answer will wait."""
        assert self._loop is not None
        self._lag = max(self._loop.time() - due, _FADING * self._lag)
        if not self._stopping:
            due = self._loop.time() + _BEAT
            self._loop.call_at(due, self._beat, due)

    def _patience(self, seconds: float) -> float:
        """What is left of a time limit for waiting and searching; half of it at the least."""
        return max(0.5 * seconds, seconds - 2 * self._lag)

    @property
    def waiting(self) -> int:
        """Jobs that wait."""
        return len(self._jobs) + len(self._later)

    @property
    def waiting_rows(self) -> int:
        """Beam rows that wait."""
        return self._rows

    @property
    def pressure(self) -> float:
        """From 0 (nothing waits) to 1 (nothing more is taken)."""
        shares = (
            self._rows / self._settings.queue_rows,
            1e3 * self._seconds / self._settings.deadline_ms,
        )
        return min(1.0, max(shares))

    def check(self) -> None:
        """Refuse at once where any job would be refused: cheaper than to read what is asked."""
        settings = self._settings
        late = self._seconds > self._patience(settings.deadline_ms / 1e3)
        if self._rows and (late or self._rows >= settings.queue_rows):
            self._refuse("door", "Too many queries are waiting.", self._seconds)

    async def do(self, job: Job) -> Any:
        """The result of a job; ``Refused`` where it cannot be done in time."""
        assert self._loop is not None
        job.done = self._loop.create_future()
        with self._changed:
            self._admit(job)
            (self._later if job.background else self._jobs).append(job)
            if not job.background:
                self._rows += job.rows
                self._clients[job.client] += 1
            self._changed.notify()
        return await job.done

    def _admit(self, job: Job) -> None:
        if self._stopping:
            self._refuse("draining", "The server is stopping.", 1.0)
        if job.background:
            return
        limit = self._settings.client_limit
        if limit and self._clients[job.client] >= limit:
            said = f"This client has {limit} queries waiting already, which is the most."
            self._refuse("client", said, self._seconds)
        if self._rows and self._rows + job.rows > self._settings.queue_rows:
            self._refuse("queue", "Too many queries are waiting.", self._seconds)
        if self._rows and self._seconds > self._patience(job.timeout):
            self._refuse("deadline", "It could not be answered in time.", self._seconds)

    @property
    def _seconds(self) -> float:
        """How long what waits and what runs will take."""
        return self._speed.of(self._rows + self._running_rows, self._settings.batch_rows)

    def _refuse(self, reason: str, message: str, seconds: float) -> None:
        self._watch.shed(reason)
        raise overloaded(message, seconds)

    # -- in the searching thread -------------------------------------------------------------------

    def _run(self) -> None:
        while (cut := self._next()) is not None:
            jobs, narrow = cut
            begun = time.perf_counter()
            try:
                results = self._work(jobs[0].target, [job.asked for job in jobs], narrow=narrow)
            except Exception as error:
                results = [error] * len(jobs)
            taken = time.perf_counter() - begun
            rows = sum(job.rows for job in jobs)
            if not jobs[0].background:
                self._learn(rows, taken)
                self._watch.batched(len(jobs), rows, taken, narrow=narrow)
            self._tell(self._in_time(jobs, results, begun))
        self._tell([(job, self._stopped(), 0.0) for job in (*self._jobs, *self._later)])

    def _in_time(
        self, jobs: Sequence[Job], results: Sequence[Any], begun: float
    ) -> list[tuple[Job, Any, float]]:
        """Each job with its result, or, if its time is over, with that: a late answer is none."""
        now = time.perf_counter()
        self._late = any(now - job.entered > self._patience(job.timeout) for job in jobs)
        told = []
        for job, result in zip(jobs, results, strict=True):
            if now - job.entered > self._patience(job.timeout):
                self._watch.shed("late")
                result = overloaded("It was not answered in time.", self._seconds)
            told.append((job, result, begun - job.entered))
        return told

    def _stopped(self) -> Refused:
        return overloaded("The server is stopping.", 1.0)

    def _learn(self, rows: int, seconds: float) -> None:
        with self._changed:
            self._running_rows = 0
            self._speed.learn(rows, seconds)

    def forget(self) -> None:
        """Begin anew to learn how long a batch takes: the first ones said little."""
        with self._changed:
            self._speed = Speed()

    def _tell(self, done: Sequence[tuple[Job, Any, float]]) -> None:
        assert self._loop is not None
        if done and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_deliver, done)

    def _next(self) -> tuple[list[Job], bool] | None:
        """The next batch; None when there will be none."""
        late: list[Job] = []
        with self._changed:
            while True:
                if self._stopping:
                    return None
                narrow = self.pressure >= self._settings.degrade_at
                now = time.perf_counter()
                late += self._drop_late(now)
                if late:
                    break
                if self._jobs:
                    left = self._settings.wait_ms / 1e3 - (now - self._jobs[0].entered)
                    if left <= 0 or self._rows >= self._settings.batch_rows:
                        return self._cut(), narrow and self._settings.narrow < 1
                    self._changed.wait(left)
                elif self._later:
                    return [self._later.popleft()], False
                else:
                    self._changed.wait()
        for _ in late:
            self._watch.shed("deadline")
        said = overloaded("It could not be answered in time.", self._seconds)
        self._tell([(job, said, 0.0) for job in late])
        return self._next()

    def _drop_late(self, now: float) -> list[Job]:
        """The jobs whose time is over, or will be when their batch is done, taken out of the queue."""
        rows = min(self._rows, self._settings.batch_rows)
        done = now + (self._speed.of(rows, self._settings.batch_rows) if self._late else 0.0)
        late = [job for job in self._jobs if done - job.entered > self._patience(job.timeout)]
        for job in late:
            self._jobs.remove(job)
            self._left(job)
        return late

    def _left(self, job: Job) -> None:
        self._rows -= job.rows
        self._clients[job.client] -= 1
        if not self._clients[job.client]:
            del self._clients[job.client]

    def _cut(self) -> list[Job]:
        """Take the first job and those that can go with it, in order, as far as the budget reaches."""
        first = self._jobs[0]
        # A batch that takes most of the deadline would leave no time to wait for it.
        in_time = self._speed.within(0.5e-3 * self._settings.deadline_ms)
        budget = min(self._settings.batch_rows, in_time)
        taken: list[Job] = []
        left: list[Job] = []
        rows = 0
        while self._jobs:
            job = self._jobs.popleft()
            fits = not taken or rows + job.rows <= budget
            if job.target == first.target and fits:
                taken.append(job)
                rows += job.rows
                self._left(job)
                if rows >= budget:
                    break
            else:
                left.append(job)
        self._jobs.extendleft(reversed(left))
        self._running_rows = rows
        return taken


def _deliver(done: Sequence[tuple[Job, Any, float]]) -> None:
    for job, result, queued in done:
        if job.done.done():  # whoever asked has gone
            continue
        if isinstance(result, Exception):
            job.done.set_exception(result)
        else:
            job.done.set_result((result, queued))
