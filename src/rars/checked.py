"""Which large folders were found whole before, so that opening one again reads none of it.

Owns: how a folder that nobody has touched since is told from one that was: by what the file system says of
each of its files (device, inode, size, times of change), kept in the cache. Ignores what was checked.

Only for folders of many bytes: a small one is read in no time, and always is. A file that changed so lately
that its time of change could hide another change is not remembered. What a disk loses by itself, without a
write, is found by whoever empties the cache, and by another machine.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rars import places

LARGE = 1 << 28
"""Bytes from which on a folder is remembered."""

_SETTLED = 2.0
"""Seconds a file must be left alone: its times may be no finer than that."""
_KEPT = 90 * 86_400.0
"""Seconds after which a folder that was not opened again is forgotten."""


def mark(folder: Path, files: Iterable[str], what: str) -> str | None:
    """What names a folder as it is now, and what was found of it; None for one that is always read."""
    size, newest = 0, 0.0
    digest = hashlib.sha256(what.encode())
    for name in sorted(files):
        one = (folder / name).stat()
        size += one.st_size
        newest = max(newest, one.st_mtime, one.st_ctime)
        facts = (name, one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns)
        digest.update(repr(facts).encode())
    if size < LARGE or time.time() - newest < _SETTLED:
        return None
    return digest.hexdigest()


def known(mark: str | None) -> bool:
    """Whether it was found so before; it is kept for longer then."""
    if mark is None:
        return False
    try:
        os.utime(_place(mark))
    except OSError:
        return False
    return True


def remember(mark: str | None) -> None:
    """Keep that it was found so; not where there is no place for a cache."""
    if mark is None:
        return
    with suppress(OSError):
        place = _place(mark)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
        for other in place.parent.iterdir():
            if time.time() - other.stat().st_mtime > _KEPT:
                other.unlink(missing_ok=True)


def _place(mark: str) -> Path:
    return places.cache_folder() / "checked" / mark
