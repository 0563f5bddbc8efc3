"""Filters that are put together by clicking: a clause is added, or taken away again.

Owns: writing a clause of the filter language, and changing one filter into another. Ignores which items a
filter leaves. A filter that cannot be read is left as it is: what is wrong with it is told where it is used.
"""

from __future__ import annotations

import re
from typing import Any

from rars.errors import FilterError
from rars.search.filters import Some, conjuncts, parse

_WORD = re.compile(r"[^\W\d][\w.-]*")
_KEYWORDS = frozenset(("AND", "OR", "NOT", "IN", "IS", "NULL", "CONTAINS", "EXISTS"))


def clause(name: str, value: Any) -> str:
    r"""A test that takes the items with this value.

    >>> clause("brand", 'The "Mug"'), clause("pack size", 3), clause("in_stock", True)
    ('brand = "The \\"Mug\\""', '`pack size` = 3', 'in_stock = true')
    """
    plain = _WORD.fullmatch(name) and name.upper() not in _KEYWORDS
    column = name if plain else f"`{name}`"
    if isinstance(value, bool):
        return f"{column} = {'true' if value else 'false'}"
    if isinstance(value, int | float):
        return f"{column} = {value}"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'{column} = "{escaped}"'


def clauses(filter: str) -> list[str]:
    """What must all be so, each as it was written; empty where nothing is filtered or it cannot be read.

    >>> clauses("price < 20 AND (color = red OR color = blue)")
    ['price < 20', '(color = red OR color = blue)']
    """
    try:
        return [filter[one.start : one.end] for one in conjuncts(parse(filter))]
    except FilterError:
        return []


def added(filter: str, new: str) -> str:
    """The filter with a clause more.

    >>> added("a = 1 OR b = 2", "c = 3")
    '(a = 1 OR b = 2) AND c = 3'
    """
    if not filter.strip():
        return new
    try:
        found = parse(filter)
    except FilterError:
        return filter
    # Parentheses around the whole begin before its first part does.
    either = isinstance(found, Some) and found.parts[0].start == found.start
    return f"({filter}) AND {new}" if either else f"{filter} AND {new}"


def removed(filter: str, old: str) -> str:
    """The filter without a clause.

    >>> removed("a = 1 AND b = 2 AND c = 3", "b = 2")
    'a = 1 AND c = 3'
    """
    return " AND ".join(one for one in clauses(filter) if one != old)
