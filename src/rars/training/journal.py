"""The journal of a run: one JSON line per logged step, every loss term, never rewritten while it grows.

Owns: ``journal.jsonl``. After a kill, lines beyond the checkpoint that training goes on from are dropped, so
the journal tells of one uninterrupted run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rars import artifacts


class Journal:
    """Appends lines; opened at a step, it forgets later ones."""

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        kept = [line for line in read(path) if line["step"] <= step]
        artifacts.write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        self._stream = path.open("a", encoding="utf-8")

    def write(self, **values: Any) -> None:
        """Append one line and hand it to the operating system at once."""
        self._stream.write(json.dumps(values) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Stop writing."""
        self._stream.close()


def read(path: Path) -> list[dict[str, Any]]:
    """All whole lines; a line that a kill cut short is ignored."""
    lines: list[dict[str, Any]] = []
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError:
                break
    return lines
