"""Folders on disk that are old or new, never half; read without a trace, written by one step at the end.

Owns: atomic replacement of a file or a folder, the manifest with a digest of every file in it, the check of
those digests on load, and what is said when a disk is full. Ignores: what the files mean and who may write
(``rars.locks``). Nothing here, or anywhere else in the package, reads or writes pickles.

A new folder is written beside its place and renamed into it. A folder that is there is never renamed, so a
link to it stays a link: its next content is written inside it as ``.v1``, ``.v2`` ..., and the one step that
counts replaces the link ``.current``, through which the names that people see lead to the newest content:

    FOLDER/.v2/codes.npy    FOLDER/.current -> .v2    FOLDER/codes.npy -> .current/codes.npy

A reader follows ``.current`` once and then reads one version. It holds a shared lock on that version's folder
(no byte of the disk changes) for as long as it may read more; writers remove only versions nobody holds, and
what was mapped before stays valid.
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
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from rars import checked, places
from rars.errors import RarsError

FORMAT = 1
CURRENT = ".current"

_VERSION = re.compile(r"\.v(\d+)")
_PATIENCE = 5.0
"""Seconds a reader tries to hold a version; each failure means that a writer has just made a newer one."""
_NONSENSE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading raises where a file says what it cannot mean."""
_drafts: dict[Path, Draft] = {}
"""Folders this process is writing and nobody sees yet."""
_numbers = itertools.count()


class Hold:
    """The right to read a version again later; given back when nobody has it any more."""

    def __init__(self, descriptor: int) -> None:
        weakref.finalize(self, os.close, descriptor)


@dataclass(frozen=True)
class Artifact:
    """A checked folder: where its files are, what its writer said about it, and the digest of all of it.

    ``hold`` keeps the files there: whoever reads them later than now keeps it too.
    """

    folder: Path
    meta: Mapping[str, Any]
    digest: str
    hold: Hold | None = None
    files: tuple[str, ...] = ()

    def mark(self, what: str) -> str | None:
        """What ``rars.checked`` knows this folder by, as it is now, and what was found of it."""
        return checked.mark(self.folder, self.files, what)

    def array(self, name: str, *, mmap: bool = True) -> npt.NDArray[Any]:
        """Open ``NAME.npy``, memory-mapped read-only unless ``mmap`` is off."""
        path = self.folder / f"{name}.npy"
        try:
            loaded: npt.NDArray[Any] = np.load(
                path, mmap_mode="r" if mmap else None, allow_pickle=False
            )
        except Exception as error:  # NumPy reads a header as Python: a tampered one raises anything
            why = str(error).partition("\n")[0].rstrip(".")
            raise RarsError(f"{path} is not a readable NumPy file: {why}.") from error
        return loaded


@dataclass(frozen=True)
class Draft:
    """A folder being written: put files into ``folder`` and facts about them into ``meta``.

    ``known`` are the digests of files that a manifest has already.
    """

    folder: Path
    meta: dict[str, Any]
    known: dict[str, Any] = field(default_factory=dict)

    def link(self, source: Path, name: str, manifest: str = "manifest.json") -> None:
        """Share a file of a folder that ``writing`` made, which is not read again for its digest."""
        try:
            os.link(source / name, self.folder / name)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source / name, self.folder / name)
            return
        self.known[name] = _listed(read_json(source / manifest), source / manifest)[name]

    def save_array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write ``NAME.npy``."""
        with (self.folder / f"{name}.npy").open("wb") as stream:
            # A plain sink: of a file, NumPy would say how much it wrote, but not that the disk is full.
            np.lib.format.write_array(_Sink(stream), np.asarray(values), allow_pickle=False)

    def map_array(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
    ) -> np.memmap[Any, np.dtype[Any]]:
        """``NAME.npy``, mapped for writing; its room is taken now, since a full disk would kill us later."""
        path = self.folder / f"{name}.npy"
        kind = np.dtype(dtype)
        header = {"descr": kind.str, "fortran_order": False, "shape": shape}
        with path.open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, header)
            stream.flush()
            size = stream.tell() + kind.itemsize * int(np.prod(shape))
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, size)
            else:
                stream.truncate(size)
        mapped: np.memmap[Any, np.dtype[Any]] = np.lib.format.open_memmap(path, mode="r+")
        return mapped


class _Sink:
    """Something to write to, and nothing else."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write


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
    temporary = _unique(path)
    while temporary.exists():
        temporary = _unique(path)
    made: list[Path] = []
    try:
        made = make_parents(path)
        _sweep(path)
        with temporary.open("wb") as stream:
            _lock(stream.fileno(), fcntl.LOCK_EX)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
            temporary.replace(path)
        _sync(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        unmake(made)
        _fail(path, error)


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


@contextmanager
def writing(folder: Path, *, kind: str, manifest: str = "manifest.json") -> Iterator[Draft]:
    """Write a whole folder or nothing: the draft becomes ``folder`` when the block ends well.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     with writing(Path(home) / "sums", kind="table of sums") as draft:
    ...         draft.save_array("totals", np.arange(3))
    ...         draft.meta["unit"] = "items"
    ...     artifact = opening(Path(home) / "sums", kind="table of sums")
    ...     artifact.meta["unit"], artifact.array("totals").tolist()
    ('items', [0, 1, 2])
    """
    folder = Path(os.path.realpath(places.target(folder, replaced=True)))
    for parent in folder.parents:
        if parent in _drafts:
            with _inside(_drafts[parent], folder, kind, manifest) as part:
                yield part
            return
    place: Path | None = None
    claim: int | None = None
    drafted: Path | None = None
    made: list[Path] = []
    try:
        within = _goes_within(folder, kind, manifest)
        made = make_parents(folder)
        _sweep(folder)
        place, claim = _drafted(folder / ".draft" if within else folder)
        drafted, draft = place, Draft(place, {})
        _drafts[place] = draft
        yield draft
        _seal(draft, kind, manifest)
        if within or not _renamed(place, folder):
            _point(folder, place)
        place = None
        _let(claim)
        claim = None
        _tidy(folder, manifest)
    except BaseException as error:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
            unmake(made)
        _fail(folder, error)
    finally:
        _let(claim)
        if drafted is not None:
            _drafts.pop(drafted, None)


@contextmanager
def _inside(whole: Draft, folder: Path, kind: str, manifest: str) -> Iterator[Draft]:
    """A part of a folder that is being written: seen with it or not at all."""
    folder.mkdir(parents=True)
    draft = Draft(folder, {})
    yield draft
    below = folder.relative_to(whole.folder)
    for name, facts in _seal(draft, kind, manifest).items():
        whole.known[(below / name).as_posix()] = facts


def opening(
    folder: Path, *, kind: str, manifest: str = "manifest.json", verify: bool = True
) -> Artifact:
    """Open a folder that ``writing`` made, checking its kind and (``verify``) every file's digest.

    A large folder whose digests were right before is not read again as long as nobody touches it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RarsError(f"{folder} does not exist; expected the folder of a {kind}.")
    home, hold = _held(folder)
    if not (home / manifest).exists():
        raise RarsError(f"{folder} is not a rars {kind}: it has no {manifest}.")
    sealed = read_json(home / manifest)
    if not isinstance(sealed, dict) or sealed.get("kind") != kind:
        found = sealed.get("kind") if isinstance(sealed, dict) else None
        raise RarsError(f"{home / manifest} describes {found!r}, not a {kind}.")
    if sealed.get("format") != FORMAT:
        raise RarsError(f"{home / manifest} has format {sealed.get('format')}, not {FORMAT}.")
    files = _listed(sealed, home / manifest)
    for name, expected in files.items():
        path = home / name
        if not path.exists():
            raise RarsError(f"{path} is missing, though {manifest} lists it.")
        if path.stat().st_size != expected["bytes"]:
            raise RarsError(f"{path} has {path.stat().st_size} bytes, not {expected['bytes']}.")
    facts = _Meta(sealed["meta"], home / manifest)
    found = Artifact(home, facts, digest_json(sealed["files"]), hold, (*files, manifest))
    if verify and not checked.known(mark := found.mark("digests")):
        for name, expected in files.items():
            if digest_file(home / name) != expected["sha256"]:
                raise RarsError(
                    f"{home / name} has changed since it was written: its digest does not match."
                )
        checked.remember(mark)
    return found


def current(folder: Path) -> Path:
    """Where the newest content of a folder is: the version that it points to, or the folder itself."""
    try:
        name = str((folder / CURRENT).readlink())
    except OSError:
        return folder
    return folder / name if _VERSION.fullmatch(name) else folder


def discard(folder: Path) -> None:
    """Remove a folder: it is there whole, or gone."""
    gone = _unique(folder)
    with suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def remove(folder: Path) -> bool:
    """Remove a folder that nobody holds, content and all: it is there whole, or gone; whether it is gone."""
    claims = []
    try:
        for place in {folder, current(folder)}:
            claims.append(_claim(place, fcntl.LOCK_EX))
        if None in claims:
            return not folder.exists()
        discard(folder)
        return not folder.exists()
    finally:
        for claim in claims:
            _let(claim)


def sweep(parent: Path, start: str) -> None:
    """Remove what killed writers left of the files and folders in ``parent`` whose names begin so."""
    with suppress(OSError):
        for path in list(parent.iterdir()):
            if path.name.startswith(f".{start}") and path.name.endswith(".partial"):
                _remove_unheld(path)


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


# -- reading ---------------------------------------------------------------------------------------


class _Meta(dict[str, Any]):
    """What a manifest says; a fact that it does not state is one sentence."""

    def __init__(self, facts: Mapping[str, Any], path: Path) -> None:
        super().__init__(facts)
        self._path = path

    def __missing__(self, key: str) -> NoReturn:
        raise RarsError(f"{self._path} does not state {key!r}.")


def _listed(sealed: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The files that a manifest lists, each inside its folder and with a digest and a size."""
    files = sealed.get("files")
    if not isinstance(files, dict) or not isinstance(sealed.get("meta"), dict):
        raise RarsError(f"{path} is no manifest: 'files' and 'meta' must be tables.")
    for name, stated in files.items():
        inside = (
            name and "\0" not in name and not name.startswith("/") and ".." not in name.split("/")
        )
        if not inside or not isinstance(stated, dict):
            raise RarsError(f"{path} lists {name[:60]!r}, which is no file of its folder.")
        if not isinstance(stated.get("sha256"), str) or type(stated.get("bytes")) is not int:
            raise RarsError(f"{path} gives {name[:60]!r} no digest and no size.")
    return files


@contextmanager
def understood(folder: Path) -> Iterator[None]:
    """What a stored folder means is read within this: nonsense in it is one sentence, never a traceback.

    Digests find damage. A folder that was changed and sealed again, or that another version wrote, passes
    them and may hold anything.
    """
    try:
        yield
    except _NONSENSE as error:
        why = str(error).strip().partition("\n")[0].rstrip(".")[:200] or type(error).__name__
        raise RarsError(
            f"{folder} cannot be understood, though nothing of it is damaged: {why}."
        ) from error


def _held(folder: Path) -> tuple[Path, Hold | None]:
    """The newest version, and the right to read it on."""
    until = time.monotonic() + _PATIENCE
    while True:
        home = current(folder)
        claim = _claim(home, fcntl.LOCK_SH)
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


def _claim(path: Path, how: int) -> int | None:
    """A descriptor that holds a lock on a file or folder; None where another holds it, or it is gone."""
    try:
        claim = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    if _lock(claim, how) and _is_at(claim, path):
        return claim
    os.close(claim)
    return None


def _lock(descriptor: int, how: int) -> bool:
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


def _let(claim: int | None) -> None:
    if claim is not None:
        os.close(claim)


# -- writing ---------------------------------------------------------------------------------------


def _goes_within(folder: Path, kind: str, manifest: str) -> bool:
    """Whether a folder is there already; one that holds something else is refused."""
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise RarsError(f"{folder} is a file; choose a folder for the {kind}.")
    if not any(folder.iterdir()):
        return os.path.ismount(folder)  # which nothing can be renamed to
    if not (current(folder) / manifest).exists():
        raise RarsError(f"{folder} holds files that are not a rars {kind}; choose another folder.")
    return True


def _drafted(beside: Path) -> tuple[Path, int | None]:
    """An empty folder that no sweeper takes away, and what keeps it so."""
    while True:
        place = _unique(beside)
        with suppress(FileExistsError):  # of a process of this number on another machine
            place.mkdir()
            claim = _claim(place, fcntl.LOCK_EX)
            if claim is not None or place.exists():
                return place, claim


def _renamed(place: Path, folder: Path) -> bool:
    """Whether the draft became the folder; not where another process was faster."""
    try:
        place.rename(folder)
    except OSError:
        if not folder.is_dir() or not any(folder.iterdir()):
            raise
        return False
    _sync(folder.parent)
    return True


def _point(folder: Path, place: Path) -> None:
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
    _sync(folder)


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
    temporary = _unique(path)
    temporary.symlink_to(target)
    temporary.replace(path)


def _tidy(folder: Path, manifest: str) -> None:
    """Let all names lead to the newest version, and remove older ones that nobody holds.

    What is written is safe already: a failure here is left to the next writer.
    """
    newest = current(folder)
    with suppress(OSError, RarsError, KeyError, TypeError, AttributeError):
        claim = _claim(folder, fcntl.LOCK_EX) if newest != folder else None
        if claim is not None:
            try:
                _replace_first(folder, newest, manifest)
            finally:
                os.close(claim)
        for path in list(folder.iterdir()):
            leads = path.is_symlink() and path.readlink().parts[:1] == (CURRENT,)
            draft = path.name.startswith(".") and path.name.endswith(".partial")
            if leads and not path.exists():
                path.unlink()
            elif draft or (_number(path) and path != newest):
                _remove_unheld(path)


def _replace_first(folder: Path, newest: Path, manifest: str) -> None:
    """Replace the first content of a folder, which lies in it as it is, by links to the newest.

    Only what its manifest lists: whatever else people put there is theirs.
    """
    first = folder / manifest
    if first.is_symlink() or not first.exists():
        return
    listed = {name.split("/")[0] for name in read_json(first)["files"]}
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


def _unique(path: Path) -> Path:
    """A name beside a path that nobody else uses."""
    return path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}-{next(_numbers)}.partial")


def _sweep(path: Path) -> None:
    """Remove drafts of this file or folder that killed processes left behind."""
    sweep(path.parent, f"{path.name.lstrip('.')}.")


def _remove_unheld(path: Path) -> None:
    """Remove what no process holds; a link is held by nobody."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
        return
    claim = _claim(path, fcntl.LOCK_EX)
    if claim is None:
        return
    try:
        if stat.S_ISDIR(os.fstat(claim).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    finally:
        os.close(claim)


def _seal(draft: Draft, kind: str, manifest: str) -> dict[str, Any]:
    """Write the manifest of a draft; the digests of its files."""
    from rars import __version__

    files = {}
    folder = draft.folder
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if name in draft.known:
            files[name] = draft.known[name]
            continue
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        files[name] = {"sha256": digest_file(path), "bytes": path.stat().st_size}
    sealed = {
        "kind": kind,
        "format": FORMAT,
        "rars": __version__,
        "meta": draft.meta,
        "files": files,
    }
    write_json(folder / manifest, sealed)
    return files


def _sync(folder: Path) -> None:
    """Make names last through a loss of power, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- what goes wrong -------------------------------------------------------------------------------


def _fail(path: Path, error: BaseException) -> NoReturn:
    """Raise an error as one sentence about the file or folder, where a disk is to blame."""
    why = None if any(draft in path.parents for draft in _drafts) else reason(error)
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
