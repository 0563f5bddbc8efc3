"""What a person would type to ask for an attribute.

Owns: which values say yes or no, in the languages of catalogues. Ignores which attributes matter.
"""

from __future__ import annotations

import re

from rars.data.words import fold, words

YES = frozenset(("yes", "true", "y", "sí", "si", "あり", "有り", "有", "はい"))
NO = frozenset(
    ("no", "false", "n", "none", "なし", "無し", "無", "いいえ", "not", "unknown", "other")
)

_TYPED = re.compile(r"^[a-z]_(?=\w)")
"""Some catalogues mark the type in the name: b_touchscreen, t_print_technology."""


def phrase(name: str, value: str) -> str:
    """The value; the name of what an item says yes to; nothing for what it has not.

    >>> phrase("material", "Linen"), phrase("b_steam_vent", "Yes"), phrase("locking_lid", "no")
    ('Linen', 'steam vent', '')
    >>> phrase("notes", "N/A"), phrase("lid", "not included")
    ('', '')
    """
    said = fold(value).strip()
    if said in YES:
        return _TYPED.sub("", fold(name)).replace("_", " ")
    return "" if NO & {said, *words(value)[:1]} else value.strip()
