"""Items come and go without training again: the changes of ``rars.search.catalog``, told as they happen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.search.catalog import Changed, add_items, remove_items, roll_back, update_items
from rars.search.index import pointer


def add(run: Run | str | Path, file: str | Path, *, tell: Tell = SILENT) -> Changed:
    """Add the items of a table; they are found at once."""
    with tell.stage("adding") as advance:
        return add_items(Run.of(run, generative=True), Path(file), advance=advance)


def remove(run: Run | str | Path, file: str | Path, *, tell: Tell = SILENT) -> Changed:
    """Remove the items whose ids a table names."""
    with tell.stage("removing") as advance:
        return remove_items(Run.of(run, generative=True), Path(file), advance=advance)


def update(run: Run | str | Path, file: str | Path, *, tell: Tell = SILENT) -> Changed:
    """Replace items by those of a table that have the same ids."""
    with tell.stage("updating") as advance:
        return update_items(Run.of(run, generative=True), Path(file), advance=advance)


def rollback(run: Run | str | Path, version: str | None = None) -> Changed:
    """Search an earlier version again: the one named, or the one before; later ones are kept."""
    return roll_back(Run.of(run, generative=True), version)


def log(run: Run | str | Path) -> dict[str, Any]:
    """Which version is searched now (``current``), and what happened so far (``log``)."""
    return pointer(Run.of(run, generative=True))
