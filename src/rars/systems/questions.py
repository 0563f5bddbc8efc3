"""Asking any system: one text, many texts, or queries whose ranking alone counts.

Owns: turning answers into hits or rankings, and refusing an option that a system has no use for. Ignores
which system answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from rars.errors import RarsError
from rars.progress import Advance
from rars.systems.hits import Hits
from rars.systems.protocol import Query, System
from rars.systems.ranked import Ranked
from rars.systems.texts import listed

_MEANT = {field.name: field.default for field in fields(Query)}


def search(system: System, text: str, k: int = 10, **options: Any) -> Hits:
    """The best ``k`` items of a text; ``options`` are those of ``Query``."""
    [found] = search_many(system, [text], k, **options)
    return found


def search_many(
    system: System,
    texts: Sequence[str],
    k: int = 10,
    *,
    advance: Advance | None = None,
    **options: Any,
) -> list[Hits]:
    """The same for many texts."""
    queries = [asked(text, k, **options) for text in listed(texts)]
    answers = system.answer(queries, advance=advance)
    catalogue = system.catalogue
    return [
        Hits.of(answer, catalogue, query.text)
        for query, answer in zip(queries, answers, strict=True)
    ]


def rank(system: System, queries: Sequence[Query], *, advance: Advance | None = None) -> Ranked:
    """Catalogue rows and scores of every query, as flat arrays."""
    answers = system.answer(queries, advance=advance)
    return Ranked.of_lists([one.items for one in answers], [one.scores for one in answers])


def asked(text: str, k: int = 10, **options: Any) -> Query:
    """A query; an option that no query has is one sentence."""
    for name in options:
        if name not in _MEANT:
            raise RarsError(f"A search has no option {name!r}; there is {', '.join(_MEANT)}.")
    return Query(text, k, **options)


def refuse(
    queries: Sequence[Query], who: str, *, rules: Collection[str], heeds: Collection[str] = ()
) -> None:
    """Refuse the first option beside text, k and a known rule that asks for something.

    ``who`` is the end of the sentence's subject: ``runs/bm25 is a bm25 system``; ``heeds`` names the further
    options that it has a use for.
    """
    for query in queries:
        for name, default in _MEANT.items():
            value = getattr(query, name)
            if name in ("text", "k", *heeds) or value is default or value == default:
                continue
            if (name == "rule" and value in rules) or (name == "categories" and value == "auto"):
                continue
            what = "does not explain its results" if name == "explain" else "has no use for it"
            raise RarsError(f"--{name}: {who} and {what}.")
