"""The one exception a user's mistake ends in.

Owns: the difference between "you gave something I cannot use" (``RarsError``: one clear sentence,
exit code 2, nothing changed on disk) and a defect of ours (any other exception: a traceback). What the
machine refuses (``OSError``, ``MemoryError``) is no defect: the command line makes a sentence of it.
"""

from __future__ import annotations


class RarsError(Exception):
    """A mistake in the input: the message is one sentence naming the file, row, column or option."""


class Stopped(Exception):
    """The person stopped long work that was saved: the message says how to go on (exit code 130)."""
