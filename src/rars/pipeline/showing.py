"""Tables as a terminal or a file shows them; the layouts themselves are ``rars.evaluation.tables``'."""

from __future__ import annotations

from pathlib import Path

from rars import disk, places
from rars.errors import RarsError
from rars.evaluation.report import shown
from rars.evaluation.tables import Table, markdown, terminal

__all__ = ["check_file", "shown", "terminal", "write_markdown"]


def check_file(path: Path, *endings: str) -> None:
    """Refuse a file that cannot be written, or is of another kind, before what it would hold is measured."""
    if path.is_dir():
        raise RarsError(f"{path} is a folder; choose a file.")
    if path.suffix.lower() not in endings:  # a slip must not cost somebody a file of another kind
        raise RarsError(f"{path} does not end in {' or '.join(endings)}; choose another name.")
    places.target(path.parent)


def write_markdown(path: Path, *tables: Table) -> None:
    """Write tables as a Markdown file."""
    disk.write_text(path, "\n".join(map(markdown, tables)) + "\n")
