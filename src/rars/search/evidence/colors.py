"""Colours of items and queries, under all the names people use.

Owns: matching colour names as whole words, in the colour field or the title of an item (and in attributes
that are about colour) and in a query. Ignores the names themselves (``color_words``) and negation.

Japanese has no spaces, so a name counts only where it can be a word. A katakana name must begin a run of
katakana and leave room for a word behind it (``ブルーヘッドホン``, not ``ブルース``). A lone kanji must not
touch another kanji and must be followed by what may follow a colour: the ``赤`` of ``赤ちゃん``, a baby,
is not red, and the ``茶`` of ``お茶`` is not brown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import pyarrow as pa

from rars.search.evidence.attributes import joined_values
from rars.search.evidence.color_words import color_words
from rars.search.evidence.extractor import Constraint, Known, Mention
from rars.search.evidence.languages import read_in
from rars.search.evidence.text import (
    HAN,
    HIRAGANA,
    KATAKANA,
    LETTER,
    Finds,
    Token,
    block_of,
    is_cjk,
    scan,
    scanner,
    unaccented,
)

_GAP = re.compile(r"[ -]+")

# What may follow a colour written as one kanji: an ending, a particle, another script, nothing.
_AFTER_KANJI = (
    rf"(?!(?!以外|不要|無し|抜き|系)[{HAN}])(?![{HIRAGANA}](?<![いのでとやがはをにもなか]))"
)
_ROOM = rf"(?![{KATAKANA}]{{1,2}}(?![{KATAKANA}]))"
"""Behind a katakana name: nothing more of the run, or enough for a word."""


class Colors:
    """The extractor of colours: keys ``color NAME``."""

    name = "color"
    columns = ("title", "color", "attributes")

    def items(self, rows: pa.Table) -> Finds:
        """The colours named in title, colour field and colour attributes, each with its family."""
        block = block_of([rows["title"], rows["color"], joined_values(rows, "colou?r$")])
        found = scan(_catalogue_pattern(), block)
        keys: dict[str, int] = {}
        lists = [
            [keys.setdefault(f"color {name}", len(keys)) for name in _with_family(surface)]
            for surface in found.surfaces
        ]
        return found.exploded(list(keys), lists)

    def mentions(self, folded: str, tokens: Sequence[Token], known: Known) -> list[Mention]:
        """The colours a query names."""
        found = []
        for match in _pattern(known.language).finditer(folded):
            name = canonical(match[0])
            if name is not None:
                constraint = Constraint("color", match[0], _keys(name, known))
                found.append(Mention(match.start(), match.end(), (constraint,)))
        return found


def canonical(surface: str) -> str | None:
    """The colour of a name in any language; nothing for what is none or only sounds like one.

    >>> canonical("azul-marino"), canonical("ブラック"), canonical("green tea")
    ('navy', 'black', None)
    """
    return _tables()[0].get(_GAP.sub(" ", surface))


def family_of(color: str) -> str | None:
    """The plainer colour that a shade belongs to.

    >>> family_of("navy"), family_of("red")
    ('blue', None)
    """
    return _tables()[1].get(color)


def _keys(name: str, known: Known) -> tuple[str, ...]:
    """The keys that satisfy a colour; where the catalogue never names the shade, its family will do."""
    family = family_of(name)
    if family is not None and not known.keys.items(f"color {name}"):
        return f"color {name}", f"color {family}"
    return (f"color {name}",)


def _with_family(surface: str) -> list[str]:
    name = canonical(surface)
    return [one for one in (name, family_of(name) if name else None) if one]


@cache
def _tables(
    language: str | None = None,
) -> tuple[Mapping[str, str | None], Mapping[str, str]]:
    """Every alias with its colour, and every shade with its family; phrases are those of all languages."""
    words = color_words()
    aliases: dict[str, str | None] = {}
    read = read_in(language)
    for color, names in words.names.items():
        for name in (name for own in names if own in read for name in names[own]):
            aliases.update(dict.fromkeys(_spellings(name), color))
    for phrase in words.phrases:
        aliases.update(dict.fromkeys(_spellings(phrase), None))
    return aliases, words.families


def _spellings(folded: str) -> tuple[str, ...]:
    """A name, and the same without accents if it has any."""
    if folded.isascii():
        return (folded,)
    # An accent is often left out, but ñ is a letter of its own.
    return folded, unaccented(folded.replace("ñ", "\0")).replace("\0", "ñ")


@cache
def _expression(language: str | None = None) -> str:
    names = sorted(_tables(language)[0], key=len, reverse=True)
    spaced = [name for name in names if not is_cjk(name[0])]
    words = "|".join(re.escape(name).replace(r"\ ", "[ -]") for name in spaced)
    others = [name for name in names if is_cjk(name[0])]
    return "|".join(
        (
            rf"{_gate(spaced)}(?<!{LETTER})(?:{words})(?!{LETTER})",
            rf"{_gate(others)}(?:{_japanese(others)})",
        )
    )


def _gate(names: Sequence[str]) -> str:
    """A glance at one character, before the many names are tried."""
    return f"(?=[{''.join(sorted({name[0] for name in names}))}])"


@cache
def _pattern(language: str | None) -> re.Pattern[str]:
    return re.compile(_expression(language))


@cache
def _catalogue_pattern() -> re.Pattern[str]:
    return scanner(_expression())


def _japanese(names: Sequence[str]) -> str:
    """Names without spaces, given longest first, each between what may stand around it.

    Names of one length and kind share their surroundings: far fewer of these are compiled, and as no two
    names of one length can match at one place, the longest name still wins.
    """
    groups: dict[tuple[int, str, str], list[str]] = {}
    for name in names:
        groups.setdefault((len(name), *_around(name)), []).append(re.escape(name))
    return "|".join(
        f"{before}(?:{'|'.join(some)}){behind}" for (_, before, behind), some in groups.items()
    )


def _around(name: str) -> tuple[str, str]:
    """What must hold before and behind a Japanese name."""
    if _tables()[0][name] is None:
        return "", ""
    if re.fullmatch(f"[{KATAKANA}]+", name):
        return rf"(?<![{KATAKANA}])", _ROOM
    if name.endswith("色"):
        return rf"(?<![{HAN}])", ""
    if re.fullmatch(f"[{HIRAGANA}ー]+", name):
        return rf"(?<![{HAN}{HIRAGANA}])", rf"(?![{HIRAGANA}](?<![いのでとや])|[{HAN}])"
    return rf"(?<![{HAN}おご])", _AFTER_KANJI
