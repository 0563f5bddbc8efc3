"""Which mentions of a query are denied: "without blue handle", "sin cable negro", "黒以外".

Owns: the words of denial in three languages and how far they reach. Attribute constraints encode
affirmative mentions only (paper, appendix "Retrieval and compatibility scoring"), so a denied mention gives
no constraint; it is not a constraint to the contrary either.

A denial reaches the mention beside it, and further ones joined by "or" or "and". It does not reach across a
plain word: in "no dimmer 2700k" and "without handle black" the measure and the colour are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from rars.search.evidence.extractor import Mention
from rars.search.evidence.languages import read_in
from rars.search.evidence.text import HAN, KATAKANA, LETTER

_SMALL = (
    "a|an|any|the|color|colour|colored|made|by|from|in|of|with|de|del|un|una|el|la|los|las|marca|brand"
    "|ningún|ningun|ninguna|que|sea|sean|tenga|tengan|lleve|incluya|es|con"
)
_DENIALS = {
    "en": "without|w/o|w/out|no|not|non|except|excluding|excludes|minus|never|neither|nor|anything but"
    "|other than|instead of|free of|free from|0 ?%",
    "es": "sin|no|excepto|salvo|(?<!o )menos|libre de|libres de|ni|0 ?%",
}
_NUMERO = re.compile(rf"(?<!{LETTER})no\.?\s*$")
"""Before a number, "no" is short for number: "no. 5", "nº 40"."""

_ONE_WORD = {"en": "without|w/o", "es": "sin"}
"""A number behind the denied word belongs to it: "without windows 11"."""

_AFTER = (
    r"(?:なし|無し|ナシ|不要|以外|抜き|ぬき|不使用|未使用|フリー|禁止|を除く|除く|はいらない|がいらない"
    r"|いらない|(?:では|じゃ|で)な[いく]|[はが]?ない)"
)
_BEHIND = re.compile(rf"\s?{_AFTER}")
_BEHIND_NOUN = re.compile(rf"い?(?:[{KATAKANA}]+|[{HAN}]+){_AFTER}")
"""A colour or brand goes with the noun behind it: "黒ケースなし" wants no black case."""

_FREE = re.compile(rf"-free(?!{LETTER})|\sfree\s*$")
_JOINED = re.compile(r"\s*(?:\s(?:or|nor|and|o|u|ni|y|e)\s|[/&+]|や|か|と|または|・)\s*")


def affirmed(
    folded: str, mentions: Sequence[Mention], language: str | None = None
) -> list[Mention]:
    """The mentions, given in text order, that are not denied in the query's language (None: in any)."""
    ahead = [_denied_before(folded, mention, language) for mention in mentions]
    behind = [_denied_behind(folded, mention) for mention in mentions]
    joined = [
        _JOINED.fullmatch(folded, one.end, other.start) is not None
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


@cache
def _before(language: str | None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What denies the mention behind it, and what denies one word and the number behind that."""
    own = [name for name in read_in(language) if name in _DENIALS]
    denials, one_word = ("|".join(table[name] for name in own) for table in (_DENIALS, _ONE_WORD))
    return (
        re.compile(rf"(?<!{LETTER})(?:{denials})(?:[\s-]+(?:{_SMALL}))*[\s-]+$"),
        re.compile(rf"(?<!{LETTER})(?:{one_word})\s+{LETTER}+\s+$"),
    )


def _denied_before(folded: str, mention: Mention, language: str | None) -> bool:
    # Only what is near matters; a glance back of bounded length keeps long queries linear.
    before = folded[max(0, mention.start - 64) : mention.start]
    denied, one_word = _before(language)
    if _is_number(mention):
        if _NUMERO.search(before):
            return False
        if mention.end == len(folded.rstrip()) and one_word.search(before):
            return True
    return denied.search(before) is not None


def _denied_behind(folded: str, mention: Mention) -> bool:
    if _BEHIND.match(folded, mention.end) or _FREE.match(folded, mention.end):
        return True
    names_a_thing = mention.constraints[0].kind not in ("number", "measure")
    return names_a_thing and _BEHIND_NOUN.match(folded, mention.end) is not None


def _is_number(mention: Mention) -> bool:
    return all(constraint.kind == "number" for constraint in mention.constraints)
