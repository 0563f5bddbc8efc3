"""Texts to words, for languages with spaces and those without.

Owns: how lexical search reads a text. NFKC, then case folding; words are runs of letters and digits; runs of
Chinese, Japanese or Korean characters become pairs of neighbours (a lone character stays alone), which
needs no dictionary and finds compounds. No stemming, no stop words.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_CJK = (
    "々-〇"  # repetition mark, ideographic zero
    "ぁ-ゖゝ-ゟァ-ヺー-ヿㇰ-ㇿ"  # kana; the middle dot is no letter
    "㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"  # Han
    "가-힣"  # Hangul
)
_RUNS = re.compile(f"([{_CJK}]+)|[^\\W_{_CJK}]+")


def words(text: str) -> list[str]:
    """The words of a text in order, repetitions kept.

    >>> words("LED電球 ７５０ｍｌ, Straße")
    ['led', '電球', '750ml', 'strasse']
    >>> words("充電ケーブル")
    ['充電', '電ケ', 'ケー', 'ーブ', 'ブル']
    """
    found: list[str] = []
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match.group()
        if match.lastindex and len(run) > 1:
            found.extend(map("".join, pairwise(run)))
        else:
            found.append(run)
    return found
