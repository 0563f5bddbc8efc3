"""Folders on disk that are old or new, never half, with a manifest that says what each file must be.

Owns: writing a folder whole or not at all, the manifest with a digest of every file in it, and the check of
those digests on load. Ignores: how content takes the place of other content (``rars.replacing``), what the
files mean, and who may write (``rars.locks``). Nothing here, or anywhere else in the package, reads or writes
pickles.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from rars import checked, disk, places, replacing
from rars.errors import RarsError

FORMAT = 1

_NONSENSE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading raises where a file says what it cannot mean."""
_drafts: dict[Path, Draft] = {}
"""Folders this process is writing and nobody sees yet."""


@dataclass(frozen=True)
class Artifact:
    """A checked folder: where its files are, what its writer said about it, and the digest of all of it.

    ``hold`` keeps the files there: whoever reads them later than now keeps it too. ``size`` is that of all.
    """

    folder: Path
    meta: Mapping[str, Any]
    digest: str
    hold: replacing.Hold | None = None
    size: int = 0

    def mark(self, found: str) -> checked.Mark | None:
        """What ``rars.checked`` knows the content of this folder by, and what was found of it."""
        return checked.content(self.digest, self.size, found)

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
        stated = _listed(disk.read_json(source / manifest), source / manifest)[name]
        before = checked.file(source / name, stated["sha256"])
        try:
            os.link(source / name, self.folder / name)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source / name, self.folder / name)
            return
        checked.linked(before, checked.file(source / name, stated["sha256"]))
        self.known[name] = stated

    def save_array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write ``NAME.npy``."""
        with (self.folder / f"{name}.npy").open("wb") as stream:
            # A plain sink: of a file, NumPy would say how much it wrote, but not that the disk is full.
            np.lib.format.write_array(_Sink(stream), np.asarray(values), allow_pickle=False)

    def stream_array(
        self, name: str, dtype: npt.DTypeLike, blocks: Iterable[npt.NDArray[Any]]
    ) -> None:
        """Write ``NAME.npy`` (n,) block by block; how many numbers there are is known at its end."""
        kind, length = np.dtype(dtype), 0
        with (self.folder / f"{name}.npy").open("wb") as stream:
            for at_end in (False, True):
                stream.seek(0)
                # NumPy leaves room for the longest number, so that the second one is as long as the first.
                header = {"descr": kind.str, "fortran_order": False, "shape": (length,)}
                np.lib.format.write_array_header_1_0(stream, header)
                for block in () if at_end else blocks:
                    stream.write(np.ascontiguousarray(block, dtype=kind).data)
                    length += len(block)

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
        made = disk.make_parents(folder)
        disk.sweep_drafts(folder)
        place, claim = replacing.drafted(folder / ".draft" if within else folder)
        drafted, draft = place, Draft(place, {})
        _drafts[place] = draft
        yield draft
        _seal(draft, kind, manifest)
        if within or not replacing.renamed(place, folder):
            replacing.point(folder, place)
        place = None
        disk.let(claim)
        claim = None
        replacing.tidy(folder, manifest)
    except BaseException as error:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
            disk.unmake(made)
        disk.fail(folder, error)
    finally:
        disk.let(claim)
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

    A large file whose digest was right before is not read again as long as nobody touches it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RarsError(f"{folder} does not exist; expected the folder of a {kind}.")
    home, hold = replacing.held(folder)
    if not (home / manifest).exists():
        raise RarsError(f"{folder} is not a rars {kind}: it has no {manifest}.")
    sealed = disk.read_json(home / manifest)
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
    if verify:
        _check_digests(home, files)
    facts = _Meta(sealed["meta"], home / manifest)
    size = sum(one["bytes"] for one in files.values())
    return Artifact(home, facts, disk.digest_json(sealed["files"]), hold, size)


@contextmanager
def unlinking(folder: Path, manifest: str = "manifest.json") -> Iterator[None]:
    """Within this, folders go that share files with this one; what was known of those stays known."""
    home = replacing.current(folder)
    digests = {}
    with suppress(RarsError):  # a damaged folder: whoever opens it says so
        stated = _listed(disk.read_json(home / manifest), home / manifest)
        digests = {home / name: facts["sha256"] for name, facts in stated.items()}
    there = {path: checked.file(path, one) for path, one in digests.items() if path.exists()}
    yield
    for path, before in there.items():
        checked.linked(before, checked.file(path, digests[path]))


def _check_digests(home: Path, files: Mapping[str, Any]) -> None:
    """Refuse files that are not what their manifest says; large ones that were right before are not read."""
    right = []
    for name, expected in files.items():
        mark = checked.file(home / name, expected["sha256"])
        if checked.known(mark):
            continue
        if disk.digest_file(home / name) != expected["sha256"]:
            raise RarsError(
                f"{home / name} has changed since it was written: its digest does not match."
            )
        right.append(mark)
    checked.remember(*right)


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


# -- writing ---------------------------------------------------------------------------------------


def _goes_within(folder: Path, kind: str, manifest: str) -> bool:
    """Whether a folder is there already; one that holds something else is refused."""
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise RarsError(f"{folder} is a file; choose a folder for the {kind}.")
    if not any(folder.iterdir()):
        return os.path.ismount(folder)  # which nothing can be renamed to
    if not (replacing.current(folder) / manifest).exists():
        raise RarsError(f"{folder} holds files that are not a rars {kind}; choose another folder.")
    return True


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
        files[name] = {"sha256": disk.digest_file(path), "bytes": path.stat().st_size}
    sealed = {
        "kind": kind,
        "format": FORMAT,
        "rars": __version__,
        "meta": draft.meta,
        "files": files,
    }
    disk.write_json(folder / manifest, sealed)
    return files
