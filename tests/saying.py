"""A listener that keeps what steps say."""

from __future__ import annotations

from rars.progress import SILENT


class Said:
    """Keeps the sentences of a step; stages and numbers pass by."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)

    def stage(self, name):
        return SILENT.stage(name)

    def note(self, name, values):
        pass

    @property
    def text(self):
        return "\n".join(self.lines)
