"""Where rars writes: the folders a user names, and the cache, which can be made again.

Owns: whether a folder can be written, said before the work and not after it; the cache folder, and the
temporary one that stands in where there is no place for a cache. Ignores what is written.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

import platformdirs

from rars.errors import RarsError, RarsWarning

LONGEST = 200
"""Bytes of a folder's name: drafts stand beside it under a longer one, and file systems end at 255."""


def target(folder: str | os.PathLike[str], *, replaced: bool = False) -> Path:
    """A folder that can be written, or one sentence why not; nothing is made.

    ``replaced``: it will be put in the place of what is there, which cannot be done with the folder that one
    is in.
    """
    path = named(folder)
    shown = path
    try:
        if path.name in ("", ".."):
            path = Path(os.path.abspath(path))  # noqa: PTH100 - "." and ".." have no name of their own
        if not path.name:
            raise RarsError(f"{shown} cannot be written; choose a folder below it.")
        for part in path.parts:
            size, most = len(os.fsencode(part)), LONGEST if part == path.name else 255
            if size > most:
                raise RarsError(f"The name {part[:24]!r}... has {size} bytes; {most} is the most.")
        if replaced and (here := Path.cwd()).is_relative_to(os.path.realpath(path)):
            raise RarsError(f"{shown} is the folder you are in ({here}); choose another one.")
        problem = _problem(path)
    except (OSError, ValueError) as error:
        raise RarsError(f"{shown} cannot be written: {_why(error)}.") from error
    if problem:
        raise RarsError(f"{shown} cannot be written: {problem}.")
    return path


def named(folder: object, what: str = "A folder") -> Path:
    """A path as a user gives it: text or a path, and not empty."""
    if not isinstance(folder, str | os.PathLike):
        raise RarsError(f"{what} must be given as text or a path, not {type(folder).__name__}.")
    text = os.fspath(folder)
    if not isinstance(text, str) or not text or "\0" in text:
        raise RarsError(f"{what} cannot be called {text!r:.60}.")
    return Path(text)


def cache_folder() -> Path:
    """``$RARS_CACHE``, or ``rars`` in the user's cache folder; a temporary folder where that cannot be."""
    wanted, why = _wanted()
    if wanted is not None:
        try:
            why = _problem(wanted) or ""
        except (OSError, ValueError) as error:
            why = _why(error)
        if not why:
            return wanted
        why = f"the cache {wanted} cannot be written: {why}"
    return _temporary(why)


def _wanted() -> tuple[Path | None, str]:
    """Where the cache should be, or why nobody knows."""
    chosen = os.environ.get("RARS_CACHE")
    try:
        if chosen:
            return Path(chosen).expanduser(), ""
        if os.environ.get("HOME") == "" and not os.environ.get("XDG_CACHE_HOME"):
            return None, "HOME is empty"
        found = platformdirs.user_cache_path("rars", appauthor=False)
    except (RuntimeError, KeyError, OSError) as error:
        return None, f"there is no home folder: {_why(error)}"
    # Without an entry for the user, "~" stays as it is.
    return (found, "") if found.is_absolute() else (None, "there is no home folder")


@cache
def _temporary(why: str) -> Path:
    """A folder of this process, gone when it ends; said once."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="rars-cache-"))
    except OSError as error:
        raise RarsError(
            f"There is no place for a cache ({why}, nor is there a temporary folder); "
            "set RARS_CACHE to a folder that can be written."
        ) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warnings.warn(
        f"Nothing is kept for the next time, as {why}; set RARS_CACHE to another folder.",
        RarsWarning,
        stacklevel=3,
    )
    return folder


def _problem(path: Path) -> str | None:
    """Why nothing can be made at a path; None if it can."""
    for place in (path, *path.absolute().parents):
        # Asked once: between two questions another process may make the folder.
        try:
            mode = place.stat().st_mode
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            if not place.is_symlink():
                continue
            return "it is a link that leads nowhere" if place == path else f"{place} leads nowhere"
        if stat.S_ISDIR(mode):
            return None if os.access(place, os.W_OK | os.X_OK) else f"{place} is read-only"
        return "it is a file" if place == path else f"{place} is a file"
    return None


def _why(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return str(reason or type(error).__name__).rstrip(".").lower()
