"""Texts to words, for languages with spaces and those without: the one tokeniser.

Owns: how lexical code reads a text, and the scripts it knows. NFKC and case folding; a word is a run of
letters and digits, in which apostrophes are left out ("men's" is "mens") and a decimal stays whole ("3.0",
"1.5l"). Runs of Han, Hiragana, Katakana and Hangul become pairs of neighbours (a lone character stays
alone), which needs no dictionary and finds compounds. No stemming, no stop words.

A query asks for its ``words``. An item is found by more (``indexed``): by every single character of its runs
too, so that 傘 finds 折りたたみ傘, while 雨傘 does not find all that holds one of its two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d-\u309f"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # the middle dot is no letter
HANGUL = "\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
CJK = HAN + HIRAGANA + KATAKANA + HANGUL
"""Inside of a character class: what is read character by character, or in pairs."""

LETTER = rf"[^\W_{CJK}]"
"""A letter or digit of any other script."""

WORD = rf"{LETTER}+(?:(?:['’]|(?<=\d)[.,](?=\d)){LETTER}+)*"
"""A word as it is written, apostrophes included; ``bare`` leaves them out."""

_RUNS = re.compile(rf"([{CJK}]+)|{WORD}")
_APART = re.compile(rf"[{CJK}]+|{WORD}|\n")
_UNSPACED = re.compile(f"[{CJK}]")
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


def bare(surface: str) -> str:
    """A word as it is looked up: without apostrophes."""
    return surface.replace("'", "").replace("’", "")


def words(text: str) -> list[str]:
    """The words of a text in order, repetitions kept.

    >>> words("Men's LED電球 ７５０ｍｌ, Bluetooth 5.0")
    ['mens', 'led', '電球', '750ml', 'bluetooth', '5.0']
    >>> words("充電ケーブル 한국어 茶")
    ['充電', '電ケ', 'ケー', 'ーブ', 'ブル', '한국', '국어', '茶']
    """
    found: list[str] = []
    for match in _RUNS.finditer(fold(text)):
        run = match.group()
        if match.lastindex:
            found.extend(_pairs(run))
        else:
            found.append(bare(run))
    return found


def indexed(text: str) -> list[str]:
    """What an item with this text is found by: its words, and every single CJK character, repetitions kept.

    >>> indexed("LED電球 茶")
    ['led', '電', '球', '電球', '茶']
    """
    found: list[str] = []
    for match in _RUNS.finditer(fold(text)):
        run = match.group()
        if match.lastindex:
            found.extend(run)
            found.extend(map("".join, pairwise(run)))
        else:
            found.append(bare(run))
    return found


def spaced(texts: Sequence[str | None]) -> list[str]:
    r"""The ``words`` of each text between single blanks; many texts take a fraction of the time of each.

    >>> spaced(["Men's LED-lamp", None, "電球 5.0\n"])
    [' mens led lamp ', '', ' 電球 5.0 ']
    """
    # One call folds and cuts all of them: no word reaches across the line breaks that keep them apart.
    block = fold("\n".join([(text or "").replace("\n", " ") for text in texts]))
    runs: list[str] = _APART.findall(block)
    if _UNSPACED.search(block):
        runs = [" ".join(_pairs(run)) if _UNSPACED.match(run) else run for run in runs]
    lines = bare(" ".join(runs)).split("\n") if len(texts) else []
    return [f" {found} " if (found := line.strip(" ")) else "" for line in lines]


def _pairs(run: str) -> list[str]:
    """Neighbouring characters of a run, or its only one."""
    return list(map("".join, pairwise(run))) if len(run) > 1 else [run]
