"""What a query asks for, and what finds it: constraints, mentions, and the protocol of an extractor.

Owns: the shape of a constraint a in A(q) (paper, appendix "Retrieval and compatibility scoring"), choosing
between mentions that overlap, and the protocol by which a catalogue brings its own. Ignores how a colour, a
brand or a measure is recognised.

An extractor reads both sides. From a block of catalogue rows it yields (row, key) pairs, from a query it
yields mentions whose constraints name keys; an item matches a constraint if it has one of its keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from rars.search.evidence.growth import Dictionary
from rars.search.evidence.text import Finds, Token, cuts_word

OWNED = 0.5
"""A name that is also a colour or a measure counts as the name if this share of its uses is the name."""

LONGEST_RUN = 64
"""Words or CJK characters of the longest name that is looked for; nobody types a longer one."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One element of A(q): what kind it is, how the query says it, and the keys that satisfy it."""

    kind: str
    text: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in the folded query and what it asks for ("30 x 40 cm" asks for two measures).

    ``sure`` is off for a name that elsewhere in the catalogue is mostly an ordinary word: another reading
    of the same place is then preferred.
    """

    start: int
    end: int
    constraints: tuple[Constraint, ...]
    sure: bool = True


@dataclass(frozen=True, eq=False)
class Known:
    """What the catalogue has: keys of all extractors, and words; and the query's language, if it is known."""

    keys: Dictionary
    words: Dictionary
    language: str | None = None

    def share(self, key: str, word: str) -> float:
        """Of the items that use a word, the share that have the key."""
        return self.keys.items(key) / max(self.words.items(word), 1)


class Extractor(Protocol):
    """Finds one family of constraints in catalogue and queries.

    ``name`` begins all its keys (so that extractors cannot collide) and is recorded in a saved index.
    """

    @property
    def name(self) -> str:
        """A word without spaces, different for every extractor of an index."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The item columns it reads; those a catalogue lacks are given as nulls."""
        ...

    def items(self, rows: pa.Table) -> Finds:
        """The keys that a block of items has."""
        ...

    def mentions(self, folded: str, tokens: Sequence[Token], known: Known) -> list[Mention]:
        """What a folded query asks for; negated mentions are left out later, by the index."""
        ...


def longest_runs(
    folded: str, tokens: Sequence[Token], prefix: str, known: Known, ending: str = ""
) -> list[tuple[int, int, str]]:
    """Token runs of a query that are keys: (start, end, key), longest first at each place, no overlaps.

    With ``ending``, a run is a key if some key goes on with that ending behind it.

    A run grows while some key of the catalogue begins with it, so the cost does not depend on how many
    names the catalogue has. A run never begins or ends inside a word written without spaces.
    """
    keys = known.keys
    found = []
    at = 0
    while at < len(tokens):
        best, end = None, at
        run = prefix
        for ahead in range(at, min(at + LONGEST_RUN, len(tokens))):
            run = f"{run} {tokens[ahead].text}"
            key = keys.first(run + ending)
            if key and (ending or key == run) and not cuts_word(folded, tokens[ahead].end):
                best, end = key, ahead
            if keys.first(f"{run} ") is None:
                break
        if best is not None and not cuts_word(folded, tokens[at].start):
            found.append((tokens[at].start, tokens[end].end, best))
            at = end
        at += 1
    return found


def names_in(
    folded: str,
    tokens: Sequence[Token],
    kind: str,
    known: Known,
    ordinary: float,
) -> list[Mention]:
    """Mentions of the catalogue's names of one kind, with keys ``KIND WORDS``.

    A name of one word is left out as an ordinary word if less than the share ``ordinary`` of the items that
    use the word have it as their name.
    """
    found = []
    for start, end, key in longest_runs(folded, tokens, kind, known):
        name = key.removeprefix(f"{kind} ")
        # A name of several words is hardly ever an ordinary phrase.
        share = 1.0 if " " in name else known.share(key, name)
        if share >= ordinary:
            constraint = Constraint(kind, folded[start:end], (key,))
            found.append(Mention(start, end, (constraint,), share >= OWNED))
    return found


def without_overlaps(mentions: Sequence[Mention]) -> list[Mention]:
    """Of mentions that overlap keep the longest, then the surest, then the first given; in text order."""
    ranked = sorted(mentions, key=lambda m: (m.start - m.end, not m.sure))
    taken = bytearray(max((mention.end for mention in mentions), default=0))
    kept: list[Mention] = []
    for mention in ranked:
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            kept.append(mention)
    return sorted(kept, key=lambda m: m.start)
