"""Tables as a terminal or a file shows them; the layouts themselves are ``rars.evaluation.tables``'."""

from __future__ import annotations

from pathlib import Path

from rars import artifacts
from rars.evaluation.report import shown
from rars.evaluation.tables import Table, markdown, terminal

__all__ = ["shown", "terminal", "write_markdown"]


def write_markdown(path: Path, *tables: Table) -> None:
    """Write tables as a Markdown file."""
    artifacts.write_text(path, "\n".join(map(markdown, tables)) + "\n")
