"""Folders on disk that are either whole or absent.

Owns: atomic replacement of a file or a folder, the manifest with a digest of every file in it, and
the check of those digests on load. Ignores: what the files mean. Nothing here, or anywhere else in
the package, reads or writes pickles.

A folder is written beside its final place and renamed into it. Replacing an existing folder takes two
renames; a kill between them leaves the old folder under ``.NAME.previous``, and whoever looks next
puts it back (``settle``), so a reader always finds the old artefact or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rars import places
from rars.errors import RarsError

FORMAT = 1


@dataclass(frozen=True)
class Artifact:
    """A checked folder: where it is, what its writer said about it, and the digest of all of it."""

    folder: Path
    meta: Mapping[str, Any]
    digest: str

    def array(self, name: str, *, mmap: bool = True) -> npt.NDArray[Any]:
        """Open ``NAME.npy``, memory-mapped read-only unless ``mmap`` is off."""
        path = self.folder / f"{name}.npy"
        try:
            loaded: npt.NDArray[Any] = np.load(
                path, mmap_mode="r" if mmap else None, allow_pickle=False
            )
        except (OSError, ValueError) as error:
            raise RarsError(f"{path} is not a readable NumPy file: {error}.") from error
        return loaded


@dataclass(frozen=True)
class Draft:
    """A folder being written: put files into ``folder`` and facts about them into ``meta``."""

    folder: Path
    meta: dict[str, Any]

    def save_array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write ``NAME.npy``."""
        np.save(self.folder / f"{name}.npy", values, allow_pickle=False)


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_json(value: object) -> str:
    """SHA-256 of a JSON-able value, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Replace a small file atomically: a reader sees all of the old text or all of the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise RarsError(f"{path} could not be written: {error.strerror or error}.") from error


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
    folder = places.target(folder, replaced=True)
    settle(folder)
    if folder.exists() and not (folder / manifest).exists() and any(folder.iterdir()):
        raise RarsError(f"{folder} holds files that are not a rars {kind}; choose another folder.")
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        temporary.mkdir()
    except OSError as error:
        raise RarsError(f"{folder} could not be written: {error.strerror or error}.") from error
    draft = Draft(temporary, {})
    try:
        yield draft
        _seal(draft, kind, manifest)
        _swap(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise RarsError(f"{folder} could not be written: {error.strerror or error}.") from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def opening(
    folder: Path, *, kind: str, manifest: str = "manifest.json", verify: bool = True
) -> Artifact:
    """Open a folder that ``writing`` made, checking its kind and (``verify``) every file's digest."""
    folder = Path(folder)
    settle(folder)
    if not folder.is_dir():
        raise RarsError(f"{folder} does not exist; expected the folder of a {kind}.")
    if not (folder / manifest).exists():
        raise RarsError(f"{folder} is not a rars {kind}: it has no {manifest}.")
    sealed = read_json(folder / manifest)
    if not isinstance(sealed, dict) or sealed.get("kind") != kind:
        found = sealed.get("kind") if isinstance(sealed, dict) else None
        raise RarsError(f"{folder / manifest} describes {found!r}, not a {kind}.")
    if sealed.get("format") != FORMAT:
        raise RarsError(f"{folder / manifest} has format {sealed.get('format')}, not {FORMAT}.")
    for name, expected in sealed["files"].items():
        path = folder / name
        if not path.exists():
            raise RarsError(f"{path} is missing, though {manifest} lists it.")
        if path.stat().st_size != expected["bytes"]:
            raise RarsError(f"{path} has {path.stat().st_size} bytes, not {expected['bytes']}.")
        if verify and digest_file(path) != expected["sha256"]:
            raise RarsError(f"{path} has changed since it was written: its digest does not match.")
    return Artifact(folder, sealed["meta"], digest_json(sealed["files"]))


def settle(folder: Path) -> None:
    """Finish or undo a replacement that a kill interrupted."""
    previous = _previous(folder)
    if previous.exists():
        if folder.exists():
            shutil.rmtree(previous)
        else:
            previous.rename(folder)


def _sweep(folder: Path) -> None:
    """Remove drafts of this folder that killed processes left behind."""
    for draft in folder.parent.glob(f".{folder.name}.*.partial"):
        writer = draft.name.split(".")[-2]
        if writer == str(os.getpid()) or (writer.isdigit() and not _alive(int(writer))):
            shutil.rmtree(draft, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.previous")


def _seal(draft: Draft, kind: str, manifest: str) -> None:
    from rars import __version__

    files = {}
    folder = draft.folder
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        name = path.relative_to(folder).as_posix()
        files[name] = {"sha256": digest_file(path), "bytes": path.stat().st_size}
    sealed = {
        "kind": kind,
        "format": FORMAT,
        "rars": __version__,
        "meta": draft.meta,
        "files": files,
    }
    write_json(folder / manifest, sealed)


def _swap(temporary: Path, folder: Path) -> None:
    if folder.exists():
        folder.rename(_previous(folder))
    temporary.rename(folder)
    shutil.rmtree(_previous(folder), ignore_errors=True)
