"""The one protocol of everything that answers a query: generative retrievers, BM25, dense vectors, fusions.

Owns: what may be asked (``Query``), what is answered (``Answer``), and what a ``System`` promises. Ignores
how answers are found and how they are shown.

A batch may hold queries of different ``k``, rule and restrictions: each is answered as if it were asked
alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from rars.arrays import Floats, Ints
from rars.errors import expected
from rars.progress import Advance

PLAIN = "plain"
"""The one rule of a system that has only one way to search, such as BM25."""

Categories = int | Literal["auto", "all"] | None
"""How many of its categories a system searches for a query; see ``Query``."""


@dataclass(frozen=True)
class Query:
    """One question; what is left out (None) is as the system would do it by itself.

    ``rule``        how the system ranks, one of its ``rules`` or what else it understands
    ``categories``  search so many of the categories that the system finds most probable; ``auto``: as many
                    as the rule says; ``all``: the whole catalogue
    ``category``    search this category of the catalogue and what is below it: ``"Home > Mugs"``
    ``filter``      which items may be found, by their columns: ``brand = Acme AND price < 20``
    ``allow``       item ids that may be found; ``deny``, those that may not
    ``locale``      where the query comes from: how it is read, and which items it finds
    ``exact``       score everything, instead of keeping what looks best on the way
    ``explain``     say why each item was found
    """

    text: str
    k: int = 10
    rule: str | None = None
    categories: Categories = None
    category: str | None = None
    allow: Sequence[str] | None = None
    deny: Sequence[str] | None = None
    locale: str | None = None
    exact: bool = False
    explain: bool = False
    filter: str | None = None

    def __post_init__(self) -> None:
        """The one place where what a program asks for is checked by its type; values are the system's."""
        if not isinstance(self.text, str):
            raise expected("A query", "text", self.text)
        _check_whole("k", self.k)
        for name in ("rule", "category", "locale", "filter"):
            if not isinstance(value := getattr(self, name), str | None):
                raise expected(name, "text or None", value)
        if not isinstance(self.categories, str | None):
            _check_whole("categories", self.categories, ", 'auto', 'all' or None")
        for name in ("allow", "deny"):
            if (ids := getattr(self, name)) is not None:
                check_texts(name, ids, "a list of item ids", each="An id")
        for name in ("exact", "explain"):
            if not isinstance(value := getattr(self, name), bool | np.bool_):
                raise expected(name, "True or False", value)


def _check_whole(name: str, value: object, also: str = "") -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise expected(name, f"a whole number{also}", value)


def check_texts(
    name: str, values: object, wanted: str = "a list of texts", each: str = "A text"
) -> None:
    """A collection of texts; one text is none, though it could be read letter by letter."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Collection | np.ndarray):
        raise expected(name, wanted, values)
    for kind in set(map(type, values)):
        if not issubclass(kind, str):
            other = next(one for one in values if type(one) is kind)
            raise expected(f"{each} of {name}", "text", other)


class Explained(Protocol):
    """Why an item was found: as text (``str``), and as plain JSON values."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The results of one query, best first.

    ``items``         (found,) catalogue rows; ``scores`` (found,), never increasing
    ``identifiers``   (found, depth) codes, where the system has identifiers
    ``explanations``  one an item, where they were asked for
    """

    items: Ints
    scores: Floats
    identifiers: Ints | None = None
    explanations: Sequence[Explained] | None = None

    def __len__(self) -> int:
        return len(self.items)


class Catalogue(Protocol):
    """What is searched: item ids in catalogue order, and what is shown of an item."""

    def __len__(self) -> int:
        """How many items there are."""

    @property
    def ids(self) -> pa.Array:
        """Item ids, in catalogue order."""

    def take(self, rows: Ints) -> list[dict[str, Any]]:
        """The shown fields (id, title, brand, color, category) of some rows."""


class System(Protocol):
    """Whatever answers queries."""

    @property
    def catalogue(self) -> Catalogue:
        """What is searched."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of its rules; the first is the one it uses by itself."""

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse the first query that could not be answered; nothing is searched."""

    def answer(self, queries: Sequence[Query], *, advance: Advance | None = None) -> list[Answer]:
        """The answer of each query, in the same order; a mistake in one is found before any is answered."""

    def reads(self, locale: str) -> bool:
        """Whether a query may name this locale; an evaluation leaves out those that it may not."""

    def facts(self, rule: str | None = None) -> dict[str, Any]:
        """What its answers under a rule depend on, as plain JSON values: the same facts, the same answers."""
