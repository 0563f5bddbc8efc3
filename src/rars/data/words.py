"""Texts to words, for languages with spaces and those without.

Owns: how lexical code reads a text. NFKC and case folding; words are runs of letters and digits; runs of
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


_FRACTION = re.compile("[\u00bc-\u00be\u2150-\u215e]")
"""½ and its kind: NFKC alone would make 11/2 of 1½."""


def fold(text: str) -> str:
    """Unicode NFKC and case folding.

    >>> fold("ＵＳＢ-C ｹｰﾌﾞﾙ STRASSE Straße")
    'usb-c ケーブル strasse strasse'
    """
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFKC", _FRACTION.sub(r" \g<0>", text))
    return unicodedata.normalize("NFKC", composed.casefold())


def words(text: str) -> list[str]:
    """The words of a text in order, repetitions kept.

    >>> words("LED電球 ７５０ｍｌ, Straße")
    ['led', '電球', '750ml', 'strasse']
    >>> words("充電ケーブル")
    ['充電', '電ケ', 'ケー', 'ーブ', 'ブル']
    """
    found: list[str] = []
    for match in _RUNS.finditer(fold(text)):
        run = match.group()
        if match.lastindex and len(run) > 1:
            found.extend(map("".join, pairwise(run)))
        else:
            found.append(run)
    return found
