"""What narrows a search beside the model's choice: a filter, a category, a locale, items allowed or denied.

Owns: turning each restriction into marks over the catalogue's items, and saying what is wrong with one that
names nothing. Ignores the model: its choice of categories is ``rars.search.routing``'s.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Bools, Ints
from rars.errors import RarsError
from rars.search.columns import SEPARATOR
from rars.search.evidence.languages import LANGUAGES, language_of
from rars.search.store import ItemStore, Locales
from rars.systems import Query, System

_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Narrow:
    """The restrictions of a search; equal ones leave the same.

    ``category``  a path of the catalogue: this category and what is below it
    ``filter``    in the language of ``rars.search.filters``
    ``allow``     item ids that may be found; ``deny``, those that may not
    ``locale``    where the query comes from: its items, if the catalogue tells them apart
    """

    category: str | None = None
    filter: str | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None
    locale: str | None = None

    @classmethod
    def of(cls, query: Query) -> Narrow:
        """What a query asks for."""
        allow, deny = (None if ids is None else tuple(ids) for ids in (query.allow, query.deny))
        return cls(query.category, query.filter, allow, deny, query.locale)

    @property
    def picks(self) -> bool:
        """Whether single items are chosen: then k of them come back if k exist, wherever they are."""
        return any(one is not None for one in (self.filter, self.allow, self.deny))

    @property
    def language(self) -> str | None:
        """The language that the query is read in; None for any."""
        return None if self.locale is None else language_of(self.locale)

    def items(self, store: ItemStore) -> Bools | None:
        """What may be found (items,) in catalogue order; None for everything."""
        left: Bools | None = None
        for _, marks in self.marks(store):
            left = marks if left is None else left & marks
        return left

    def marks(self, store: ItemStore) -> Iterator[tuple[str, Bools]]:
        """The name of each restriction, and what it leaves (items,)."""
        if self.filter is not None:
            yield "filter", store.columns.marks(self.filter)
        if self.category is not None:
            yield "category", _below(store, self.category)
        if self.locale is not None:
            found = _in_locale(store.locales, self.locale)
            if found is not None:
                yield "locale", found
        for name, ids, inside in (("allow", self.allow, True), ("deny", self.deny, False)):
            if ids is not None:
                marks = np.full(len(store), not inside)
                marks[store.rows_of([one for one in ids if _is_whole(one)])] = inside
                yield name, marks


def matching(system: System, query: Query) -> Ints | None:
    """The catalogue rows that a query may find; None where nothing narrows it."""
    store = system.catalogue
    narrow = Narrow.of(query)
    if not isinstance(store, ItemStore):
        if narrow == Narrow():
            return None
        raise RarsError("The catalogue of this system has no columns to filter by.")
    marks = narrow.items(store)
    return None if marks is None else np.flatnonzero(marks)


def kept(items: int) -> int:
    """How many restrictions of a catalogue are kept as marks: the latest, in about 64 MB."""
    return max(4, min(64, (64 << 20) // max(items, 1)))


def _is_whole(text: str) -> bool:
    """Whether a text can be one of the catalogue's: half a character (a lone surrogate) is in none."""
    return text.isascii() or not _HALF.search(text)


def _in_locale(locales: Locales | None, locale: str) -> Bools | None:
    """The items of a locale; None where the catalogue does not tell items apart by it."""
    if locales is None:
        if language_of(locale) is None:
            raise RarsError(f"There is no locale {locale!r}; choose {_listed(LANGUAGES)}.")
        return None
    found = locales.found_in(locale)
    if found is None:
        names = _listed(sorted(locales.names))
        raise RarsError(f"The catalogue has no items of the locale {locale!r}; it has {names}.")
    return found


def _below(store: ItemStore, category: str) -> Bools:
    """The items at or below a category path of the catalogue."""
    if not _is_whole(category):
        raise RarsError(f"There is no category {category!r}.")
    name = SEPARATOR.join(part.strip() for part in category.split(SEPARATOR.strip()))
    paths = store.paths()
    inside = pc.or_(pc.equal(paths, name), pc.starts_with(paths, name + SEPARATOR))
    marks: Bools = pc.fill_null(inside, False).to_numpy(zero_copy_only=False)
    if not marks.any():
        raise RarsError(f"There is no category {category!r}{_meant(name, paths)}")
    return marks


def _meant(name: str, paths: pa.Array) -> str:
    """Paths that a mistyped category may have meant, as the end of a sentence."""
    known: set[str] = set()
    for path in pc.unique(paths).drop_null().to_pylist():
        parts = path.split(SEPARATOR)
        known |= {SEPARATOR.join(parts[: n + 1]) for n in range(len(parts))}
    wanted = name.casefold()
    near = sorted(path for path in known if path.casefold().split(SEPARATOR)[-1] == wanted)
    near = near or difflib.get_close_matches(name, sorted(known), 3)
    return f"; did you mean {' or '.join(map(repr, near[:3]))}?" if near else "."


def _listed(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
