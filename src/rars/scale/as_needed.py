"""The engine of whoever does not choose one: this process, and others beside it where work is long.

Owns: when it pays to start processes, and how many. Nobody has to say so, and results are the same to the bit
for any number of them. After each call the rest is reckoned by what the calls so far took; they are shared
among n processes, each of which needs ``START`` seconds before its first call, as soon as

    rest * (1 - u / n) > START

where the calls keep u cores busy by themselves.

Ignores the work, and where the processes come from (``local``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rars.scale import cores, memory
from rars.scale.engine import INLINE, Call
from rars.scale.local import Local

START = 8.0
"""Seconds until a new process has its libraries and its model: about twice what is seen, to be worth it."""
_GAIN = 1.5
"""Cores for each that the calls keep busy by themselves, at least: with fewer it is noise that decides."""
_RESERVE = 0.5
"""Of the memory that is free, as much is left to others."""


@dataclass(frozen=True)
class AsNeeded:
    """One call after the other here, until what is left is worth the start of other processes."""

    @property
    def workers(self) -> int:
        """How many calls run at a time where work is long."""
        return _helpers(cores.others)

    def share(self, seconds: float) -> int:
        """Among how many work is shared that would take one of them so long."""
        most = self.workers
        return most if _saved(seconds, most) > START else 1

    def map(
        self, function: Callable[..., Any], calls: Iterable[Call], count: int | None = None
    ) -> Iterator[Any]:
        """As the protocol says; where nobody knows the ``count`` all are made here."""
        waiting = iter(calls)
        begun, spent, watch = time.perf_counter(), time.process_time(), cores.Watch()
        for done, call in enumerate(waiting, 1):
            yield from INLINE.map(function, [call])
            left, taken = (count or done) - done, time.perf_counter() - begun
            if (rest := left * taken / done) <= START:
                continue  # how busy others are is asked only where it may matter
            most, busy = min(_helpers(watch.others), left), (time.process_time() - spent) / taken
            if _saved(rest, most, busy) > START:
                yield from Local(most).map(function, waiting)
                return


def _helpers(others: Callable[[], float]) -> int:
    """Processes that there are cores and memory for, beside those of ``others``."""
    return max(1, min(cores.free(others), _rooms()))


def _saved(seconds: float, workers: int, busy: float = 1.0) -> float:
    """What so many save of work that keeps ``busy`` cores busy by itself."""
    busy = max(1.0, busy)
    return seconds * (1 - busy / workers) if workers >= _GAIN * busy else 0.0


def _rooms() -> int:
    """Processes like this one that there is memory for; as many as cores where nobody tells."""
    free = memory.available()
    return cores.usable_cores() if free is None else int(_RESERVE * free // memory.peak())


AS_NEEDED = AsNeeded()
