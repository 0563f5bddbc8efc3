"""What is there: whether a folder holds identifiers, a trained run, its numbers; and who works in it now.

Owns: the questions that decide what is left to do, and the lock of a folder. Ignores how things are made.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars import artifacts

if TYPE_CHECKING:
    from filelock import BaseFileLock


def steps(folder: Path) -> dict[str, Any]:
    """What a run's manifest records; nothing where there is none."""
    path = folder / "manifest.json"
    found: dict[str, Any] = artifacts.read_json(path)["steps"] if path.exists() else {}
    return found


def identified(folder: Path) -> bool:
    """Whether identifiers were learned there."""
    return "identifiers" in steps(folder)


def trained(folder: Path, *, generative: bool) -> bool:
    """Whether the manifest says that everything a search needs is there."""
    known = steps(folder)
    return "index" in known if generative else bool(known)


def results_of(folder: Path, split: str, rule: str) -> Path | None:
    """The numbers of a run under a rule, or None."""
    path = folder / "results" / f"{split}-{rule}.json"
    return path if path.exists() else None


def lock(folder: Path) -> BaseFileLock:
    """The lock of a folder, held by the process that works in it for as long as it lives."""
    from filelock import FileLock

    return FileLock(folder.with_name(f".{folder.name}.lock"))
