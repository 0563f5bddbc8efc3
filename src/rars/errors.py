"""The one exception a user's mistake ends in.

Owns: the difference between "you gave something I cannot use" (``RarsError``: one clear sentence,
exit code 2, nothing changed on disk) and a defect of ours (any other exception: a traceback). What the
machine refuses (``OSError``, ``MemoryError``) is no defect: the command line makes a sentence of it. What can
be done without, such as a cache, is a ``RarsWarning``.
"""

from __future__ import annotations


class RarsError(Exception):
    """A mistake in the input: the message is one sentence naming the file, row, column or option."""


class Unavailable(RarsError):
    """Something that must be fetched or installed first, such as the weights of a model, is not there."""


class FilterError(RarsError):
    """A filter that cannot be read or does not fit the catalogue; ``position`` counts characters from 1."""

    def __init__(self, text: str, at: int, message: str) -> None:
        super().__init__(f"Filter, character {at + 1}: {message}.".replace("?.", "?"))
        self.filter = text
        self.position = at + 1


class Stopped(Exception):
    """The person stopped long work that was saved: the message says how to go on (exit code 130)."""


def expected(what: str, wanted: str, given: object) -> RarsError:
    """An argument of the wrong kind: ``k must be a whole number, not '5' (str)``."""
    shown = repr(given)
    shown = shown if len(shown) <= 40 else f"{shown[:36]}..."
    return RarsError(f"{what} must be {wanted}, not {shown} ({type(given).__name__}).")


class RarsWarning(UserWarning):
    """Work goes on, but not as asked: one sentence, as plain as an error's."""
