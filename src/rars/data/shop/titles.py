"""Word order of titles: five patterns in each language.

Owns: how brand, model, noun, adjectives, sizes and features are put in line. Ignores which of them an
item's title mentions (``items``): whatever is missing is left out with its comma.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TitleParts:
    """The mentioned parts of a title, already in the words of the language; empty if not mentioned."""

    brand: str
    model: str
    noun: str
    adjectives: Sequence[str]
    purposes: Sequence[str]
    features: Sequence[str]
    sizes: Sequence[str]
    pack: str


PATTERN_WEIGHTS = (0.34, 0.22, 0.18, 0.14, 0.12)


def english(parts: TitleParts, pattern: int) -> str:
    """Adjectives before the noun; sizes behind commas or dashes."""
    maker = _line(parts.brand, parts.model)
    core = _line(*parts.adjectives, parts.noun)
    tail = _line(*parts.purposes, *parts.features)
    match pattern:
        case 0:
            return _list(_line(maker, core, tail), *parts.sizes, parts.pack)
        case 1:
            return _dashed(_line(core, tail), _list(*parts.sizes, parts.pack), maker)
        case 2:
            name = _line(parts.brand, parts.noun, parts.model, *parts.purposes)
            return _list(name, *parts.adjectives, *parts.sizes, *parts.features, parts.pack)
        case 3:
            by = f"by {parts.brand}" if parts.brand else ""
            return _list(
                _line(core, *parts.purposes, by), parts.pack, *parts.sizes, *parts.features
            )
        case _:
            return _line(parts.brand, *parts.sizes[:1], core, tail, _round(parts.pack))


def spanish(parts: TitleParts, pattern: int) -> str:
    """The noun first, what describes it behind it."""
    maker = _line(parts.brand, parts.model)
    noun = parts.noun[:1].upper() + parts.noun[1:]
    core = _line(noun, *parts.adjectives)
    tail = _line(*parts.purposes, *parts.features)
    match pattern:
        case 0:
            return _dashed(maker, _list(_line(core, tail), *parts.sizes, parts.pack))
        case 1:
            return _line(noun, maker, *parts.adjectives, tail, *parts.sizes, _round(parts.pack))
        case 2:
            return _list(_line(core, tail), *parts.sizes, parts.pack, maker)
        case 3:
            sizes = _round(_list(*parts.sizes, parts.pack))
            return _dashed(_line(core, *parts.purposes, sizes, *parts.features), parts.brand)
        case _:
            name = _line(noun, parts.brand, parts.model, *parts.purposes)
            return _list(name, *parts.sizes, *parts.features, *parts.adjectives, parts.pack)


def japanese(parts: TitleParts, pattern: int) -> str:
    """Words side by side, as shops in Japan list them."""
    rest = (*parts.sizes, *parts.adjectives, *parts.features, *parts.purposes, parts.pack)
    match pattern:
        case 0:
            return _line(parts.brand, parts.noun, *rest, parts.model)
        case 1:
            first = parts.pack or (parts.features[0] if parts.features else "")
            head = f"【{first}】" if first else ""
            return head + _line(
                parts.brand, parts.model, parts.noun, *(part for part in rest if part != first)
            )
        case 2:
            return _line(parts.noun, *rest, parts.brand)
        case 3:
            inner = "・".join((*parts.adjectives, *parts.sizes))
            name = parts.noun + (f"（{inner}）" if inner else "")
            others = (*parts.features, *parts.purposes, parts.pack)
            return _line(parts.brand, parts.model, name, *others)
        case _:
            ahead = (*parts.purposes, *parts.adjectives)
            behind = (*parts.features, *parts.sizes, parts.pack, parts.brand, parts.model)
            return _line(*ahead, parts.noun, *behind)


WRITERS: dict[str, Callable[[TitleParts, int], str]] = {
    "en": english,
    "es": spanish,
    "ja": japanese,
}


def capitals(text: str) -> str:
    """English title case; words that carry their own capitals or digits stay as they are.

    >>> capitals("over-ear headphones"), capitals("USB flash drive"), capitals("pack of 3")
    ('Over-Ear Headphones', 'USB Flash Drive', 'Pack of 3')
    """
    return " ".join(_capital(word) for word in text.split(" "))


def _capital(word: str) -> str:
    if word in ("of", "and", "for", "with", "the", "in", "by", "up", "to"):
        return word
    return "-".join(piece[:1].upper() + piece[1:] for piece in word.split("-"))


def _line(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _list(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _dashed(*parts: str) -> str:
    return " - ".join(part for part in parts if part)


def _round(text: str) -> str:
    return f"({text})" if text else ""
