"""Which mentions of a query are denied: "without blue handle", "sin cable negro", "黒以外".

Owns: reading the words of denial in ``words/negation.toml``, and how far they reach. Attribute constraints
encode affirmative mentions only (paper, appendix "Retrieval and compatibility scoring"), so a denied mention
gives no constraint; it is not a constraint to the contrary either.

A denial reaches the mention beside it, and further ones joined by "or" or "and". It does not reach across a
plain word: in "no dimmer 2700k" and "without handle black" the measure and the colour are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rars.data.wordfile import read_words
from rars.search.evidence.extractor import Mention
from rars.search.evidence.languages import LANGUAGES, read_in
from rars.search.evidence.text import HAN, KATAKANA, LETTER

FILE = Path(__file__).parent / "words" / "negation.toml"
_SPACED = ("en", "es")
"""Languages that put spaces between words."""

ByLanguage = Mapping[str, tuple[str, ...]]


class DenialWords(NamedTuple):
    """Words by language, as the file explains them; ``unless_behind`` names a word and what excuses it."""

    before: ByLanguage
    one_word: ByLanguage
    between: ByLanguage
    behind: ByLanguage
    number: ByLanguage
    joining: ByLanguage
    unless_behind: Mapping[str, str]


@cache
def denial_words() -> DenialWords:
    """The words of denial that come with the package, read once."""
    return read_denial_words(FILE)


def read_denial_words(path: Path) -> DenialWords:
    """Read and check a file of words of denial."""
    file = read_words(path)
    file.expect(DenialWords._fields)
    kinds = {}
    for kind in DenialWords._fields[:-1]:
        table = file.table(kind)
        table.expect(LANGUAGES)
        kinds[kind] = {language: table.texts(language, least=0) for language in LANGUAGES}
    for language, some in kinds["one_word"].items():
        for word in some:
            if word not in kinds["before"][language]:
                message = f"{word!r} is not among the words of [before]"
                raise file.table("one_word").wrong(language, message)
    excuses = file.table("unless_behind")
    for word in excuses:
        if word not in _all(kinds["before"]):
            raise excuses.wrong(word, "is not among the words of [before]")
    return DenialWords(**kinds, unless_behind={word: excuses.text(word) for word in excuses})


def affirmed(
    folded: str, mentions: Sequence[Mention], language: str | None = None
) -> list[Mention]:
    """The mentions, given in text order, that are not denied in the query's language (None: in any)."""
    ahead = [_denied_before(folded, mention, language) for mention in mentions]
    behind = [_denied_behind(folded, mention) for mention in mentions]
    joins = _patterns().joined
    joined = [
        joins.fullmatch(folded, one.end, other.start) is not None
        for one, other in pairwise(mentions)
    ]
    # "not red or blue" denies onwards, "赤や青以外" backwards.
    for at, linked in enumerate(joined):
        ahead[at + 1] |= ahead[at] and linked
    for at, linked in reversed(list(enumerate(joined))):
        behind[at] |= behind[at + 1] and linked
    return [
        mention for mention, no, nor in zip(mentions, ahead, behind, strict=True) if not (no or nor)
    ]


class _Patterns(NamedTuple):
    """What does not depend on the language."""

    joined: re.Pattern[str]
    number: re.Pattern[str]
    """Before a number: the word is short for "number"."""
    free: re.Pattern[str]
    behind: re.Pattern[str]
    behind_noun: re.Pattern[str]
    """A colour or brand goes with the noun behind it: "黒ケースなし" wants no black case."""


@cache
def _patterns() -> _Patterns:
    words = denial_words()
    joining = _any(_all(words.joining, _SPACED))
    after = _any(words.behind["ja"])
    free = _any(_all(words.behind, _SPACED))
    return _Patterns(
        joined=re.compile(rf"\s*(?:\s{joining}\s|[/&+]|{_any(words.joining['ja'])})\s*"),
        number=re.compile(rf"(?<!{LETTER}){_any(_all(words.number))}\.?\s*$"),
        free=re.compile(rf"-{free}(?!{LETTER})|\s{free}\s*$"),
        behind=re.compile(rf"\s?{after}"),
        behind_noun=re.compile(rf"い?(?:[{KATAKANA}]+|[{HAN}]+){after}"),
    )


@cache
def _before(language: str | None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What denies the mention behind it, and what denies one word and the number behind that."""
    words, own = denial_words(), read_in(language)
    denials = "|".join(
        (f"(?<!{re.escape(words.unless_behind[word])} )" if word in words.unless_behind else "")
        + re.escape(word)
        for word in _all(words.before, own)
    )
    between = _any(_all(words.between))
    return (
        re.compile(rf"(?<!{LETTER})(?:{denials})(?:[\s-]+{between})*[\s-]+$"),
        re.compile(rf"(?<!{LETTER}){_any(_all(words.one_word, own))}\s+{LETTER}+\s+$"),
    )


def _all(words: ByLanguage, languages: Sequence[str] = LANGUAGES) -> list[str]:
    return list(dict.fromkeys(word for language in languages for word in words[language]))


def _any(words: Iterable[str]) -> str:
    # Of no words none is found: "(?!)" matches nowhere.
    return f"(?:{'|'.join(map(re.escape, words)) or '(?!)'})"


def _denied_before(folded: str, mention: Mention, language: str | None) -> bool:
    # Only what is near matters; a glance back of bounded length keeps long queries linear.
    before = folded[max(0, mention.start - 64) : mention.start]
    denied, one_word = _before(language)
    if _is_number(mention):
        if _patterns().number.search(before):
            return False
        if mention.end == len(folded.rstrip()) and one_word.search(before):
            return True
    return denied.search(before) is not None


def _denied_behind(folded: str, mention: Mention) -> bool:
    patterns = _patterns()
    if patterns.behind.match(folded, mention.end) or patterns.free.match(folded, mention.end):
        return True
    names_a_thing = mention.constraints[0].kind not in ("number", "measure")
    return names_a_thing and patterns.behind_noun.match(folded, mention.end) is not None


def _is_number(mention: Mention) -> bool:
    return all(constraint.kind == "number" for constraint in mention.constraints)
