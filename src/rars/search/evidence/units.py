"""Units of measure by all their names, and their size in base units.

Owns: reading and checking the names in ``words/units.toml``, and the key under which equal measures meet.
Ignores where numbers stand in a text (``quantities``). The arithmetic is pint's, imported when the first
measure is met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rars.data.wordfile import read_words
from rars.search.evidence.languages import LANGUAGES
from rars.search.evidence.text import unaccented

if TYPE_CHECKING:
    import pint

COUNT, NOTHING = "count", "nothing"
"""Not measures: how many there are (the bare number counts); prices and shares (no constraint at all)."""

LENGTHS = frozenset(("micrometer", "millimeter", "centimeter", "meter", "inch", "foot", "yard"))
"""Units that are shared by the sides of "30 x 40 cm"."""

FILE = Path(__file__).parent / "words" / "units.toml"

_NOT_INCH = r"(?![ -]?[0-9])(?! (?:an?|the|one|stock|pack)\b)"
"""Behind a number, "in" is a unit unless it goes on like "2 in 1" or "5 in a box"."""

_DIGITS = 3
"""Significant digits of a measure: 12 fl oz (354.9 ml) is sold as 355 ml, 17 inch (43.18 cm) as 43.2 cm."""


class UnitWords(NamedTuple):
    """The readings of every name, and for each language the names that are other words in it.

    A name that must touch its number carries a ``+``.
    """

    readings: Mapping[str, tuple[str, ...]]
    foreign: Mapping[str, tuple[str, ...]]


@cache
def unit_words() -> UnitWords:
    """The names of units that come with the package, read once."""
    return read_unit_words(FILE)


def read_unit_words(path: Path) -> UnitWords:
    """Read and check a file of unit names."""
    file = read_words(path)
    file.expect(("units", "foreign"))
    table: dict[str, tuple[str, ...]] = {}
    for unit in file.tables("units"):
        unit.expect(("is",), optional=("glued", "names"))
        readings = unit.texts("is")
        for key in ("glued", "names"):
            for name in unit.texts(key) if key in unit else ():
                own = f"+{name}" if key == "glued" else name
                if table.get(own, readings) != readings:
                    raise unit.wrong(key, f"{name!r} is also a name of {' or '.join(table[own])}")
                table[own] = readings
                if not own.isascii():
                    table.setdefault(unaccented(own), readings)
    foreign = file.table("foreign")
    foreign.expect(LANGUAGES)
    kept = {language: foreign.texts(language, least=0) for language in LANGUAGES}
    for language, some in kept.items():
        for name in some:
            if name not in table:
                raise foreign.wrong(language, f"{name!r} is no name of a unit")
    return UnitWords(table, kept)


def names() -> Mapping[str, tuple[str, ...]]:
    """The pint expressions of every name, one for each reading; names that need the number carry a ``+``.

    >>> names()["oz"], names()["+k"]
    (('ounce', 'fluid_ounce'), ('kelvin',))
    """
    return unit_words().readings


def readings(name: str) -> tuple[str, ...]:
    """The pint expressions that a unit's name stands for; nothing for what is no name.

    >>> readings("fl.-oz"), readings("k"), readings("furlong")
    (('fluid_ounce',), ('kelvin',), ())
    """
    known = names()
    # ``expression`` finds a name of several words with hyphens between them, too.
    plain = name.replace("-", " ")
    return known.get(plain) or known.get(f"+{plain}") or ()


def expression(letter: str, language: str | None = None) -> str:
    """A pattern for the unit behind a number; ``letter`` is what a Latin name must not run into.

    Longer names are tried first. Japanese names may be followed by anything ("500ミリ入り").
    """
    foreign = unit_words().foreign[language] if language else ()
    ordered = sorted((n for n in names() if n not in foreign), key=len, reverse=True)
    # "30cmx40cm" goes on with its other side; the w of "5 w/o cable" is no watt.
    ends = rf"(?!(?!x ?[0-9]){letter})(?!/(?![0-9]))"
    glued = [re.escape(name[1:]) for name in ordered if name[0] == "+"]
    words = [_escaped(name) for name in ordered if re.match(r"[a-zμ]", name)]
    marks = [re.escape(name) for name in ordered if not name[0].isalpha() and name[0] != "+"]
    others = [name for name in ordered if name[0] >= "\u3000"]
    return (
        rf"(?:[ -]?(?:{'|'.join(words)}){ends}|(?:{'|'.join(glued)}){ends}"
        rf"| ?(?:{'|'.join(marks)}){ends}| ?(?:{'|'.join(others)}))"
    )


def measure(value: float, unit: str) -> str:
    """A measure in base units, as text: equal for equal amounts, however they are written.

    >>> measure(10, "ampere_hour") == measure(10_000, "milliampere_hour")
    True
    >>> measure(12, "fluid_ounce") == measure(355, "milliliter")
    True
    """
    if unit in ("degC", "degF"):  # their zero is not nothing: a factor would not do
        base = _registry().Quantity(value, unit).to_base_units()
        return f"{float(base.magnitude):.{_DIGITS}g} {base.units}"
    factor, base_unit = _factor(unit)
    return f"{value * factor:.{_DIGITS}g} {base_unit}"


def _escaped(name: str) -> str:
    return name + _NOT_INCH if name == "in" else re.escape(name).replace(r"\ ", "[ -]")


@cache
def _factor(unit: str) -> tuple[float, str]:
    base = _registry().Quantity(1.0, unit).to_base_units()
    return float(base.magnitude), str(base.units)


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry()
