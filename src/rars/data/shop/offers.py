"""Offers: how sellers write the title of the same product.

Owns: making a finished title untidy: shouted, abbreviated, cut or padded with phrases that mean nothing; and
slips in titles. The words are in ``words/offers.toml``. Ignores what the title says, and which titles are
touched is decided by their position alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rars.data.shop import slips
from rars.data.shop.draws import Draw, key, uniforms
from rars.data.shop.lexicon import LOCALES
from rars.data.shop.realism import Realism
from rars.data.shop.world import WORDS
from rars.data.wordfile import read_words

SHORTEST = 3
"""Words that a cut leaves at least; in Japanese, characters by three."""


@dataclass(frozen=True)
class Habits:
    """What sellers of one language shorten and add."""

    short: Mapping[str, str]
    phrases: tuple[str, ...]
    pattern: re.Pattern[str]


@cache
def habits(locale: str) -> Habits:
    """The habits of sellers in a language."""
    return read_habits(WORDS / "offers.toml")[locale]


def read_habits(path: Path) -> dict[str, Habits]:
    """Read and check the file of habits."""
    file = read_words(path)
    file.expect(LOCALES)
    found = {}
    for locale in LOCALES:
        table = file.table(locale)
        table.expect(("phrases", "short"))
        words = table.table("short")
        short = {word: words.text(word) for word in words}
        # The longest first, so that "without" is not read as "with".
        known = "|".join(re.escape(word) for word in sorted(short, key=len, reverse=True))
        pattern = re.compile(known if locale == "ja" else rf"\b(?:{known})\b")
        found[locale] = Habits(short, table.texts("phrases"), pattern)
    return found


def offered(titles: list[str], locale: str, seed: int, start: int, realism: Realism) -> list[str]:
    """The titles of consecutive items as their sellers write them."""
    if realism.untidy == 0 and realism.misspelt == 0:
        return titles
    places = np.arange(start, start + len(titles))
    styles = uniforms(key(seed, "untidy"), places)
    slipped = uniforms(key(seed, "misspelt"), places) < realism.misspelt
    written = list(titles)
    for row in np.flatnonzero((styles < realism.untidy) | slipped).tolist():
        draw = Draw(key(seed, "offer", start + row))
        if styles[row] < realism.untidy:
            style = _STYLES[int(styles[row] / realism.untidy * len(_STYLES))]
            written[row] = style(written[row], locale, draw)
        if slipped[row]:
            slip = slips.mistype_kana if locale == "ja" else slips.mistype
            written[row] = slip(written[row], draw)
    return written


def shouted(title: str, locale: str, draw: Draw) -> str:
    """In capitals; in Japanese with wide digits."""
    return slips.full_width_digits(title) if locale == "ja" else title.upper()


def abbreviated(title: str, locale: str, draw: Draw) -> str:
    """With the short forms of sellers.

    >>> abbreviated("Mug, Black, with Lid, Pack of 2", "en", Draw(0))
    'Mug, BLK, w/ Lid, Pk 2'
    """
    known = habits(locale)
    return known.pattern.sub(lambda found: known.short[found.group()], title)


def cut(title: str, locale: str, draw: Draw) -> str:
    """Only its first part, as where a form had no more room."""
    parts = title.split(" ")
    if len(parts) <= SHORTEST:
        return title
    kept = SHORTEST + draw.below(len(parts) - SHORTEST)
    return " ".join(parts[:kept]).rstrip(",-（(・ ")


def padded(title: str, locale: str, draw: Draw) -> str:
    """With a phrase that means nothing, ahead or behind."""
    phrase = draw.pick(habits(locale).phrases)
    gap = "" if locale == "ja" else " "
    return f"{phrase}{gap}{title}" if draw.chance(0.5) else f"{title}{gap or ' '}{phrase}"


_STYLES: tuple[Callable[[str, str, Draw], str], ...] = (shouted, abbreviated, cut, padded)
