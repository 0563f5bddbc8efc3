"""What narrows a search beside the model's choice: a category path, a locale, items allowed or denied.

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

from rars.arrays import Bools
from rars.errors import RarsError
from rars.search.evidence.languages import LANGUAGES, language_of
from rars.search.index import IndexVersion
from rars.search.store import SEPARATOR

_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Narrow:
    """The restrictions of a search.

    ``category``  a path of the catalogue: this category and what is below it
    ``allow``     item ids that may be found; ``deny``, those that may not
    ``locale``    where the query comes from: its items, if the catalogue tells them apart
    """

    category: str | None = None
    allow: Sequence[str] | None = None
    deny: Sequence[str] | None = None
    locale: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for restrictions that leave the same."""
        lists = (None if ids is None else tuple(ids) for ids in (self.allow, self.deny))
        return (self.category, self.locale, *lists)

    @property
    def language(self) -> str | None:
        """The language that the query is read in; None for any."""
        return None if self.locale is None else language_of(self.locale)

    def items(self, index: IndexVersion) -> Bools | None:
        """What may be found (items,); None for everything."""
        left: Bools | None = None
        for marks in self._marks(index):
            left = marks if left is None else left & marks
        return left

    def _marks(self, index: IndexVersion) -> Iterator[Bools]:
        """What each restriction leaves, (items,)."""
        if self.category is not None:
            yield _below(index, self.category)
        if self.locale is not None:
            found = _in_locale(index, self.locale)
            if found is not None:
                yield found
        for ids, inside in ((self.allow, True), (self.deny, False)):
            if ids is not None:
                marks = np.full(len(index.items), not inside)
                marks[index.items.rows_of([one for one in ids if _is_whole(one)])] = inside
                yield marks


def _is_whole(text: str) -> bool:
    """Whether a text can be one of the catalogue's: half a character (a lone surrogate) is in none."""
    return text.isascii() or not _HALF.search(text)


def _in_locale(index: IndexVersion, locale: str) -> Bools | None:
    """The items of a locale; None where the catalogue does not tell items apart by it."""
    if index.locales is None:
        if language_of(locale) is None:
            raise RarsError(f"There is no locale {locale!r}; choose {_listed(LANGUAGES)}.")
        return None
    found = index.locales.found_in(locale)
    if found is None:
        names = _listed(sorted(index.locales.names))
        raise RarsError(f"The catalogue has no items of the locale {locale!r}; it has {names}.")
    return found


def _below(index: IndexVersion, category: str) -> Bools:
    """The items at or below a category path of the catalogue."""
    if not _is_whole(category):
        raise RarsError(f"There is no category {category!r}.")
    name = SEPARATOR.join(part.strip() for part in category.split(SEPARATOR.strip()))
    paths = index.items.paths()
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
