"""Files on disk: replaced in one step, held while they are needed, swept when their writer was killed.

Owns: digests, atomic replacement of a file, JSON that is read or refused in one sentence, the names of what
is being written (``.NAME.PROCESS-NUMBER.partial``), claims on files and folders, and what is said when a disk
is full. Ignores folders as wholes (``rars.replacing``, ``rars.artifacts``) and who may write there.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from rars.errors import RarsError

PARTIAL = ".partial"
"""How the name of what is being written ends."""

_numbers = itertools.count()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_json(value: object) -> str:
    """SHA-256 of a JSON-able value, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Replace a small file atomically: a reader sees all of the old text or all of the new."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for any content."""
    path = Path(os.path.realpath(path))
    temporary = unique(path)
    while temporary.exists():
        temporary = unique(path)
    made: list[Path] = []
    try:
        made = make_parents(path)
        sweep_drafts(path)
        with temporary.open("wb") as stream:
            lock(stream.fileno(), fcntl.LOCK_EX)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
            temporary.replace(path)
        sync(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        unmake(made)
        fail(path, error)


def write_json(path: Path, value: object) -> None:
    """Replace a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file, or say in one sentence why it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RarsError(f"{path} does not exist.") from error
    except RecursionError as error:
        raise RarsError(f"{path} is not readable JSON: it is nested too deeply.") from error
    except (OSError, ValueError) as error:
        raise RarsError(f"{path} is not readable JSON: {error}.") from error


# -- what is being written -------------------------------------------------------------------------


def unique(path: Path) -> Path:
    """A name beside a path that nobody else uses."""
    return path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}-{next(_numbers)}{PARTIAL}")


def is_draft(path: Path) -> bool:
    """Whether a file or folder is being written, by its name."""
    return path.name.startswith(".") and path.name.endswith(PARTIAL)


def sweep(parent: Path, start: str) -> None:
    """Remove what killed writers left of the files and folders in ``parent`` whose names begin so."""
    with suppress(OSError):
        for path in list(parent.iterdir()):
            if path.name.startswith(f".{start}") and is_draft(path):
                remove_unheld(path)


def sweep_drafts(path: Path) -> None:
    """Remove drafts of this file or folder that killed processes left behind."""
    sweep(path.parent, f"{path.name.lstrip('.')}.")


def remove_unheld(path: Path) -> None:
    """Remove what no process holds; a link is held by nobody."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
        return
    claim = claimed(path, fcntl.LOCK_EX)
    if claim is None:
        return
    try:
        if stat.S_ISDIR(os.fstat(claim).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    finally:
        os.close(claim)


def discard(folder: Path) -> None:
    """Remove a folder: it is there whole, or gone."""
    gone = unique(folder)
    with suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def make_parents(path: Path) -> list[Path]:
    """Make the folders above a path; those that were not there, innermost first."""
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    return missing


def unmake(folders: list[Path]) -> None:
    """Remove folders made for what never came, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def sync(folder: Path) -> None:
    """Make names last through a loss of power, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- claims ----------------------------------------------------------------------------------------


def claimed(path: Path, how: int) -> int | None:
    """A descriptor that holds a lock on a file or folder; None where another holds it, or it is gone."""
    try:
        claim = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    if lock(claim, how) and _is_at(claim, path):
        return claim
    os.close(claim)
    return None


def lock(descriptor: int, how: int) -> bool:
    """Whether a lock could be had at once."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: unlinked files that are open stay valid there, too
    return True


def _is_at(claim: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(claim), os.lstat(path))
    except OSError:
        return False


def let(claim: int | None) -> None:
    """Give a claim back."""
    if claim is not None:
        os.close(claim)


# -- what goes wrong -------------------------------------------------------------------------------


def fail(path: Path, error: BaseException) -> NoReturn:
    """Raise an error as one sentence about the file or folder, where a disk is to blame."""
    hidden = any(map(is_draft, path.parents))  # then it is the folder's own writer who tells
    why = None if hidden else reason(error)
    if why is None:
        raise error
    raise RarsError(f"{path} could not be written: {why}.") from error


def reason(error: BaseException) -> str | None:
    """What the operating system said; None of an error that is not its own.

    >>> reason(OSError(28, "No space left on device")), reason(ValueError("three"))
    ('no space left on device', None)
    """
    if isinstance(error, RarsError):
        return None
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (found := re.search(r"\(os error (\d+)\)", str(error))):
        number = int(found[1])  # as libraries written in Rust say it
    if number is not None:
        said = os.strerror(number)
    elif isinstance(error, OSError):
        said = str(error)
    else:
        return None
    return said[:1].lower() + said[1:]
