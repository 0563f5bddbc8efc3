"""Everything that answers a query: the protocol, the shape of an answer, and how to ask."""

from __future__ import annotations

from rars.systems.hits import Hit, Hits
from rars.systems.protocol import (
    PLAIN,
    Answer,
    Catalogue,
    Categories,
    Explained,
    Query,
    System,
    check_texts,
)
from rars.systems.questions import rank, refuse, search, search_many
from rars.systems.ranked import Best, Ranked, Searcher, check_k
from rars.systems.texts import checked, cleaned, listed

__all__ = [
    "PLAIN",
    "Answer",
    "Best",
    "Catalogue",
    "Categories",
    "Explained",
    "Hit",
    "Hits",
    "Query",
    "Ranked",
    "Searcher",
    "System",
    "check_k",
    "check_texts",
    "checked",
    "cleaned",
    "listed",
    "rank",
    "refuse",
    "search",
    "search_many",
]
