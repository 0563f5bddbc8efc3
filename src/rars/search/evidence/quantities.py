"""Numbers and measures of items and queries.

Owns: finding quantities in a text ("30 x 40 cm", "10,000mAh", "1,5 l", "５００ミリ"), reading the
number, and their keys. Ignores negation and what units are worth (``units``).

A quantity with a unit is a measure; an item has it under its base units. A number without one is a number; an
item has the numbers of its measures too, so "30 x 40 poster" finds the 30 x 40 cm one. Codes such as
"N7", "E27" or "usb3" are words, not numbers. Prices and percentages are no constraints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import pyarrow as pa

from rars.search.evidence import units
from rars.search.evidence.attributes import joined_values
from rars.search.evidence.extractor import Constraint, Known, Mention
from rars.search.evidence.text import LETTER, Finds, Token, block_of, scan, scanner

_DIGITS = "[0-9]{1,15}"
_NUMBER = rf"{_DIGITS}(?:[.,]{_DIGITS})*|\.{_DIGITS}"
_FRACTION = r"(?:[0-9]{1,3}[ -])?[0-9]{1,3}[/⁄](?:[23458]|10|16|32|64)(?![0-9/⁄])"
_VALUE = rf"(?:{_FRACTION}|{_NUMBER})"
_BY = r" ?[x×*✕] ?| by | por "
_DIVIDED = re.compile(r"^(?:([0-9]+)[ -])?([0-9]+)[/⁄]([0-9]+)$")

_MANY = 100_000
"""Distinct surfaces whose reading is remembered."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it may be read, and its unit's readings (none for a bare number)."""

    values: tuple[float, ...]
    units: tuple[str, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Its keys as a number."""
        return tuple(f"number {value:.12g}" for value in self.values)

    @property
    def measures(self) -> tuple[str, ...]:
        """Its keys as a measure."""
        return tuple(
            f"measure {units.measure(value, unit)}" for value in self.values for unit in self.units
        )


class Quantities:
    """The extractor of numbers and measures: keys ``number N`` and ``measure N BASE_UNIT``."""

    name = "quantity"
    columns = ("title", "text", "attributes")

    def items(self, rows: pa.Table) -> Finds:
        """All quantities of title, text and attributes: each as a number, and as a measure if it is one."""
        block = block_of([rows["title"], rows["text"], joined_values(rows)])
        found = scan(_catalogue_pattern(), block)
        keys: dict[str, int] = {}
        lists = [
            [keys.setdefault(key, len(keys)) for key in _all_keys(surface)]
            for surface in found.surfaces
        ]
        return found.exploded(list(keys), lists)

    def mentions(self, folded: str, tokens: Sequence[Token], known: Known) -> list[Mention]:
        """The quantities a query asks for: measures where there is a unit, else numbers."""
        found = []
        for match in _pattern(known.language).finditer(folded):
            surface = match[0]
            if surface.endswith('"') and folded[: match.end() - 1].count('"') % 2:
                surface = surface[:-1]  # it closes a quotation
            constraints = tuple(_constraints(surface, known.language))
            if constraints:
                found.append(Mention(match.start(), match.start() + len(surface), constraints))
        return found


@lru_cache(_MANY)
def quantities(surface: str, language: str | None = None) -> tuple[Quantity, ...]:
    """The quantities of a found expression; sides of a length share the unit of the last.

    >>> quantities("30 x 40 cm")
    (Quantity(values=(30.0,), units=('centimeter',)), Quantity(values=(40.0,), units=('centimeter',)))
    >>> quantities("2 x 500 ml")[0]
    Quantity(values=(2.0,), units=())
    """
    if surface[0] in "$€£¥":
        return ()
    found: list[Quantity] = []
    shared: tuple[str, ...] = ()
    for match in reversed(list(_part(language).finditer(surface))):
        unit = units.readings(match["unit"].strip(" -")) if match["unit"] else ()
        if unit and set(unit) <= units.LENGTHS:
            shared = unit
        if units.NOTHING in unit:
            continue
        own = tuple(one for one in unit or shared if one != units.COUNT)
        values = tuple(value for value in read_number(match["value"], language) if value > 0)
        if values:
            found.append(Quantity(values, own))
    return tuple(reversed(found))


def read_number(text: str, language: str | None = None) -> tuple[float, ...]:
    """The number or numbers that digits, separators and fractions may mean, in a language if it is known.

    >>> read_number("10,000"), read_number("1,5"), read_number("1.500"), read_number("1 1/2")
    ((10000.0,), (1.5,), (1.5, 1500.0), (1.5,))
    >>> read_number("1.500", "en"), read_number("1,500", "es")
    ((1.5,), (1500.0, 1.5))
    """
    divided = _DIVIDED.match(text)
    if divided:
        whole, above, below = (int(part or 0) for part in divided.groups())
        return (whole + above / below,)
    points, commas = text.count("."), text.count(",")
    if points and commas:
        decimal = max(".,", key=text.rfind)
        return _plain(text, decimal) if text.count(decimal) == 1 else ()
    if not points + commas:
        return (float(text),)
    mark = "." if points else ","
    groups = text.split(mark)
    thousands = 0 < len(groups[0]) <= 3 and groups[0] != "0" and set(map(len, groups[1:])) == {3}
    if len(groups) > 2:
        return (float("".join(groups)),) if thousands else ()
    if not thousands:
        return _plain(text, mark)
    # "1,500" is a thousand and a half; "1.500" may be that in Spanish, or one and a half.
    whole_number = float("".join(groups))
    if mark == ",":
        return (whole_number, *_plain(text, mark)) if language == "es" else (whole_number,)
    return (float(text), whole_number) if language in (None, "es") else (float(text),)


def _plain(text: str, decimal: str) -> tuple[float, ...]:
    other = "," if decimal == "." else "."
    return (float(text.replace(other, "").replace(decimal, ".")),)


def _constraints(surface: str, language: str | None) -> Iterator[Constraint]:
    for quantity in quantities(surface, language):
        if quantity.units:
            yield Constraint("measure", surface, quantity.measures)
        else:
            yield Constraint("number", surface, quantity.numbers)


def _all_keys(surface: str) -> list[str]:
    found = quantities(surface)
    return list(dict.fromkeys(key for one in found for key in one.numbers + one.measures))


@cache
def _expression(language: str | None = None) -> str:
    """One quantity, or several joined by "x" or "by"; not a part of a word, a code or a version."""
    unit = f"(?:{units.expression(LETTER, language)})"
    ends = rf"(?!(?!x ?[0-9]){LETTER})(?![.,/⁄][0-9])"
    one = rf"{_VALUE}(?:{unit}|{ends})"
    money = rf"[$€£¥] ?{_VALUE}"
    begins = rf"(?<!{LETTER})(?<![0-9][.,/⁄])"
    return rf"(?=[x.0-9$€£¥]){begins}(?:{money}|x?{one}(?:(?:{_BY}){one})*)"


@cache
def _pattern(language: str | None) -> re.Pattern[str]:
    return re.compile(_expression(language))


@cache
def _catalogue_pattern() -> re.Pattern[str]:
    return scanner(_expression())


@cache
def _part(language: str | None) -> re.Pattern[str]:
    unit = units.expression(LETTER, language)
    return re.compile(rf"(?P<value>{_VALUE})(?P<unit>{unit})?")
