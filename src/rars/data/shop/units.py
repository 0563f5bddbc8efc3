"""Numbers with units, as shops print them and as people type them.

Owns: the forms of a quantity ("10000 mAh", "10 Ah"), decimal commas. All forms of one quantity mean the same
number: a form whose number would have to be rounded is never used. Ignores which quantities exist (``world``)
and their words (``lexicon``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBER = re.compile(r"#(?:([/*])(\d+))?")


@dataclass(frozen=True)
class Form:
    """One way to write a quantity: the number, multiplied by ``factor``, between two texts."""

    before: str
    factor: float
    after: str

    @classmethod
    def parse(cls, template: str) -> Form:
        """Read ``"#/1000 Ah"``: the number divided by 1000, then " Ah"."""
        found = _NUMBER.search(template)
        if found is None:
            raise ValueError(f"The form {template!r} has no number sign.")
        sign, by = found.groups()
        factor = 1.0 if sign is None else float(by) if sign == "*" else 1 / float(by)
        return cls(template[: found.start()], factor, template[found.end() :])

    def write(self, value: str, comma: bool = False) -> str | None:
        """The quantity in this form, or nothing if its number would have more than two decimals.

        >>> Form.parse("#/1000 Ah").write("10000")
        '10 Ah'
        >>> Form.parse("#/1000 l").write("750", comma=True)
        '0,75 l'
        >>> Form.parse("#/1000 kg").write("12.5") is None
        True
        """
        number = float(value) * self.factor
        if abs(round(number, 2) - number) > 1e-9 or number < 0.05:
            return None
        digits = f"{round(number, 2):.2f}".rstrip("0").rstrip(".")
        return self.before + (digits.replace(".", ",") if comma else digits) + self.after


@dataclass(frozen=True)
class Quantity:
    """All forms of one kind of quantity in one language; the first printed form is the canonical one.

    Shops print numbers in the ``readable`` range alone, people type any. ``renamed`` holds values that go by
    another number in the language: a Japanese shoe size is the foot's length.
    """

    printed: tuple[Form, ...]
    typed: tuple[Form, ...]
    comma: bool
    readable: tuple[float, float] = (0.0, math.inf)
    renamed: Mapping[str, str] = field(default_factory=dict)

    def canonical(self, value: str) -> str:
        """The one form used in an item's attributes."""
        return self.all(value)[0]

    def all(self, value: str) -> tuple[str, ...]:
        """The quantity in every form that shops print: 65 L, not 65000 ml."""
        low, high = self.readable
        readable = tuple(f for f in self.printed if low <= float(value) * f.factor <= high)
        return self._write(readable, value)

    def ways_to_type(self, value: str) -> tuple[str, ...]:
        """The quantity in every form, printed or typed."""
        return tuple(dict.fromkeys(self._write(self.printed + self.typed, value)))

    def _write(self, forms: tuple[Form, ...], value: str) -> tuple[str, ...]:
        shown = self.renamed.get(value, value)
        texts = (form.write(shown, self.comma) for form in forms)
        return tuple(text for text in texts if text is not None)
