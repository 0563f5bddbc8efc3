"""Texts as the evidence sees them: folded, cut into words and single CJK characters.

Owns: where the words of a query stand, where a Japanese word may not be cut, and scanning a block of
catalogue texts for a pattern. Ignores what words mean; what a word is says ``rars.data.words``. Queries and
catalogue pass through the same patterns, so they cannot disagree.

Spaced scripts give words; Han, Hiragana, Katakana and Hangul give single characters (paper, appendix
"Retrieval and compatibility scoring": word and CJK character features) and, for BM25, pairs of neighbours:
together what ``rars.data.words.indexed`` gives of a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.data.words import CJK as CJK
from rars.data.words import HAN as HAN
from rars.data.words import HANGUL, WORD, bare, fold
from rars.data.words import HIRAGANA as HIRAGANA
from rars.data.words import KATAKANA as KATAKANA
from rars.data.words import LETTER as LETTER

_ONE = re.compile(f"[{CJK}]")
_TOKEN = re.compile(rf"[{CJK}]|{WORD}")
_SCRIPTS = tuple(re.compile(f"[{script}]") for script in (HAN, HIRAGANA, KATAKANA, HANGUL))
_PARTICLES = frozenset("のでとやがはをにもへ")

SEPARATOR = "\n"
"""Stands between the texts of a block; a text itself never holds one."""


def unaccented(folded: str) -> str:
    """A Latin text without accents; the voicing marks of kana are none and stay.

    >>> unaccented("galón l'oréal"), unaccented("ガロン")
    ("galon l'oreal", 'ガロン')
    """
    if any(map(is_cjk, folded)):
        return folded
    apart = unicodedata.normalize("NFD", folded)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a CJK character of a folded text, and where it stands there."""

    text: str
    start: int
    end: int


def tokens(folded: str) -> list[Token]:
    """The words and CJK characters of a folded text, in order; apostrophes inside words are left out.

    >>> [token.text for token in tokens("men's tシャツ 1.5l")]
    ['mens', 't', 'シ', 'ャ', 'ツ', '1.5l']
    """
    return [Token(bare(m[0]), m.start(), m.end()) for m in _TOKEN.finditer(folded)]


def token_texts(text: str) -> list[str]:
    """The same of any text, without places."""
    return [bare(surface) for surface in _TOKEN.findall(fold(text))]


def is_cjk(character: str) -> bool:
    """Whether a character is Han, Hiragana, Katakana or Hangul."""
    return _ONE.match(character) is not None


def cuts_word(folded: str, place: int) -> bool:
    """Whether a cut before ``folded[place]`` would split a word written without spaces.

    Between two characters of one script there is a word's inside, but for Hiragana a particle may begin.

    >>> cuts_word("アロマ", 2), cuts_word("ソニー用", 3), cuts_word("くらのいす", 2)
    (True, False, False)
    """
    if not 0 < place < len(folded):
        return False
    before, after = folded[place - 1], folded[place]
    for script in _SCRIPTS:
        if script.match(before) and script.match(after):
            return not (script is _SCRIPTS[1] and after in _PARTICLES)
    return False


@dataclass(frozen=True, eq=False)
class Finds:
    """What a pattern found in a block of texts: (finds,) index into ``surfaces`` and row of the block."""

    surfaces: list[str]
    code: npt.NDArray[np.int32]
    row: npt.NDArray[np.int32]

    def exploded(self, keys: list[str], lists: Sequence[Sequence[int]]) -> Finds:
        """Finds whose surface stands for any number of keys: ``lists[code]`` are indices into ``keys``."""
        sizes = np.array([len(some) for some in lists], dtype=np.int64)
        flat = np.array([key for some in lists for key in some], dtype=np.int32)
        times = sizes[self.code]
        nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        first = np.repeat((np.cumsum(sizes) - sizes)[self.code], times)
        return Finds(keys, flat[first + nth], np.repeat(self.row, times))


def block_of(columns: Sequence[pa.Array | pa.ChunkedArray]) -> str:
    r"""Columns of one table joined row by row, folded, one text a line; a null is empty.

    Between columns stands a tab, so that no phrase or measure is read across them.

    >>> block_of([pa.array(["A\nb", None]), pa.array(["C", "d"])])
    'a b\tc\n\td'
    """
    filled = [pc.fill_null(column.cast(pa.string()), "") for column in columns]
    lines = pc.binary_join_element_wise(*filled, "\t") if len(filled) > 1 else filled[0]
    # One call folds all the texts: the line breaks keep them apart.
    return fold(SEPARATOR.join(pc.replace_substring(lines, SEPARATOR, " ").to_pylist()))


def scanner(expression: str) -> re.Pattern[str]:
    """A pattern for ``scan``: the expression, or the end of a text."""
    return re.compile(f"(?:{expression})|{SEPARATOR}")


def scan(pattern: re.Pattern[str], block: str) -> Finds:
    r"""All finds of a ``scanner`` in a block, as codes: each distinct surface is looked at once later.

    >>> found = scan(scanner(r"\d+"), "7 of 9\nnone\n9")
    >>> found.surfaces, found.code.tolist(), found.row.tolist()
    (['7', '9'], [0, 1, 1], [0, 0, 2])
    """
    encoded = pa.array(pattern.findall(block), pa.string()).dictionary_encode()
    surfaces: list[str] = encoded.dictionary.to_pylist()
    code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    if SEPARATOR not in surfaces:
        return Finds(surfaces, code, np.zeros(len(code), dtype=np.int32))
    separator = surfaces.index(SEPARATOR)
    ends = code == separator
    row = np.cumsum(ends, dtype=np.int32)[~ends]
    del surfaces[separator]
    code = code[~ends]
    return Finds(surfaces, code - (code > separator), row)


_FEATURES = scanner(rf"[{CJK}]|{WORD}|(?<=[{CJK}])[^{SEPARATOR}]")
"""As ``tokens``, plus what follows a CJK character, so that neighbours can be told."""


class Features(NamedTuple):
    """What a block of texts holds: f_lex looks at words and characters, BM25 at pairs as well."""

    words: Finds
    characters: Finds
    pairs: Finds
    """Of neighbouring CJK characters."""


def features(block: str) -> Features:
    r"""The words, CJK characters and pairs of a block.

    >>> found = features("水筒 m's\n水")
    >>> found.words.surfaces, found.characters.surfaces, found.characters.code.tolist()
    (['ms'], ['水', '筒'], [0, 1, 0])
    >>> found.pairs.surfaces, found.pairs.row.tolist()
    (['水筒'], [0])
    """
    found = scan(_FEATURES, block)
    kind = np.array([_kind(surface) for surface in found.surfaces], dtype=np.int8)
    of = kind[found.code] if len(found.code) else np.zeros(0, dtype=np.int8)
    words, characters = (_renamed(found, of == wanted) for wanted in (1, 2))
    return Features(words, characters, _pairs(found, of == 2))


def _pairs(found: Finds, cjk: npt.NDArray[np.bool_]) -> Finds:
    """Pairs of CJK finds that follow one another in a text."""
    left = np.flatnonzero(cjk[:-1] & cjk[1:] & (found.row[:-1] == found.row[1:]))
    pairs = found.code[left].astype(np.int64) << 32 | found.code[left + 1]
    distinct, code = np.unique(pairs, return_inverse=True)
    surfaces = [
        found.surfaces[first] + found.surfaces[second]
        for first, second in zip(
            (distinct >> 32).tolist(), (distinct & 0xFFFFFFFF).tolist(), strict=True
        )
    ]
    return Finds(surfaces, code.astype(np.int32), found.row[left])


def _kind(surface: str) -> int:
    """0 for what only separates, 1 for a word, 2 for a CJK character."""
    if len(surface) == 1 and is_cjk(surface):
        return 2
    return 1 if _TOKEN.match(surface) else 0


def _renamed(found: Finds, keep: npt.NDArray[np.bool_]) -> Finds:
    """The kept finds, with apostrophes left out of the surfaces."""
    names: dict[str, int] = {}
    used = np.zeros(len(found.surfaces), dtype=bool)
    used[found.code[keep]] = True
    place = np.array(
        [
            names.setdefault(bare(surface), len(names)) if is_used else -1
            for surface, is_used in zip(found.surfaces, used.tolist(), strict=True)
        ],
        dtype=np.int32,
    )
    return Finds(list(names), place[found.code[keep]], found.row[keep])
