"""The names of colours, read from ``words/colors.toml``.

Owns: reading and checking the file. Every colour has names in every language; a name means one colour, in
whatever language it is said; a family is a colour without a family. Ignores texts (``colors``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rars.data.wordfile import read_words
from rars.data.words import fold
from rars.search.evidence.languages import LANGUAGES

FILE = Path(__file__).parent / "words" / "colors.toml"


class ColorWords(NamedTuple):
    """Folded names by colour and language, the family of each shade, and phrases that name no colour."""

    names: Mapping[str, Mapping[str, tuple[str, ...]]]
    families: Mapping[str, str]
    phrases: tuple[str, ...]


@cache
def color_words() -> ColorWords:
    """The names of colours that come with the package, read once."""
    return read_color_words(FILE)


def read_color_words(path: Path) -> ColorWords:
    """Read and check a file of colour names."""
    file = read_words(path)
    file.expect(("colors", "phrases"))
    colors, phrases = file.table("colors"), file.table("phrases")
    means: dict[str, str] = {}
    names: dict[str, dict[str, tuple[str, ...]]] = {}
    families = {}
    for color in colors:
        entry = colors.table(color)
        entry.expect(LANGUAGES, optional=("family",))
        if "family" in entry:
            families[color] = entry.text("family")
        names[color] = {}
        for language in LANGUAGES:
            names[color][language] = tuple(map(fold, entry.texts(language)))
            for name in names[color][language]:
                if means.setdefault(name, color) != color:
                    raise entry.wrong(language, f"{name!r} is also a name of {means[name]}")
    for color, family in families.items():
        if family not in names or family in families:
            raise colors.table(color).wrong("family", f"{family!r} is no colour without a family")
    phrases.expect(LANGUAGES)
    kept = []
    for language in LANGUAGES:
        for phrase in map(fold, phrases.texts(language)):
            if phrase in means:
                raise phrases.wrong(language, f"{phrase!r} is also a name of {means[phrase]}")
            kept.append(phrase)
    return ColorWords(names, families, tuple(kept))
