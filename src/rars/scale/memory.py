"""How much memory a process has taken, how much there is, and what a full memory looks like."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

from rars.scale import groups

_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of what the operating system counts in."""

_SIGNS = ("can't allocate memory", "not enough memory", "std::bad_alloc", "cannot allocate memory")
"""How libraries say it that raise no ``MemoryError``."""


def peak() -> int:
    """The most bytes that this process, or one it has started and seen end, has held so far."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(who).ru_maxrss for who in whose) * _UNIT


def available() -> int | None:
    """Bytes that could be had now, of the machine and of a container's share; None where nobody tells."""
    found = [] if (left := groups.memory_left()) is None else [left]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        found.append(int(free.split()[1]) * 1024)
    return min(found, default=None)


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there was no memory left.

    >>> ran_out(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"))
    True
    """
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _SIGNS)


def shown(count: float) -> str:
    """Bytes as people read them.

    >>> shown(700), shown(3_400_000), shown(2.56e9)
    ('1 kB', '3 MB', '2.6 GB')
    """
    if count < 1e6:
        return f"{max(1, round(count / 1e3))} kB"
    return f"{count / 1e6:.0f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"
