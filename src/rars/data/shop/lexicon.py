"""The words of one language, read from its file.

Owns: turning ``words/en.toml``, ``es.toml`` or ``ja.toml`` into typed entries keyed like the world's leaves,
fields and features, and checking them: a file that misses a word, has one too many, calls two leaves by one
name or marks a text wrongly is refused. Ignores items, queries and word order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rars.data.shop.slips import same_text
from rars.data.shop.units import Form, Quantity
from rars.data.shop.world import WORDS, World, world
from rars.data.wordfile import WordTable, read_words
from rars.errors import RarsError

LOCALES = ("en", "es", "ja")

# The marks behind a name and their place among the forms: masculine, feminine, and their plurals. English has
# no genders: the feminine's place is taken by uncountable nouns. Japanese has neither.
_MARKS: dict[str, dict[str, int]] = {
    "en": {"": 0, "u": 1, "p": 2},
    "es": {"m": 0, "f": 1, "mp": 2, "fp": 3},
    "ja": {"": 0},
}

CONDITIONS = ("for", "part", "no_part", "content", "no_content", "ne", "at_least", "at_most")

_TEXTS = ("yes", "no", "for", "alias")
_LISTS = ("fillers", "adjectives", "companions", "openers", "closers")
_TABLES = """
agreeing modifiers ask shoe_sizes having quantities sentences departments middles values features leaves
"""
_IN, _IN_SENTENCE = ("{}",), ("{}", "{Cap}")
"""The marks of a word that is put into a phrase, and into a sentence."""


@dataclass(frozen=True)
class Noun:
    """A name of a leaf category; ``agreement`` is the place of its forms (2 and 3 are plurals)."""

    text: str
    agreement: int = 0

    @property
    def plural(self) -> bool:
        """Whether verbs and articles take their plural."""
        return self.agreement >= 2


@dataclass(frozen=True)
class LeafWords:
    """How a leaf is called: in the category path, in titles, by people; and what it is used for."""

    category: str
    names: tuple[Noun, ...]
    asked: tuple[str, ...]
    uses: tuple[str, ...]


@dataclass(frozen=True)
class Word:
    """A value of a field; four ``forms`` by agreement, the first is the one in the attributes."""

    forms: tuple[str, str, str, str]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class FeatureWord:
    """A feature's noun and the special words people type for having or lacking it."""

    noun: str
    asked_with: tuple[str, ...]
    asked_without: tuple[str, ...]
    inside: bool


@dataclass(frozen=True)
class Lexicon:
    """Every word and sentence of one language.

    The pairs ``yes_no``, ``part``, ``content`` and their sentences are for having and for lacking a feature.
    ``adjectives`` are the fields that an adjective says, in the order of the language; ``agreeing`` holds the
    four forms of each mark in a sentence that agrees with the noun.
    """

    locale: str
    departments: Mapping[str, str]
    middles: Mapping[str, str]
    leaves: tuple[LeafWords, ...]
    values: Mapping[str, Mapping[str, Word]]
    modifiers: Mapping[str, str]
    features: Mapping[str, FeatureWord]
    quantities: Mapping[str, Quantity]
    sentences: Mapping[str, tuple[str, ...]]
    openers: tuple[str, ...]
    part_sentences: tuple[tuple[str, ...], tuple[str, ...]]
    content_sentences: tuple[tuple[str, ...], tuple[str, ...]]
    companions: tuple[str, ...]
    alias: str
    closers: tuple[str, ...]
    fillers: tuple[str, ...]
    adjectives: tuple[str, ...]
    agreeing: Mapping[str, tuple[str, ...]]
    yes_no: tuple[str, str]
    for_: str
    part: tuple[str, str]
    content: tuple[str, str]
    ask: Mapping[str, tuple[str, ...]]

    def value(self, field: str, key: str) -> str:
        """A value as the attributes show it: a word, a quantity in its canonical form, or a device.

        >>> lexicon("es").value("battery", "10000"), lexicon("es").value("variety", "chicken")
        ('10000 mAh', 'pollo')
        """
        if field in self.quantities:
            return self.quantities[field].canonical(key)
        if field in self.values:
            word = self.values[field][key].forms[0]
            return word.removeprefix("de ") if self.locale == "es" else word
        return key


@cache
def lexicon(locale: str) -> Lexicon:
    """The words of a language: ``en``, ``es`` or ``ja``."""
    if locale not in LOCALES:
        raise RarsError(f"Unknown locale {locale!r}; choose one of {', '.join(LOCALES)}.")
    return read_lexicon(WORDS / f"{locale}.toml", locale)


def read_lexicon(path: Path, locale: str) -> Lexicon:
    """Read and check the file of a language."""
    file, earth = read_words(path), world()
    file.expect((*_TEXTS, *_LISTS, *_TABLES.split(), "decimal_comma"))
    agreeing = _agreeing(file.table("agreeing"))
    marks = [mark.strip() for mark in agreeing]
    part, part_sentences = _having(file.table("having"), "part", marks)
    content, content_sentences = _having(file.table("having"), "content", marks)
    middles = dict.fromkeys(leaf.middle for leaf in earth.leaves)
    return Lexicon(
        locale=locale,
        departments=_named(file.table("departments"), earth.departments),
        middles=_named(file.table("middles"), middles),
        leaves=_leaves(file.table("leaves"), earth, _MARKS[locale]),
        values=_values(file.table("values"), earth),
        modifiers=_modifiers(file.table("modifiers"), earth),
        features=_features(file.table("features"), earth),
        quantities=_quantities(file, earth),
        sentences=_sentences(file.table("sentences"), earth, marks),
        openers=_marked(
            file, "openers", ("{use}", "{noun}", "{brand}", "{Brand}", "{model}", *marks)
        ),
        part_sentences=part_sentences,
        content_sentences=content_sentences,
        companions=_marked(file, "companions", marks, _IN),
        alias=_phrase(file, "alias"),
        closers=_marked(file, "closers", ()),
        fillers=file.texts("fillers"),
        adjectives=_adjectives(file, earth),
        agreeing=agreeing,
        yes_no=(file.text("yes"), file.text("no")),
        for_=_phrase(file, "for"),
        part=part,
        content=content,
        ask=_ask(file.table("ask")),
    )


def _named(table: WordTable, keys: Mapping[str, None] | tuple[str, ...]) -> dict[str, str]:
    table.expect(keys)
    return {key: table.text(key) for key in keys}


def _phrase(table: WordTable, key: str) -> str:
    """A text that a word is put into."""
    text = table.text(key)
    table.placeholders(key, text, (), _IN)
    return text


def _marked(
    table: WordTable, key: str, marks: Collection[str], required: Collection[str] = ()
) -> tuple[str, ...]:
    """A list of sentences with only these marks in braces, and one of the required ones."""
    found = table.texts(key)
    for text in found:
        table.placeholders(key, text, marks, required)
    return found


def _agreeing(table: WordTable) -> dict[str, tuple[str, ...]]:
    for mark in table:
        if not re.fullmatch(r"\{\w+\} ?", mark):
            raise table.wrong(mark, "is not a word in braces")
    return {mark: table.forms(mark, (4,)) for mark in table}


Pair = tuple[str, str]
Pairs = tuple[tuple[str, ...], tuple[str, ...]]


def _having(tables: WordTable, kind: str, marks: list[str]) -> tuple[Pair, Pairs]:
    tables.expect(("part", "content"))
    table = tables.table(kind)
    table.expect(("has", "lacks", "has_sentences", "lacks_sentences"))
    has, lacks = (
        _marked(table, key, marks, _IN_SENTENCE) for key in ("has_sentences", "lacks_sentences")
    )
    return (_phrase(table, "has"), _phrase(table, "lacks")), (has, lacks)


def _leaves(tables: WordTable, earth: World, marks: Mapping[str, int]) -> tuple[LeafWords, ...]:
    tables.expect(leaf.key for leaf in earth.leaves)
    found = []
    means: dict[str, str] = {}
    for leaf in earth.leaves:
        table = tables.table(leaf.key)
        table.expect(("category", "names", "asked", "uses"))
        names = tuple(_noun(table, text, marks) for text in table.texts("names"))
        asked = table.texts("asked")
        found.append(LeafWords(table.text("category"), names, asked, table.texts("uses")))
        # A query by a name of two leaves would be judged by one while the person meant the other.
        for key, text in (
            *(("names", noun.text) for noun in names),
            *(("asked", t) for t in asked),
        ):
            if means.setdefault(same_text(text), leaf.key) != leaf.key:
                raise table.wrong(key, f"{text!r} is also a name of {means[same_text(text)]}")
    return tuple(found)


def _noun(table: WordTable, text: str, marks: Mapping[str, int]) -> Noun:
    name, _, mark = text.removesuffix(")").partition(" (")
    if mark not in marks or "(" in name or ")" in name:
        known = ", ".join(f"({mark})" if mark else "none" for mark in marks)
        raise table.wrong("names", f"{text!r} needs one of the marks: {known}")
    return Noun(name, marks[mark])


def _values(tables: WordTable, earth: World) -> dict[str, dict[str, Word]]:
    tables.expect(earth.fields.words)
    found: dict[str, dict[str, Word]] = {}
    for field in earth.fields.words:
        table = tables.table(field)
        table.expect(earth.values_of(field))
        found[field] = {key: _word(table.table(key)) for key in table}
    return found


def _word(table: WordTable) -> Word:
    table.expect(("say", "asked"))
    asked = table.texts("asked")
    if table.is_text("say"):
        one = table.text("say")
        return Word((one, one, one, one), asked)
    match table.forms("say", (2, 4)):
        case (first, second, third, fourth):
            return Word((first, second, third, fourth), asked)
        case (singular, plural, *_):
            return Word((singular, singular, plural, plural), asked)
    raise AssertionError("Forms are two or four.")


def _modifiers(table: WordTable, earth: World) -> dict[str, str]:
    table.expect((), optional=earth.fields.words)
    return {field: _phrase(table, field) for field in table}


def _features(tables: WordTable, earth: World) -> dict[str, FeatureWord]:
    tables.expect(earth.features)
    found = {}
    for key in tables:
        table = tables.table(key)
        table.expect(("noun",), optional=("with", "without"))
        has, lacks = (table.texts(kind) if kind in table else () for kind in ("with", "without"))
        found[key] = FeatureWord(table.text("noun"), has, lacks, key in earth.contents)
    return found


def _quantities(file: WordTable, earth: World) -> dict[str, Quantity]:
    tables, shoes = file.table("quantities"), file.table("shoe_sizes")
    tables.expect(earth.fields.quantities)
    renamed = _named(shoes, earth.values_of("shoe")) if any(True for _ in shoes) else {}
    found = {}
    for name in tables:
        table = tables.table(name)
        table.expect(("printed", "typed"))
        found[name] = Quantity(
            printed=_forms(table, "printed"),
            typed=_forms(table, "typed"),
            comma=file.flag("decimal_comma"),
            readable=earth.readable.get(name, (0.0, math.inf)),
            renamed=renamed if name == "shoe" else {},
        )
    return found


def _forms(table: WordTable, key: str) -> tuple[Form, ...]:
    texts = table.texts(key)
    for text in texts:
        if text.count("#") != 1:
            raise table.wrong(key, f"{text!r} needs one # for the number")
    return tuple(Form.parse(text) for text in texts)


def _sentences(table: WordTable, earth: World, marks: list[str]) -> dict[str, tuple[str, ...]]:
    fields = (*earth.fields.words, *earth.fields.quantities, *earth.fields.devices)
    table.expect(fields)
    return {field: _marked(table, field, marks, _IN_SENTENCE) for field in fields}


def _adjectives(file: WordTable, earth: World) -> tuple[str, ...]:
    found = file.texts("adjectives")
    for name in found:
        if name not in earth.fields.words:
            raise file.wrong("adjectives", f"there is no field {name!r}")
    return found


def _ask(table: WordTable) -> dict[str, tuple[str, ...]]:
    table.expect(CONDITIONS)
    found = {key: table.texts(key, repeats=True) for key in CONDITIONS}
    for key, texts in found.items():
        for text in texts:
            table.placeholders(key, text, (), _IN)
    return found
