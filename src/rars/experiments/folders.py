"""What is there: whether a folder holds identifiers, a trained run, its numbers.

Owns: the questions that decide what is left to do. Ignores how things are made and who makes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rars import disk
from rars.evaluation import stored


def steps(folder: Path) -> dict[str, Any]:
    """What a run's manifest records; nothing where there is none."""
    path = folder / "manifest.json"
    found: dict[str, Any] = disk.read_json(path)["steps"] if path.exists() else {}
    return found


def identified(folder: Path) -> bool:
    """Whether identifiers were learned there."""
    return "identifiers" in steps(folder)


def trained(folder: Path, *, generative: bool, tuned: bool = False) -> bool:
    """Whether the manifest says that everything a search needs is there, ``tuned``: its weights too."""
    known = steps(folder)
    if not generative:
        return bool(known)
    return "index" in known and ("weights" in known or not tuned)


def results_of(folder: Path, split: str, rule: str) -> Path | None:
    """The numbers of a run under a rule, or None where they are not there as they were stored."""
    files = stored.Files.of(folder / "results", split, rule)
    return files.numbers if files.numbers.exists() and stored.damage(files) is None else None
