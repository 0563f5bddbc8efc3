"""How people mistype: slips of the fingers, left-out accents, other scripts.

Owns: changing a finished query text a little. Ignores what the query means; numbers and names with
digits are never touched, so a slip cannot turn one quantity into another.
"""

from __future__ import annotations

import unicodedata

from rars.data.shop.draws import Draw

_SMALL_KANA = str.maketrans("ッャュョァィゥェォ", "ツヤユヨアイウエオ")
_KATAKANA_TO_HIRAGANA = str.maketrans(
    {chr(code): chr(code - 0x60) for code in range(0x30A1, 0x30F4)}
)
_FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x30, 0x3A)})


def mistype(text: str, draw: Draw) -> str:
    """One slip in one longer word: two letters swapped, one left out, or one doubled."""
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if len(word) >= 5 and word.isalpha()]
    if not long:
        return text
    where = draw.pick(long)
    words[where] = _slip(words[where], draw)
    return " ".join(words)


def _slip(word: str, draw: Draw) -> str:
    place = 1 + draw.below(len(word) - 2)
    match draw.below(3):
        case 0:
            return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        case 1:
            return word[:place] + word[place + 1 :]
        case _:
            return word[:place] + word[place] + word[place:]


def without_accents(text: str) -> str:
    """Letters without accents, but ñ stays.

    >>> without_accents("sartén pequeña")
    'sarten pequeña'
    """
    kept = text.replace("ñ", "\0")
    plain = (c for c in unicodedata.normalize("NFD", kept) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", "".join(plain)).replace("\0", "ñ")


def mistype_kana(text: str, draw: Draw) -> str:
    """One slip of a Japanese typist: a lost long mark, full-size kana, or hiragana for katakana."""
    words = text.split(" ")
    where = draw.below(len(words))
    word = words[where]
    changed = [
        word.replace("ー", "", 1),
        word.translate(_SMALL_KANA),
        word.translate(_KATAKANA_TO_HIRAGANA),
    ]
    changed = [other for other in changed if other != word]
    if changed:
        words[where] = draw.pick(changed)
    return " ".join(words)


def full_width_digits(text: str) -> str:
    """Digits as wide as kana.

    >>> full_width_digits("750ml")
    '７５０ml'
    """
    return text.translate(_FULL_WIDTH)


def same_text(text: str) -> str:
    """What a query's text is compared by: neither case, width nor spacing make two of one.

    >>> same_text("７５０ML  水筒") == same_text("750ml 水筒")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
