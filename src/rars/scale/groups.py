"""What a control group leaves to this process: a container has its share of a machine, not the machine.

Owns: reading the limits that Linux's control groups put on processor time and memory, in both versions, of
the process's own group and all above it. Where there are none, or none can be read, there is no limit.
Ignores which cores a process may run on (``cores``), and what is done about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def processors() -> float | None:
    """How many cores' time the group may use; None without a limit.

    quota / period: 150000 / 100000 are one and a half
    """
    found = []
    for folder in _folders("cpu"):
        quota, period = _numbers(folder / "cpu.max", folder / "cpu.cfs_quota_us")
        if period is None:
            (period,) = _numbers(folder / "cpu.cfs_period_us")[:1]
        if quota is not None and period and quota > 0:
            found.append(quota / period)
    return min(found, default=None)


def memory_left() -> int | None:
    """Bytes that the group may still take; None without a limit. Files that can be dropped do not count."""
    found = []
    for folder in _folders("memory"):
        most, _ = _numbers(folder / "memory.max", folder / "memory.limit_in_bytes")
        used, _ = _numbers(folder / "memory.current", folder / "memory.usage_in_bytes")
        if most is not None and used is not None:
            found.append(max(0, most - max(0, used - _files(folder / "memory.stat"))))
    return min(found, default=None)


def _folders(controller: str) -> Iterator[Path]:
    """The folders of this process's group and of those above it, in both versions."""
    for line in _text(OWN).splitlines():
        _, _, place = line.partition(":")
        controllers, _, path = place.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        # A container may see its own group as the root, under a path that is the machine's.
        for root in (ROOT / controllers, ROOT / controller) if controllers else (ROOT,):
            folder = root / path.lstrip("/")
            while folder != root:
                yield folder
                folder = folder.parent
            yield root


def _numbers(*choices: Path) -> tuple[int | None, int | None]:
    """The first two numbers of the first of these files that is there; ``max`` is none."""
    for path in choices:
        if words := _text(path).split():
            known = [
                int(word) if word.removeprefix("-").isdecimal() else None for word in words[:2]
            ]
            return known[0], known[1] if len(known) > 1 else None
    return None, None


def _files(path: Path) -> int:
    """Bytes of files in memory that nobody has used for a while."""
    lines = (line.split() for line in _text(path).splitlines())
    known = {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdecimal()}
    return known.get("total_inactive_file", known.get("inactive_file", 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
