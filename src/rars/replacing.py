"""How the content of a folder is replaced: in one step, with readers in it, and a link to it stays a link.

Owns: versions of a folder's content, the pointer to the newest, who holds one, and what is removed when.
Ignores what the files are (``rars.artifacts``).

A new folder is written beside its place and renamed into it. A folder that is there is never renamed: its
next content is written inside it as ``.v1``, ``.v2`` ..., and the one step that counts replaces the link
``.current``, through which the names that people see lead to the newest content:

    FOLDER/.v2/codes.npy    FOLDER/.current -> .v2    FOLDER/codes.npy -> .current/codes.npy

A reader follows ``.current`` once and then reads one version. It holds a shared lock on that version's folder
(no byte of the disk changes) for as long as it may read more; writers remove only versions nobody holds, and
what was mapped before stays valid.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import shutil
import time
import weakref
from contextlib import suppress
from pathlib import Path

from rars import disk
from rars.errors import RarsError

CURRENT = ".current"

_VERSION = re.compile(r"\.v(\d+)")
_PATIENCE = 5.0
"""Seconds a reader tries to hold a version; each failure means that a writer has just made a newer one."""


class Hold:
    """The right to read a version again later; given back when nobody has it any more."""

    def __init__(self, descriptor: int) -> None:
        weakref.finalize(self, os.close, descriptor)


def current(folder: Path) -> Path:
    """Where the newest content of a folder is: the version that it points to, or the folder itself."""
    try:
        name = str((folder / CURRENT).readlink())
    except OSError:
        return folder
    return folder / name if _VERSION.fullmatch(name) else folder


def held(folder: Path) -> tuple[Path, Hold | None]:
    """The newest version, and the right to read it on."""
    until = time.monotonic() + _PATIENCE
    while True:
        home = current(folder)
        claim = disk.claimed(home, fcntl.LOCK_SH)
        if claim is not None:
            hold = Hold(claim)
            # A folder without versions may have got one since we looked.
            if home != folder or current(folder) == folder:
                return home, hold
        # A version that is gone has a successor; only one that is there and cannot be read goes unheld.
        elif time.monotonic() > until or (not os.access(home, os.R_OK) and home.exists()):
            return current(folder), None
        else:
            time.sleep(0.0005)


def remove(folder: Path) -> bool:
    """Remove a folder that nobody holds, content and all: it is there whole, or gone; whether it is gone."""
    claims = []
    try:
        for place in {folder, current(folder)}:
            claims.append(disk.claimed(place, fcntl.LOCK_EX))
        if None in claims:
            return not folder.exists()
        disk.discard(folder)
        return not folder.exists()
    finally:
        for claim in claims:
            disk.let(claim)


# -- writing ---------------------------------------------------------------------------------------


def drafted(beside: Path) -> tuple[Path, int | None]:
    """An empty folder that no sweeper takes away, and what keeps it so."""
    while True:
        place = disk.unique(beside)
        with suppress(FileExistsError):  # of a process of this number on another machine
            place.mkdir()
            claim = disk.claimed(place, fcntl.LOCK_EX)
            if claim is not None or place.exists():
                return place, claim


def renamed(place: Path, folder: Path) -> bool:
    """Whether the draft became the folder; not where another process was faster."""
    try:
        place.rename(folder)
    except OSError:
        if not folder.is_dir() or not any(folder.iterdir()):
            raise
        return False
    disk.sync(folder.parent)
    return True


def point(folder: Path, place: Path) -> None:
    """Make a draft the newest version of a folder."""
    version = _placed(folder, place)
    try:
        # A new name leads nowhere until the last step.
        for entry in version.iterdir():
            if not os.path.lexists(folder / entry.name):
                _link(f"{CURRENT}/{entry.name}", folder / entry.name)
        if (folder / CURRENT).is_dir() and not (folder / CURRENT).is_symlink():
            shutil.rmtree(folder / CURRENT)  # of a copy that followed the links
        _link(version.name, folder / CURRENT)
    except BaseException:
        if current(folder) != version:
            shutil.rmtree(version, ignore_errors=True)
        raise
    disk.sync(folder)


def _placed(folder: Path, place: Path) -> Path:
    numbers = [int(found[1]) for path in folder.iterdir() if (found := _number(path))]
    for number in itertools.count(max(numbers, default=0) + 1):
        version = folder / f".v{number}"
        try:
            place.rename(version)
        except OSError:
            if not version.exists():
                raise
        else:
            break  # else another process was faster
    return version


def _number(path: Path) -> re.Match[str] | None:
    return _VERSION.fullmatch(path.name)


def _link(target: str, path: Path) -> None:
    """Put a link in the place of a link or a file, in one step."""
    temporary = disk.unique(path)
    temporary.symlink_to(target)
    temporary.replace(path)


def tidy(folder: Path, manifest: str) -> None:
    """Let all names lead to the newest version, and remove older ones that nobody holds.

    What is written is safe already: a failure here is left to the next writer.
    """
    newest = current(folder)
    with suppress(OSError, RarsError, KeyError, TypeError, AttributeError):
        claim = disk.claimed(folder, fcntl.LOCK_EX) if newest != folder else None
        if claim is not None:
            try:
                _replace_first(folder, newest, manifest)
            finally:
                os.close(claim)
        for path in list(folder.iterdir()):
            leads = path.is_symlink() and path.readlink().parts[:1] == (CURRENT,)
            if leads and not path.exists():
                path.unlink()
            elif disk.is_draft(path) or (_number(path) and path != newest):
                disk.remove_unheld(path)


def _replace_first(folder: Path, newest: Path, manifest: str) -> None:
    """Replace the first content of a folder, which lies in it as it is, by links to the newest.

    Only what its manifest lists: whatever else people put there is theirs.
    """
    first = folder / manifest
    if first.is_symlink() or not first.exists():
        return
    listed = {name.split("/")[0] for name in disk.read_json(first)["files"]}
    # The manifest last: after a kill it still says what to do.
    for name in [*sorted(listed), manifest]:
        path = folder / name
        if path.is_symlink():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        if (newest / name).exists():
            _link(f"{CURRENT}/{name}", path)
        else:
            path.unlink(missing_ok=True)
