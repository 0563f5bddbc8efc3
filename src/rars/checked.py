"""Which large files were found whole before, so that opening a folder again reads none of them.

Owns: how a file that nobody has touched since is told from one that was: by what the file system says of it
(device, inode, size, times of change), kept in the cache with what was found. Ignores what was checked.

Only of large files: a small one is read in no time, and always is. A file that changed so lately that its
time of change could hide another change is not remembered. A further name for a file (a hard link), or one
less, changes its time too, but not what is in it: who does that hands on what was known. What a disk loses by
itself, without a write, is found by whoever empties the cache, and by another machine.

Whether content that is whole means something is asked once of each content, wherever it is (``content``).
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rars import places

LARGE = 1 << 24
"""Bytes from which on a file is remembered."""

_SETTLED = 2.0
"""Seconds a file must be left alone: its times may be no finer than that."""
_KEPT = 90 * 86_400.0
"""Seconds after which what was not asked for again is forgotten."""


@dataclass(frozen=True)
class Mark:
    """What names a finding; ``written`` and ``changed`` are the times of the file it is about."""

    name: str
    written: float = 0.0
    changed: float = 0.0


def file(path: Path, found: str) -> Mark | None:
    """What names a file as it is now, with what was found of it; None for one that is always read."""
    one = path.stat()
    if one.st_size < LARGE:
        return None
    facts = (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns, found)
    return Mark(_named(*facts), one.st_mtime, one.st_ctime)


def content(digest: str, size: int, found: str) -> Mark | None:
    """What names a content by its digest, with what was found of it; None for a small one."""
    return Mark(_named(digest, found)) if size >= LARGE else None


def known(mark: Mark | None) -> bool:
    """Whether it was found so before; it is kept for longer then."""
    if mark is None:
        return False
    try:
        os.utime(_place(mark))
    except OSError:
        return False
    return True


def remember(*marks: Mark | None) -> None:
    """Keep that it was found so; not where there is no place for a cache."""
    now = time.time()
    _keep([one for one in marks if one and now - max(one.written, one.changed) >= _SETTLED])


def linked(before: Mark | None, after: Mark | None) -> None:
    """A file got a further name, or lost one: what was known of it ``before`` holds ``after``.

    Its time of change is of this moment; whoever writes into it from now on also changes the other one.
    """
    if after is not None and known(before) and time.time() - after.written >= _SETTLED:
        _keep([after])


def _keep(marks: list[Mark]) -> None:
    with suppress(OSError):
        for mark in marks:
            place = _place(mark)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        if marks:
            for other in place.parent.iterdir():
                if time.time() - other.stat().st_mtime > _KEPT:
                    other.unlink(missing_ok=True)


def _named(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _place(mark: Mark) -> Path:
    return places.cache_folder() / "checked" / mark.name
