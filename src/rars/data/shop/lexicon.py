"""The words of one language, read from its tables.

Owns: turning the text blocks of ``words_*``, ``phrases_*`` and ``features_*`` into typed entries keyed
like the world's leaves, fields and features. Ignores items, queries and word order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from rars.data.shop import (
    features_en,
    features_es,
    features_ja,
    phrases_en,
    phrases_es,
    phrases_ja,
    words_en,
    words_es,
    words_ja,
)
from rars.data.shop.units import Form, Quantity
from rars.data.shop.world import CONTENTS, world
from rars.errors import RarsError

_TABLES: dict[str, tuple[ModuleType, ModuleType, ModuleType]] = {
    "en": (words_en, phrases_en, features_en),
    "es": (words_es, phrases_es, features_es),
    "ja": (words_ja, phrases_ja, features_ja),
}
LOCALES = tuple(_TABLES)

AGREEMENTS = ("m", "f", "mp", "fp")


@dataclass(frozen=True)
class Noun:
    """A name of a leaf category; ``agreement`` is its index in ``AGREEMENTS`` (2 and 3 are plurals)."""

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
    """Every word and sentence of one language."""

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
    if locale not in _TABLES:
        raise RarsError(f"Unknown locale {locale!r}; choose one of {', '.join(LOCALES)}.")
    words, phrases, featured = _TABLES[locale]
    features = {f: f.replace("_", " ") for leaf in world().leaves for f in leaf.features}
    features.update(_pairs(featured.FEATURES))
    return Lexicon(
        locale=locale,
        departments=_pairs(words.DEPARTMENTS),
        middles=_pairs(words.MIDDLES),
        leaves=_leaves(words.LEAVES),
        values=_values(phrases.VALUES),
        modifiers=phrases.MODIFIERS,
        features={key: _feature(key, text) for key, text in features.items()},
        quantities={
            name: _quantity(locale, name, text) for name, text in _pairs(phrases.QUANTITIES).items()
        },
        sentences={name: _split(text, " / ") for name, text in _pairs(phrases.SENTENCES).items()},
        openers=tuple(phrases.OPENERS.strip().splitlines()),
        part_sentences=_two_lines(featured.PART_SENTENCES),
        content_sentences=_two_lines(featured.CONTENT_SENTENCES),
        companions=_split(phrases.COMPANIONS, " / "),
        alias=phrases.ALIAS,
        closers=tuple(phrases.CLOSERS.strip().splitlines()),
        yes_no=phrases.YES_NO,
        for_=phrases.FOR,
        part=featured.PART,
        content=featured.CONTENT,
        ask={name: _split(text, " / ") for name, text in _pairs(phrases.ASK).items()},
    )


def _split(text: str, by: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(by) if part.strip())


def _pairs(block: str) -> dict[str, str]:
    lines = (line.split(" = ", 1) for line in block.strip().splitlines())
    return {key.strip(): text.strip() for key, text in lines}


def _two_lines(block: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first, second = block.strip().splitlines()
    return _split(first, " / "), _split(second, " / ")


def _leaves(block: str) -> tuple[LeafWords, ...]:
    lines = block.strip().splitlines()
    found = {}
    for head, ask, use in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        key, names = head.split(" = ")
        category, titles = names.split(" | ")
        found[key] = LeafWords(
            category=category,
            names=tuple(_noun(name) for name in titles.split(", ")),
            asked=_split(ask.strip().removeprefix("ask:"), ","),
            uses=_split(use.strip().removeprefix("use:"), ";"),
        )
    return tuple(found[leaf.key] for leaf in world().leaves)


def _noun(text: str) -> Noun:
    found = re.fullmatch(r"(.+) \((m|f|mp|fp|p|u)\)", text)
    if found is None:
        return Noun(text)
    # English has no genders: the feminine's place is taken by uncountable nouns.
    mark = {"p": "mp", "u": "f"}.get(found[2], found[2])
    return Noun(found[1], AGREEMENTS.index(mark))


def _values(block: str) -> dict[str, dict[str, Word]]:
    found: dict[str, dict[str, Word]] = {}
    field = ""
    for line in block.strip().splitlines():
        if line.startswith("["):
            field = line.strip("[]")
            found[field] = {}
            continue
        key, text = line.split(" = ")
        forms, asked = text.split(" | ")
        found[field][key] = Word(_forms(forms), _split(asked, ","))
    return found


def _forms(text: str) -> tuple[str, str, str, str]:
    match text.split("/"):
        case [one]:
            return one, one, one, one
        case [singular, plural]:
            return singular, singular, plural, plural
        case [first, second, third, fourth]:
            return first, second, third, fourth
    raise ValueError(f"The forms {text!r} are neither one, two nor four.")


def _feature(key: str, text: str) -> FeatureWord:
    noun, with_, without = (*text.split(" | "), "", "")[:3]
    return FeatureWord(noun, _split(with_, ","), _split(without, ","), key in CONTENTS)


def _quantity(locale: str, name: str, text: str) -> Quantity:
    printed, typed = text.split(" | ")
    return Quantity(
        name=name,
        printed=tuple(Form.parse(part) for part in printed.split("; ")),
        typed=tuple(Form.parse(part) for part in typed.split("; ")),
        comma=locale == "es",
        feet=locale == "ja" and name == "shoe",
    )
