"""A query's text as every system reads it.

Owns: what of a text counts at all, and that one that says nothing is an error. Ignores languages and tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rars.errors import RarsError

LONGEST = 10_000
"""Characters of a query that are read; models read far fewer."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def cleaned(text: str) -> str:
    """A query as every part reads it: control characters are spaces, lone surrogates are ``?``.

    >>> cleaned(" red" + chr(9) + "mug" + chr(0))
    'red mug'
    """
    whole = text[:LONGEST].encode("utf-8", "replace").decode()
    return _CONTROL.sub(" ", whole).strip()


def checked(texts: Sequence[str]) -> list[str]:
    """All texts cleaned; one that says nothing is an error."""
    found = []
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise RarsError(f"A query must be text, not {type(text).__name__}.")
        found.append(cleaned(text))
        if not found[-1]:
            which = f"Query {number} of {len(texts)}" if len(texts) > 1 else "The query"
            raise RarsError(f"{which} is empty.")
    return found
