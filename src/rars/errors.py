"""The one exception a user's mistake ends in.

Owns: the difference between "you gave something I cannot use" (``RarsError``: one clear sentence,
exit code 2, nothing changed on disk) and a defect of ours (any other exception: a traceback).
"""

from __future__ import annotations


class RarsError(Exception):
    """A mistake in the input: the message is one sentence naming the file, row, column or option."""
