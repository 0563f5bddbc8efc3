"""Themes: the long tail of what products show or whom they are for.

Owns: reading ``words/themes.toml``; which themes a leaf's products have (motifs on decorated goods, circles
of people and occasions otherwise), and how titles, descriptions and people say them. Ignores which products
have one (``facts``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rars.data.shop.draws import Draw
from rars.data.shop.lexicon import LOCALES
from rars.data.shop.titles import capitals
from rars.data.shop.world import WORDS, world
from rars.data.wordfile import WordTable, read_words

NO_THEME = -1
SKEW = 0.3
OWN_WORD_SHARE = 0.6
"""How often people use the word that titles use."""
MOTIF, CIRCLE = "motif", "circle"


@dataclass(frozen=True)
class Saying:
    """How a kind of theme is said; each text has one place for the word."""

    title: str
    text: str
    asked: tuple[str, ...]


@dataclass(frozen=True)
class Theme:
    """A theme by its key; the first of its words in each language is that of titles."""

    key: str
    kind: str
    words: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Themes:
    """All themes, motifs first; ``decorated`` are the leaves (indices) whose goods show motifs."""

    all: tuple[Theme, ...]
    motifs: int
    decorated: frozenset[int]
    sayings: Mapping[tuple[str, str], Saying]
    asides: Mapping[str, tuple[str, ...]]

    def range_of(self, leaf: int) -> range:
        """The themes that products of a leaf can have, as positions in ``all``."""
        if leaf in self.decorated:
            return range(self.motifs)
        return range(self.motifs, len(self.all))

    def word(self, theme: int, locale: str) -> str:
        """A theme as the attributes show it."""
        return self.all[theme].words[locale][0]

    def in_title(self, theme: int, locale: str) -> str:
        """What a title says of it."""
        one = self.all[theme]
        polish = capitals if locale == "en" else str
        return self.sayings[one.kind, locale].title.format(polish(one.words[locale][0]))

    def in_text(self, theme: int, locale: str) -> str:
        """What a description says of it."""
        one = self.all[theme]
        return self.sayings[one.kind, locale].text.format(one.words[locale][0])

    def aside(self, draw: float, locale: str) -> str:
        """Words of other themes, to be found by more people; which and how many follow from one draw."""
        sentence, comma = self.asides[locale]
        state = int(draw * 2**32)
        count = 2 + state % 4
        places = [(state // 7 + 1 + 59 * (state // 11 % 13 + 1) * i) for i in range(count)]
        named = [self.word(place % len(self.all), locale) for place in places]
        return sentence.format(comma.join(dict.fromkeys(named)))

    def asked(self, theme: int, locale: str, draw: Draw) -> str:
        """What a person types for it."""
        one = self.all[theme]
        own, *others = one.words[locale]
        word = own if draw.chance(OWN_WORD_SHARE) else draw.pick(others)
        return draw.pick(self.sayings[one.kind, locale].asked).format(word)


@cache
def themes() -> Themes:
    """The themes of the shop; they are the same for every seed, size and language."""
    return read_themes(WORDS / "themes.toml")


def read_themes(path: Path) -> Themes:
    """Read and check the file of themes."""
    file = read_words(path)
    file.expect(("decorated", "saying", "aside", "motifs", "circles"))
    index = {leaf.key: leaf.index for leaf in world().leaves}
    decorated = file.texts("decorated")
    for name in decorated:
        if name not in index:
            raise file.wrong("decorated", f"there is no leaf {name!r}")
    motifs = _themes(file.table("motifs"), MOTIF)
    return Themes(
        all=(*motifs, *_themes(file.table("circles"), CIRCLE)),
        motifs=len(motifs),
        decorated=frozenset(index[name] for name in decorated),
        sayings=_sayings(file.table("saying")),
        asides=_asides(file.table("aside")),
    )


def _themes(tables: WordTable, kind: str) -> tuple[Theme, ...]:
    found = []
    for key in tables:
        table = tables.table(key)
        table.expect(LOCALES)
        found.append(
            Theme(key, kind, {one: table.texts(one, least=2, repeats=True) for one in LOCALES})
        )
    return tuple(found)


def _asides(table: WordTable) -> dict[str, tuple[str, ...]]:
    table.expect(LOCALES)
    found = {locale: table.forms(locale, (2,)) for locale in LOCALES}
    for locale, (sentence, _) in found.items():
        table.placeholders(locale, sentence, (), ("{}",))
    return found


def _sayings(tables: WordTable) -> dict[tuple[str, str], Saying]:
    tables.expect((MOTIF, CIRCLE))
    found = {}
    for kind in (MOTIF, CIRCLE):
        tables.table(kind).expect(LOCALES)
        for locale in LOCALES:
            table = tables.table(kind).table(locale)
            table.expect(("title", "text", "asked"))
            title, text, asked = table.text("title"), table.text("text"), table.texts("asked")
            for key, said in (("title", title), ("text", text), *(("asked", one) for one in asked)):
                table.placeholders(key, said, (), ("{}",))
            found[kind, locale] = Saying(title, text, asked)
    return found
