"""Who works in a folder: one process at a time may change it; readers ask nobody.

Owns: the file ``.NAME.lock`` beside a folder, which names its holder, and what a command says that finds the
folder taken. Ignores what is done there.

Beside the folder and not in it: the folder need not be there yet, may be removed while it is held, and never
holds a file that is not its own. The file goes when the work is done, so a refused command leaves nothing.
The lock itself is the operating system's and ends with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rars import disk
from rars.errors import RarsError

_TICK = 0.1
_WORDS = 200
"""Characters of a command that are shown."""


@dataclass
class _Mine:
    """A lock of this process: the descriptor that holds it, and how many blocks are inside it."""

    process: int
    descriptor: int
    made: list[Path]
    depth: int = 1


_mine: dict[Path, _Mine] = {}
_changing = threading.RLock()


@contextmanager
def held(folder: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the right to change a folder; whoever holds it in this process already goes on at once.

    Where another process holds it, wait for it, or say who it is. Of several processes that train one
    folder together, the first one holds it for all.
    """
    if os.environ.get("RANK", "0") != "0":
        yield
        return
    place = Path(os.path.realpath(folder))
    _enter(place, Path(folder), wait)
    try:
        yield
    finally:
        _leave(place)


def is_free(folder: str | Path) -> bool:
    """Whether nobody works in a folder; writes nothing."""
    path = _file(Path(os.path.realpath(folder)))
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return _locked(descriptor)
    finally:
        os.close(descriptor)


def _file(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


def _enter(place: Path, named: Path, wait: bool) -> None:
    while True:
        with _changing:
            mine = _mine.get(place)
            if mine is not None and mine.process == os.getpid():
                mine.depth += 1
                return
            try:
                descriptor, made = _acquired(_file(place))
            except OSError as error:
                why = disk.reason(error)
                raise RarsError(f"{_file(place)} could not be written: {why}.") from error
            if descriptor is not None:
                _mine[place] = _Mine(os.getpid(), descriptor, made)
                return
            disk.unmake(made)
        if not wait:
            raise RarsError(
                f"{named} is being changed by {_holder(_file(place))}; try again when it is done."
            )
        time.sleep(_TICK)


def _acquired(path: Path) -> tuple[int | None, list[Path]]:
    """A descriptor that holds the lock, and the folders made for it; None where another process has it."""
    made = disk.make_parents(path)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _locked(descriptor):
            os.close(descriptor)
            return None, made
        if _is_at(descriptor, path):
            break
        os.close(descriptor)  # its last holder removed it just now
    with suppress(OSError):  # a full disk does not hinder the work here
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "command": _command()}).encode())
    return descriptor, made


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _leave(place: Path) -> None:
    with _changing:
        mine = _mine[place]
        mine.depth -= 1
        if mine.depth:
            return
        del _mine[place]
        # While it is held: whoever opened the file before finds it gone and takes a new one.
        _file(place).unlink(missing_ok=True)
        os.close(mine.descriptor)
        disk.unmake(mine.made)


def _command() -> str:
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    words = shlex.join(["rars" if name == "__main__.py" else name, *sys.argv[1:]])
    return words if len(words) <= _WORDS else f"{words[:_WORDS]} ..."


def _holder(path: Path) -> str:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return f"process {int(known['pid'])} ({known['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
