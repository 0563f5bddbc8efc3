"""Colours of items and queries, under all the names people use.

Owns: matching colour names as whole words, in the colour field or the title of an item (and in attributes
that are about colour) and in a query. Ignores negation.

Japanese has no spaces, so a name counts only where it can be a word. A katakana name must begin a run of
katakana and leave room for a word behind it (``ブルーヘッドホン``, not ``ブルース``). A lone kanji must not
touch another kanji and must be followed by what may follow a colour: the ``赤`` of ``赤ちゃん``, a baby,
is not red, and the ``茶`` of ``お茶`` is not brown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import pyarrow as pa

from rars.data.words import fold
from rars.search.evidence.attributes import joined_values
from rars.search.evidence.color_words import COLORS, PHRASES
from rars.search.evidence.extractor import Constraint, Known, Mention
from rars.search.evidence.languages import LANGUAGES, read_in
from rars.search.evidence.text import (
    HAN,
    HIRAGANA,
    KATAKANA,
    LETTER,
    Found,
    Token,
    block_of,
    is_cjk,
    scan,
    scanner,
    unaccented,
)

_FORMS = re.compile(r"^(.*)\((.*)\)$")
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

    def items(self, rows: pa.Table) -> Found:
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
    """The colour of a name in any language; nothing for a phrase that only sounds like one.

    >>> canonical("azul marino"), canonical("ブラック"), canonical("green tea")
    ('navy', 'black', None)
    """
    return _tables()[0][_GAP.sub(" ", surface)]


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
def _tables(language: str | None = None) -> tuple[dict[str, str | None], dict[str, str]]:
    """Every alias with its colour, and every shade with its family; phrases are those of all languages."""
    aliases: dict[str, str | None] = {}
    families = {}
    read = read_in(language)
    for line in COLORS.strip().splitlines():
        head, _, names = line.partition("=")
        color, _, family = (part.strip() for part in head.partition("<"))
        if family:
            families[color] = family
        for own, of_language in zip(LANGUAGES, names.split("|"), strict=True):
            for name in of_language.split(",") if own in read else ():
                aliases.update(dict.fromkeys(_forms(name.strip()), color))
    for phrase in PHRASES.replace("\n", "").split(","):
        aliases.update(dict.fromkeys(_forms(phrase.strip()), None))
    return aliases, families


def _forms(name: str) -> Iterator[str]:
    """All spellings of one entry of the table: endings, with and without accents."""
    matched = _FORMS.match(name)
    for form in [matched[1] + end for end in matched[2].split()] if matched else [name]:
        folded = fold(form)
        yield folded
        # An accent is often left out, but ñ is a letter of its own.
        yield unaccented(folded.replace("ñ", "\0")).replace("\0", "ñ")


@cache
def _expression(language: str | None = None) -> str:
    names = sorted(_tables(language)[0], key=len, reverse=True)
    spaced = [name for name in names if not is_cjk(name[0])]
    words = "|".join(re.escape(name).replace(r"\ ", "[ -]") for name in spaced)
    others = [name for name in names if is_cjk(name[0])]
    return "|".join(
        (
            rf"{_gate(spaced)}(?<!{LETTER})(?:{words})(?!{LETTER})",
            rf"{_gate(others)}(?:{'|'.join(map(_japanese, others))})",
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


def _japanese(name: str) -> str:
    if _tables()[0][name] is None:
        return name
    if re.fullmatch(f"[{KATAKANA}]+", name):
        return rf"{name}(?<![{KATAKANA}]{name}){_ROOM}"
    if name.endswith("色"):
        return rf"{name}(?<![{HAN}]{name})"
    if re.fullmatch(f"[{HIRAGANA}ー]+", name):
        return rf"{name}(?<![{HAN}{HIRAGANA}]{name})(?![{HIRAGANA}](?<![いのでとや])|[{HAN}])"
    return rf"{name}(?<![{HAN}おご]{name}){_AFTER_KANJI}"
