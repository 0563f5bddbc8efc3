"""Which cores this process may use, and how many of them others are busy on.

Owns: counting them, and hearing who has said how many threads there are to be. Ignores what is done with them
(``threads``; ``as_needed``).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from rars.scale import groups

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What libraries read to know how many threads they may have."""
_MINUTE = 60.0
_MOMENT = 0.1
"""Seconds that are watched at least."""


def usable_cores() -> int:
    """Cores this process may use: those it may run on, or as many as a container has time of."""
    share = groups.processors()
    return present() if share is None else max(1, min(present(), int(share)))


def present() -> int:
    """Cores this process may run on, whoever else does."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def told() -> int | None:
    """What somebody has chosen. The libraries read it themselves, also where it is a list or nonsense."""
    said = os.environ.get(THREADS[0], "")
    first = said.split(",")[0].strip()
    return (max(1, int(first)) if first.isdecimal() else 1) if said else None


def free(used: Callable[[], float] | None = None) -> int:
    """Cores that others leave to this process; ``used`` says how many are theirs, the load if left out.

    What ``OMP_NUM_THREADS`` says stands.
    """
    if (said := told()) is not None:
        return said
    # A container's share is a part of a machine that others use too.
    return min(usable_cores(), max(1, present() - round((used or others)())))


def others() -> float:
    """Cores that other processes are busy on: the load of the last minute without our own part in it."""
    try:
        load = os.getloadavg()[0]
    except (OSError, AttributeError):
        return 0.0
    # A process that was busy for t seconds has added 1 - exp(-t / 60) to an average that began without it.
    own = 1 - math.exp(-time.process_time() / _MINUTE)
    return max(0.0, load - own)


class Watch:
    """How many cores others have been busy on since it began, which a load tells late.

    Only the cores that this process may use count. Where the system tells nothing of them, it is the load.
    """

    def __init__(self) -> None:
        self._begun = _so_far()

    def others(self) -> float:
        """On average; of less than a tenth of a second it is the load."""
        now = _so_far()
        if self._begun is None or now is None or now[0] - self._begun[0] < _MOMENT:
            return others()
        seconds, busy, own = (
            after - before for after, before in zip(now, self._begun, strict=True)
        )
        return max(0.0, (busy - own) / seconds)


def now() -> float:
    """Cores that others are busy on at this moment."""
    watch = Watch()
    time.sleep(_MOMENT)
    return watch.others()


def _so_far() -> tuple[float, float, float] | None:
    """The clock; how long our cores have been busy, all added up; how long with this process."""
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        ours = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        tick = os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        return None
    busy = 0
    for line in lines:
        name, *spent = line.split()
        if name in ours:
            user, nice, system, _idle, _waiting, *interrupts = map(int, spent[:8])
            busy += user + nice + system + sum(interrupts)
    return time.perf_counter(), busy / tick, time.process_time()
