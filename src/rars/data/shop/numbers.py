"""Numbers of products: long-tail words that name one product each.

Owns: the number of a root, and how people type it. The map from roots to numbers is one to one: a root times
a number prime to M, modulo M = 26 * 26 * 100,000, written as two letters and five digits, in three ways.
"""

from __future__ import annotations

from rars.data.shop.draws import Draw

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MODULUS = 26 * 26 * 100_000
_FACTOR = 41_420_677
"""Prime to the modulus, so that no two roots below it share a number."""


def number_of(root: int) -> str:
    """The number that offers of this product print.

    >>> number_of(1), number_of(2)
    ('ZE-61273', 'YJ-22546')
    """
    mixed = root * _FACTOR % _MODULUS
    letters = _LETTERS[mixed % 26] + _LETTERS[mixed // 26 % 26]
    digits = f"{mixed // 676:05d}"
    return (f"{letters}{digits}", f"{letters}-{digits}", f"{digits}{letters}")[mixed % 3]


def typed(number: str, draw: Draw) -> str:
    """A number as people type it: mostly small letters, often without its hyphen."""
    text = number.replace("-", draw.pick(("-", "", " ")))
    return text.lower() if draw.chance(0.7) else text
