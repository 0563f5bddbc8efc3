"""Why an item is where it is, in sentences for people who run a shop.

Owns: turning an explanation and a "why not" into a headline, a few plain sentences, what one could try, and
the numbers behind them. Ignores how they are laid out. Nothing is computed here: every figure is one that the
search itself gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rars.data.words import CJK
from rars.search.why_not.answer import ordinal
from rars.serving.page.address import Address
from rars.serving.page.clauses import removed
from rars.serving.schemas import MOST_K, ExplainResponse, Hit

KINDS = {
    "brand": "brand",
    "color": "colour",
    "number": "number",
    "measure": "measure",
    "bm25": "word",
    "rare": "rare word",
    "neighbour": "similar query",
}
_PAIR = re.compile(rf"[{CJK}]{{2}}")
PARTS = {
    "bm25": "words in common (BM25)",
    "f": "attributes and rare words (f)",
    "dense": "similar meaning (dense)",
    "neighbours": "relevant to similar queries (neighbours)",
    "letters": "letters of the title (letters)",
}


class Try(NamedTuple):
    """Something to try: what it is called, and where it leads."""

    label: str
    url: str


class Asked(NamedTuple):
    """Something the query asks for, what kind it is, and whether the item has it."""

    text: str
    kind: str
    has: bool


class Told(NamedTuple):
    """An explanation for people; ``tone`` is ``found``, ``near`` or ``away``."""

    tone: str
    headline: str
    lines: list[str]
    asked: list[Asked]
    tries: list[Try]


# -- an item that was found ------------------------------------------------------------------------


def why(hit: Hit, query: str) -> Told:
    """Why a hit stands where it does."""
    headline = f"It stands {ordinal(hit.rank)} for “{query}”."
    found = hit.explanation
    if not found:
        said = ["This system ranks by one score alone and tells no more about it."]
        return Told("found", headline, said, [], [])
    asked = _asked(found["reasons"])
    lines = [line for line in (_matches(asked), _path(found["steps"]), _shares(found)) if line]
    chosen = found["categories"]
    if chosen:
        lines.append(
            "It was looked for in "
            + listed(f"{_last(one['path'])} ({percent(one['probability'])})" for one in chosen)
            + "."
        )
    return Told("found", headline, lines, asked, [])


def _asked(reasons: Iterable[Mapping[str, Any]]) -> list[Asked]:
    """What was looked for, once each; if any of several tests of the same text passes, it is there."""
    found: dict[str, Asked] = {}
    for one in reasons:
        text, has = one["text"], bool(one["matched"])
        if text not in found or (has and not found[text].has):
            found[text] = Asked(text, KINDS.get(one["kind"], one["kind"]), has)
    joined = _joined(list(found.values()))
    named = [one for one in joined if one.kind != KINDS["bm25"]]
    return [
        one for one in joined if one in named or not any(one.text in other.text for other in named)
    ]


def _joined(asked: list[Asked]) -> list[Asked]:
    """Japanese is searched in pairs of characters; pairs that follow each other are one text again.

    >>> [one.text for one in _joined([Asked("電球", "word", True), Asked("球型", "word", True)])]
    ['電球型']
    """
    found: list[Asked] = []
    for one in asked:
        last = found[-1] if found else None
        follows = (
            last is not None
            and _PAIR.fullmatch(one.text)
            and _PAIR.search(last.text)
            and last.text[-1] == one.text[0]
            and last[1:] == one[1:]
        )
        if last is not None and follows:
            found[-1] = last._replace(text=last.text + one.text[1])
        else:
            found.append(one)
    return found


def _matches(asked: list[Asked]) -> str:
    has = [f"“{one.text}”" for one in asked if one.has]
    lacks = [f"“{one.text}”" for one in asked if not one.has]
    if has and lacks:
        return f"Of what was asked for it has {listed(has)}, but not {listed(lacks)}."
    if has:
        return f"It has everything that was asked for: {listed(has)}."
    if lacks:
        return (
            f"It has none of the words and attributes asked for ({listed(lacks)}): "
            "the model finds it close in meaning."
        )
    return "The query names no word or attribute that could be checked; the model alone decided."


def _path(steps: Sequence[Mapping[str, Any]]) -> str:
    """Where the way to it was broad, and where narrow."""
    open_steps = [one for one in steps if one["probability"] is not None]
    if not open_steps:
        return ""
    hardest = min(open_steps, key=lambda one: one["probability"])
    at = steps.index(hardest) + 1
    if hardest["probability"] > 0.995:
        return "At every step of the way to it the model saw one direction only."
    said = (
        f"The way to it takes {len(steps)} steps; the narrowest was step {at}, where the model "
        f"gave its direction {percent(hardest['probability'])}"
    )
    if hardest["evidence"] > 0:
        said += ", and matching words and attributes below it helped"
    return f"{said}."


def _shares(found: Mapping[str, Any]) -> str:
    """Whether the model or the evidence made the score."""
    evidence = sum(one["evidence"] for one in found["steps"])
    model = sum(one["model"] for one in found["steps"])
    if not evidence:
        return "Only the model counted: this rule adds nothing for matching words."
    if evidence > -model:
        return "Matching words, attributes and meaning spoke more for it than the model's doubts against it."
    return (
        "It is here mostly because the model finds it likely; matching words and attributes helped."
    )


# -- an item that was not --------------------------------------------------------------------------


def why_not(answer: ExplainResponse, here: Address) -> Told:
    """Why an item is not shown, and what would show it."""
    facts = answer.why_not
    tell = _REASONS[answer.reason]
    headline, lines, tries = tell(facts, here)
    tone = {"below": "near", "found": "found"}.get(answer.reason, "away")
    return Told(tone, headline, lines, [], tries)


_Parts = tuple[str, list[str], list[Try]]


def _found(facts: Mapping[str, Any], here: Address) -> _Parts:
    return f"It is shown: it stands {ordinal(facts['rank'])}.", [], []


def _unknown(facts: Mapping[str, Any], here: Address) -> _Parts:
    line = "It must be written exactly as in the catalogue. The item may also have been removed."
    return f"There is no item “{facts['item_id']}” in this catalogue.", [line], []


def _filtered(facts: Mapping[str, Any], here: Address) -> _Parts:
    lines, tries = [], []
    for one in facts["clauses"]:
        has = [
            f"its {name} is {listed(map(str, values))}" if values else f"it has no {name}"
            for name, values in one["values"].items()
        ]
        because = f": {' and '.join(has)}" if has else ""
        if one["kind"] == "filter":
            lines.append(f"The filter asks for {one['text']}{because}.")
            tries.append(
                Try(
                    f"Search without {one['text']}",
                    here.to(filter=removed(here.filter, one["text"])),
                )
            )
        else:
            lines.append(f"The search is limited to {one['kind']} {one['text']}{because}.")
            if one["kind"] == "locale":
                tries.append(Try("Search every locale", here.to(locale="")))
    return "The filter leaves it out.", lines, tries


def _routed(facts: Mapping[str, Any], here: Address) -> _Parts:
    own, chosen = facts["category"], facts["categories"]
    lines = [
        f"It is in {own['path']}. For this query the model finds that category "
        f"{percent(own['probability'])} likely, {ordinal(own['rank'])} of all.",
        "Searched were "
        + listed(f"{_last(one['path'])} ({percent(one['probability'])})" for one in chosen)
        + ".",
    ]
    tries = [Try("Search every category", here.to(categories="all"))]
    return "It is in a category that was not searched.", lines, tries


def _pruned(facts: Mapping[str, Any], here: Address) -> _Parts:
    depth, steps = facts["depth"], facts["steps"]
    step = steps[depth - 1]
    headline = f"The search left its part of the catalogue at step {depth} of {len(steps)}."
    lines = [
        f"At that step {step['candidates']:,} directions were open and the best "
        f"{facts['width']:,} were followed; the one to this item stood {ordinal(step['rank'])}."
    ]
    lines.append(
        {
            "model": "The model finds that direction unlikely for this query: what was followed "
            "instead, it finds likelier.",
            "evidence": "The items in that direction match the words and attributes of the query "
            "less than those that were followed.",
            "order": "It was as good as the last direction that was followed; of equals the first "
            "in the catalogue's tree is taken.",
        }[facts["because"]]
    )
    tries = [] if here.exact else [Try("Search without leaving anything out", here.to(exact="1"))]
    tries.append(Try("See this place in the tree", _to_prefix(here, steps[: depth - 1])))
    return headline, lines, tries


def _below(facts: Mapping[str, Any], here: Address) -> _Parts:
    rank, k = facts["rank"], facts["k"]
    headline = f"It was found, but stands {ordinal(rank)}; {k:,} {'is' if k == 1 else 'are'} shown."
    last = facts["beaten_by"][-1] if facts["beaten_by"] else None
    said = f"The last one shown is {last['title']}. " if last else ""
    why_so = {
        "model": "The model finds that one likelier for this query.",
        "evidence": "That one matches the words and attributes of the query better.",
        "order": "Both score the same; of equals the first in the catalogue is shown.",
        "score": "That one scores higher.",
    }
    lines = [said + why_so.get(facts["because"] or "score", "")]
    tries = []
    if rank <= MOST_K:
        more = next(size for size in (50, 100, 200, 500, MOST_K) if size >= rank)
        tries.append(Try(f"Show {more:,}", here.to(k=more)))
    return headline, lines, tries


def _unscored(facts: Mapping[str, Any], here: Address) -> _Parts:
    line = "A system that goes by words finds only items that share a word with the query."
    return "This system sees nothing that connects it with the query.", [line], []


_REASONS = {
    "found": _found,
    "unknown": _unknown,
    "filtered": _filtered,
    "routed": _routed,
    "pruned": _pruned,
    "below": _below,
    "unscored": _unscored,
}


def _to_prefix(here: Address, steps: Sequence[Mapping[str, Any]]) -> str:
    return here.to("tree", prefix=" ".join(one["name"] for one in steps) or "root")


# -- words -----------------------------------------------------------------------------------------


def listed(texts: Iterable[str]) -> str:
    """Texts as a person would list them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *before, last = texts
    return f"{', '.join(before)} and {last}" if before else last


def percent(share: float) -> str:
    """A probability with as many digits as it needs.

    >>> [percent(one) for one in (1.0, 0.9999, 0.123, 0.0123, 0.00042, 1e-9, 0.0)]
    ['100 %', '> 99.9 %', '12 %', '1.2 %', '0.042 %', '< 0.001 %', '0 %']
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if share > 0.999:
        return "> 99.9 %"
    if share < 0.00001:
        return "< 0.001 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def _last(path: str) -> str:
    return path.rsplit(" > ", 1)[-1]
