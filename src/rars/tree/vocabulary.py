"""Token ids of identifier codes: (depth, code) <-> one number.

Owns: the numbering. Identifiers never pass through a text tokenizer; each depth has its own tokens, and
"end here" is a token only at depths where some identifiers end while others go on (an identifier that
ends where all do has probability 1 of doing so, and needs no token).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.tree.prefix_tree import END, PrefixTree

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class SidVocabulary:
    """How many codes each depth has, and where an identifier may end.

    ``sizes[l]`` codes are possible at depth l + 1; ``ends[l]`` says whether END is a choice there.
    Inside a depth, slot = code, and END is the slot after the last code.

    >>> vocabulary = SidVocabulary(sizes=(4, 2), ends=(False, True))
    >>> vocabulary.tokens([3, 0], [0, 1]).tolist(), vocabulary.tokens([END], [1]).tolist()
    ([3, 4], [6])
    >>> vocabulary.decode([3, 6])
    (array([0, 1]), array([ 3, -1]))
    """

    sizes: tuple[int, ...]
    ends: tuple[bool, ...]

    @classmethod
    def of(cls, tree: PrefixTree, sizes: tuple[int, ...] | None = None) -> SidVocabulary:
        """The vocabulary of a tree; ``sizes`` keeps room for codes no item has yet."""
        seen = tuple(int(codes.max()) + 1 for codes in tree.codes)
        ends = tuple(_may_end(tree, depth) for depth in range(tree.depth))
        return cls(tuple(np.maximum(seen, sizes).tolist()) if sizes else seen, ends)

    @property
    def slots(self) -> tuple[int, ...]:
        """How many choices the model has at each depth."""
        return tuple(size + end for size, end in zip(self.sizes, self.ends, strict=True))

    @property
    def offsets(self) -> IntArray:
        """The first token of each depth, and the total as the last entry."""
        return np.concatenate([[0], np.cumsum(self.slots)])

    def __len__(self) -> int:
        return sum(self.slots)

    def slot(self, codes: npt.ArrayLike, depth: npt.ArrayLike) -> IntArray:
        """The slot inside its depth (0-based) of each code."""
        codes, depth = np.asarray(codes), np.asarray(depth, dtype=np.intp)
        return np.where(codes == END, np.asarray(self.sizes)[depth], codes)

    def tokens(self, codes: npt.ArrayLike, depth: npt.ArrayLike) -> IntArray:
        """The token of each code at its depth (0-based)."""
        depth = np.asarray(depth, dtype=np.intp)
        return np.asarray(self.offsets[depth] + self.slot(codes, depth))

    def decode(self, tokens: npt.ArrayLike) -> tuple[IntArray, IntArray]:
        """Depth (0-based) and code of each token."""
        tokens = np.asarray(tokens, dtype=np.intp)
        depth = np.searchsorted(self.offsets, tokens, side="right") - 1
        slot = tokens - self.offsets[depth]
        return depth, np.where(slot == np.asarray(self.sizes)[depth], END, slot)


def _may_end(tree: PrefixTree, depth: int) -> bool:
    """Do some identifiers end after ``depth`` codes while others go on?"""
    ended = tree.codes[depth] == END
    if depth and ended.any():
        # Below an END there is nothing to decide: only identifiers still going on count.
        going = tree.codes[depth - 1][tree.parents(depth + 1, np.arange(len(ended)))] != END
        ended &= going
    return bool(ended.any() and (tree.codes[depth] != END).any())
