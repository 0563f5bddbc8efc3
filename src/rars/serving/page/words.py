"""The words of a query inside a text, to be marked.

Owns: which pieces of a text the eye should find. This is for reading alone, and kinder than the search: a
plural, an accent or a word that is still being typed do no harm. What counted is told by the explanation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from typing import NamedTuple

from rars.data.words import CJK, WORD, bare, fold, words

_RUNS = re.compile(rf"([{CJK}]+)|{WORD}")
_ENDING = 2
"""Letters by which two forms of a word may differ at their end."""
_STEM = 3


class Piece(NamedTuple):
    """Part of a text, and whether the query has it."""

    text: str
    marked: bool


def pieces(text: str, query: str) -> list[Piece]:
    """A text cut where marks begin and end.

    >>> [one.text for one in pieces("Men's Black Mugs, 350 ml", "black mug 350ml") if one.marked]
    ['Black', 'Mugs']
    >>> [one.text for one in pieces("LED電球 昼白色", "電球") if one.marked]
    ['電球']
    """
    asked = {_plain(word) for word in words(query)}
    runs = {match[1] for match in _RUNS.finditer(fold(query)) if match[1]}
    found: list[Piece] = []
    end = 0
    for match in _RUNS.finditer(text) if asked else ():
        for start, stop in _marks(match, asked, runs):
            found += [Piece(text[end:start], False), Piece(text[start:stop], True)]
            end = stop
    found.append(Piece(text[end:], False))
    return [one for one in found if one.text]


def _marks(match: re.Match[str], asked: Set[str], runs: Set[str]) -> list[tuple[int, int]]:
    start, end = match.span()
    if not match.lastindex:
        surface = match.group()
        met = any(_alike(_plain(word), asked) for word in (*words(surface), bare(fold(surface))))
        return [match.span()] if met else []
    run = fold(match.group())
    if len(run) != end - start:  # folding has joined characters, so places are not known
        return [match.span()] if asked & set(words(run)) else []
    # What is there as a whole is marked as a whole; of anything else, the pairs that are there.
    whole = {one for one in runs if one in run}
    wanted = whole.union(*(words(one) for one in runs - whole))
    marked = [False] * len(run)
    for one in wanted:
        at = run.find(one)
        while at >= 0:
            marked[at : at + len(one)] = [True] * len(one)
            at = run.find(one, at + 1)
    return _stretches(marked, start)


def _stretches(marked: list[bool], start: int) -> list[tuple[int, int]]:
    """Where marks begin and end."""
    edges = [at for at in range(len(marked) + 1) if _at(marked, at) != _at(marked, at - 1)]
    return [(start + one, start + two) for one, two in zip(edges[::2], edges[1::2], strict=True)]


def _at(marked: list[bool], place: int) -> bool:
    return 0 <= place < len(marked) and marked[place]


def _alike(word: str, asked: Set[str]) -> bool:
    """Whether a word is one of those asked for, or another form of it."""
    return word in asked or any(
        len(short) >= _STEM and len(long) - len(short) <= _ENDING and long.startswith(short)
        for one in asked
        for short, long in [sorted((one, word), key=len)]
        if not one.isdecimal() and not word.isdecimal()
    )


def _plain(word: str) -> str:
    """Without accents; kana keep their marks, which make other sounds."""
    if word.isascii() or re.search(rf"[{CJK}]", word):
        return word
    parts = unicodedata.normalize("NFD", word)
    return "".join(one for one in parts if not unicodedata.combining(one))
