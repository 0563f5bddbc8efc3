"""Postings of a catalogue that changes: those of before, which versions share, and those of new items.

Owns: when postings are carried over whole and when they are shared, and how both are kept on disk. Ignores
what terms are and who reads lists.

Postings are the second largest part of an index, and every item that comes moves the positions of those
behind it. So a change of a large catalogue writes two small things: where the items of before stand now
(``Moves``, four bytes an item) and the postings of what is new. The files of before are linked. Lists are
those of postings made anew; when an eighth of the items has come or gone, postings are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rars.arrays import Ints
from rars.artifacts import Artifact, Draft
from rars.search.evidence.lists import Moves, PostingList, Run
from rars.search.evidence.postings import FILES, Postings
from rars.search.evidence.terms import MISSING

SHARED = 2_000_000
"""Postings from which on versions share them; fewer are carried over in no time."""
WORN = 8
"""One in so many items that has come or gone, and shared postings are made anew."""

_NEW, _LEFT, _MOVES = "-new", "-left", "moves"


@dataclass(frozen=True, eq=False)
class Grown:
    """The postings of a changed catalogue.

    ``base``   as they were made
    ``left``   (terms of the base,) how many items of each list are still there; None for all
    ``moves``  where the items of the base stand now
    ``new``    of the items that have come since
    """

    base: Postings
    left: Ints | None
    moves: Moves
    new: Postings

    def find(self, term: str) -> PostingList | None:
        """The items that have a term; None where none has it any more."""
        runs = tuple(run for run in (self._old(term), self._new(term)) if run and run.size)
        return PostingList(runs) if runs else None

    def _old(self, term: str) -> Run | None:
        number = self.base.terms.find(term)
        if number == MISSING:
            return None
        run = self.base.run(number)
        left = run.size if self.left is None else int(self.left[number])
        return Run(run.positions, run.counts, left, self.moves)

    def _new(self, term: str) -> Run | None:
        number = self.new.terms.find(term)
        return None if number == MISSING else self.new.run(number)

    def items(self, term: str) -> int:
        """Document frequency: how many items have a term."""
        found = self.find(term)
        return 0 if found is None else len(found)

    def first(self, prefix: str) -> str | None:
        """The first term that begins with ``prefix`` and that some item has."""
        kept = (
            term
            for number, term in self.base.terms.beginning(prefix)
            if self.left is None or self.left[number]
        )
        found = [one for one in (next(kept, None), self.new.first(prefix)) if one is not None]
        return min(found, default=None)

    def whole(self) -> Postings:
        """The same in one piece."""
        return self.base.changed(self.moves, self.new)

    def fits(self, items: int) -> bool:
        """Whether stored arrays fit together and name none but these items."""
        if not (
            self.base.fits(len(self.moves.to))
            and self.new.fits(items)
            and self.moves.fits(len(self.moves.to), items)
        ):
            return False
        left = self.base.left(self.moves)
        if left is None or self.left is None:
            return left is self.left
        return np.array_equal(left, self.left)


Dictionary = Postings | Grown
"""Terms, and the items that have each."""


def shared_since(old: Dictionary, moves: Moves) -> Moves | None:
    """All moves since postings were made, this change included; None where they are better made anew."""
    base, since = (old, moves) if isinstance(old, Postings) else (old.base, old.moves.then(moves))
    return None if len(base.positions) < SHARED or _worn(since) else since


def changed(old: Dictionary, moves: Moves, new: Postings, since: Moves | None) -> Dictionary:
    """The postings of a changed catalogue, shared ``since`` they were made or in one piece.

    ``moves`` are those of this change, ``new`` the postings of its new items.
    """
    if since is None:
        return (old if isinstance(old, Postings) else old.whole()).changed(moves, new)
    if isinstance(old, Postings):
        return Grown(old, old.left(since), since, new)
    return Grown(old.base, old.base.left(since), since, old.new.changed(moves, new))


def _worn(moves: Moves) -> bool:
    """Whether too much has come or gone, or items do not stand in their old order."""
    before = len(moves.to)
    come, gone = moves.items - moves.stays, before - moves.stays
    return max(come, gone) * WORN > before or not moves.rises


# -- on disk ---------------------------------------------------------------------------------------


def save_dictionaries(
    draft: Draft, named: Mapping[str, Dictionary], before: Path | None = None
) -> None:
    """Write postings as ``NAME-*.npy``; those that the folder ``before`` has are linked from there.

    They are of one catalogue and were made at the same time: what has moved since is kept once.
    """
    for name, postings in named.items():
        if isinstance(postings, Postings):
            postings.save(draft, name)
            continue
        if before is None:
            postings.base.save(draft, name)
        else:
            for part in FILES:
                draft.link(before, f"{name}-{part}.npy")
        postings.new.save(draft, f"{name}{_NEW}")
        if postings.left is not None:
            draft.save_array(f"{name}{_LEFT}", postings.left)
        if not (draft.folder / f"{_MOVES}.npy").exists():
            draft.save_array(_MOVES, postings.moves.to)


def load_dictionaries(
    artifact: Artifact, names: Sequence[str], items: int, *, mmap: bool = True
) -> list[Dictionary]:
    """Open what ``save_dictionaries`` wrote, of a catalogue of so many items."""
    every = [Postings.load(artifact, name, mmap=mmap) for name in names]
    if not _has(artifact, _MOVES):
        return list(every)
    # A view without NumPy's class for mapped files, which makes every small read dear.
    moves = Moves(np.asarray(artifact.array(_MOVES, mmap=mmap)), items)
    return [
        Grown(
            base,
            artifact.array(f"{name}{_LEFT}", mmap=mmap)
            if _has(artifact, f"{name}{_LEFT}")
            else None,
            moves,
            Postings.load(artifact, f"{name}{_NEW}", mmap=mmap),
        )
        for name, base in zip(names, every, strict=True)
    ]


def _has(artifact: Artifact, name: str) -> bool:
    return (artifact.folder / f"{name}.npy").exists()
