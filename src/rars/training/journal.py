"""The journal of a run: one JSON line per step with every loss term, and one per validation.

Owns: ``journal.jsonl``. After a kill, lines beyond the checkpoint that training goes on from are dropped, so
the journal tells of one uninterrupted run. Ignores what the numbers mean.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from rars import disk
from rars.errors import RarsError


class Journal:
    """Appends lines; opened at a step, it drops later ones. With ``board``, TensorBoard gets them too."""

    def __init__(self, path: Path, step: int, *, board: bool = False) -> None:
        self.path = path
        self._board = _board(path.parent / "tensorboard", step) if board else None
        kept = [line for line in read(path) if line["step"] <= step]
        disk.write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        self._stream = path.open("a", encoding="utf-8")

    def write(self, **values: Any) -> None:
        """Append one line and hand it to the operating system at once."""
        try:
            self._stream.write(json.dumps(values) + "\n")
            self._stream.flush()
        except OSError as error:
            with suppress(OSError):
                self._stream.close()  # or what it still holds would be tried again
            why = disk.reason(error)
            raise RarsError(f"{self.path} could not be written: {why}.") from error
        if self._board is not None:
            for name, value in values.items():
                if name not in ("step", "epoch"):
                    self._board.add_scalar(name, value, values["step"])

    def close(self) -> None:
        """Stop writing."""
        self._stream.close()
        if self._board is not None:
            self._board.close()


def _board(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise RarsError(
            "training.tensorboard needs the package tensorboard: pip install 'rars[tensorboard]'."
        ) from error
    return SummaryWriter(str(folder), purge_step=step + 1)


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
