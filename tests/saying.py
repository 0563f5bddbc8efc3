"""A listener that keeps what steps say."""

from __future__ import annotations

from rars.progress import SILENT


class Said:
    """Keeps the sentences of a step and the numbers of a training; stages pass by."""

    def __init__(self):
        self.lines = []
        self.notes = []

    def say(self, text):
        self.lines.append(text)

    def stage(self, name):
        return SILENT.stage(name)

    def note(self, name, values):
        self.notes.append((name, values))

    @property
    def text(self):
        return "\n".join(self.lines)
