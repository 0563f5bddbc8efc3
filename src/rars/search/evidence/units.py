"""Units of measure by all their names, and their size in base units.

Owns: the names in English, Spanish and Japanese, and the key under which equal measures meet. Ignores where
numbers stand in a text (``quantities``). The arithmetic is pint's, imported when the first measure is met.

A line of the table reads ``pint expression [; another] = names``. Two expressions are two readings: an ounce
is a weight or a volume, and the Japanese "milli" and "kilo" leave it open too. ``+`` before a name: only
directly behind the number ("5a", "2700k"), because the letter alone is a word.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from rars.search.evidence.text import unaccented

if TYPE_CHECKING:
    import pint

COUNT, NOTHING = "count", "nothing"
"""Not measures: how many there are (the bare number counts); prices and shares (no constraint at all)."""

LENGTHS = frozenset(("micrometer", "millimeter", "centimeter", "meter", "inch", "foot", "yard"))
"""Units that are shared by the sides of "30 x 40 cm"."""

UNITS = """
micrometer = μm, micron, microns, micra, micras, ミクロン, マイクロメートル
millimeter = mm, millimeter, millimeters, millimetre, millimetres, milímetro, milímetros, ミリメートル
millimeter; milliliter = ミリ
centimeter = cm, cms, centimeter, centimeters, centimetre, centimetres, centímetro, centímetros, \
センチ, センチメートル
meter = m, mt, mts, meter, meters, metre, metres, metro, metros, メートル, メーター
kilometer = km, kms, kilometer, kilometers, kilometre, kilometres, kilómetro, kilómetros, キロメートル
inch = inch, inches, in, pulgada, pulgadas, pulg, ", '', ”, ″, ′′, インチ, 型
foot = ft, foot, feet, pie, pies, ', ’, ′, フィート
yard = yd, yds, yard, yards, yarda, yardas, ヤード
mile = mile, miles, milla, millas, マイル
milligram = mg, mgs, milligram, milligrams, miligramo, miligramos, ミリグラム
gram = g, gr, grs, gram, grams, gramme, grammes, gramo, gramos, グラム
kilogram = kg, kgs, kilo, kilos, kilogram, kilograms, kilogramo, kilogramos, キログラム
kilogram; kilometer = キロ
pound = lb, lbs, pound, pounds, libra, libras, ポンド
ounce; fluid_ounce = oz, ounce, ounces, onza, onzas, オンス
fluid_ounce = fl oz, fl. oz, floz, fluid oz, fluid ounce, fluid ounces, onzas líquidas, 液量オンス
milliliter = ml, mls, milliliter, milliliters, millilitre, millilitres, mililitro, mililitros, cc, \
ミリリットル, シーシー
centiliter = cl, centiliter, centiliters, centilitre, centilitres, centilitro, centilitros
deciliter = dl, deciliter, decilitre, decilitro, decilitros, デシリットル
liter = l, lt, lts, liter, liters, litre, litres, litro, litros, リットル, リッター
gallon = gal, gals, gallon, gallons, galón, galones, ガロン
quart = qt, qts, quart, quarts, クォート
pint = pint, pints, pinta, pintas
milliampere_hour = mah, milliamp hour, milliamp hours, ミリアンペア時, ミリアンペアアワー
ampere_hour = ah, amp hour, amp hours, amperios hora, アンペア時
watt_hour = wh, watt hour, watt hours, ワット時
kilowatt_hour = kwh, キロワット時
milliampere = ma, milliamp, milliamps, ミリアンペア
ampere = +a, amp, amps, ampere, amperes, amperio, amperios, アンペア
watt = w, watt, watts, vatio, vatios, ワット
kilowatt = kw, kilowatt, kilowatts, kilovatio, kilovatios, キロワット
horsepower = hp, horsepower, 馬力
millivolt = mv
volt = v, volt, volts, voltio, voltios, ボルト
hertz = hz, hertz, ヘルツ
kilohertz = khz, キロヘルツ
megahertz = mhz, メガヘルツ
gigahertz = ghz, ギガヘルツ
revolutions_per_minute = rpm, 回転
kilobyte = kb, kbyte
megabyte = mb, mbyte, megabyte, megabytes, mega, megas, メガ, メガバイト
gigabyte = gb, gbyte, gigabyte, gigabytes, giga, gigas, gig, gigs, ギガ, ギガバイト
terabyte = tb, tbyte, terabyte, terabytes, tera, teras, テラ, テラバイト
megabit/second = mbps, mbit/s, mb/s
gigabit/second = gbps, gbit/s
lumen = lm, lumen, lumens, lúmenes, lumenes, ルーメン
lux = lx, lux, ルクス
kelvin = +k, kelvin, ケルビン
degC = °c, °, grados, degrees, 度
degF = °f
second = sec, secs, second, seconds, segundo, segundos, 秒
minute = min, mins, minute, minutes, minuto, minutos, 分
hour = h, hr, hrs, hour, hours, hora, horas, 時間
day = day, days, día, días
psi = psi
bar = bar, bars
kilopascal = kpa
pascal = pa
megapixel = mp, megapixel, megapixels, megapíxeles, メガピクセル, 万画素
pixel = px, pixel, pixels, píxeles, ピクセル
decibel = db, decibel, decibels, decibelios, デシベル
BTU = btu, btus
gram/meter**2 = gsm, g/m2
count = +x, +pk, +pc, +pcs, +ct, +ud, +uds, +pz, +pzs
nothing = %, percent, por ciento, パーセント, dollar, dollars, usd, euro, euros, eur, €, $, £, ¥, \
円, yen, peso, pesos, bucks
"""

_FOREIGN = {
    "en": ("pie", "pies", "metro", "metros", "pinta", "pintas", "libra", "libras", "hora", "horas"),
    "es": ("in", "foot", "feet", "pint", "pints", "mile", "miles", "yard", "yards", "gig", "gigs"),
}
"""Names of units that are other words, or none, in a language."""

_NOT_INCH = r"(?![ -]?[0-9])(?! (?:an?|the|one|stock|pack)\b)"
"""Behind a number, "in" is a unit unless it goes on like "2 in 1" or "5 in a box"."""

_DIGITS = 3
"""Significant digits of a measure: 12 fl oz (354.9 ml) is sold as 355 ml, 17 inch (43.18 cm) as 43.2 cm."""


@cache
def names() -> dict[str, tuple[str, ...]]:
    """The pint expressions of every name, one for each reading; names that need the number carry a ``+``.

    >>> names()["oz"], names()["+k"]
    (('ounce', 'fluid_ounce'), ('kelvin',))
    """
    table: dict[str, tuple[str, ...]] = {}
    for line in UNITS.strip().splitlines():
        units, _, given = line.partition(" = ")
        readings = tuple(unit.strip() for unit in units.split(";"))
        for name in given.split(","):
            table[name.strip()] = table[unaccented(name.strip())] = readings
    return table


def readings(name: str) -> tuple[str, ...]:
    """The pint expressions that a unit's name stands for."""
    known = names()
    return known.get(name) or known[f"+{name}"]


def expression(letter: str, language: str | None = None) -> str:
    """A pattern for the unit behind a number; ``letter`` is what a Latin name must not run into.

    Longer names are tried first. Japanese names may be followed by anything ("500ミリ入り").
    """
    foreign = _FOREIGN.get(language or "", ())
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
