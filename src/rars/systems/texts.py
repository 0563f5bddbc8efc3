"""A query's text as every system reads it.

Owns: what of a text counts at all, and that one that says nothing is an error. Ignores languages and tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rars.errors import RarsError, expected

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


def listed(texts: object) -> list[str]:
    """Texts as a list; one text alone is none, though it could be read letter by letter."""
    if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):
        raise expected("texts", "a list of texts", texts)
    return list(texts)


def checked(texts: Sequence[str]) -> list[str]:
    """All texts cleaned; one that says nothing is an error."""
    found = []
    for number, text in enumerate(listed(texts), start=1):
        if not isinstance(text, str):
            raise expected("A query", "text", text)
        found.append(cleaned(text))
        if not found[-1]:
            which = f"Query {number} of {len(texts)}" if len(texts) > 1 else "The query"
            raise RarsError(f"{which} is empty.")
    return found
