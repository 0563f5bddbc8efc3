"""The model's choices at each depth, numbered as slots, and how people read a code.

Owns: code -> slot. Identifiers never pass through a text tokenizer: each depth has slots of its own, one per
code. END ("the identifier ends here") is a slot only at depths where some identifiers end while others go on;
where all end or none does, there is nothing to choose. Ignores what a code stands for.
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
    >>> vocabulary.slots, vocabulary.slot([3, 0, END], [0, 1, 1]).tolist()
    ((4, 3), [3, 0, 2])
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

    def slot(self, codes: npt.ArrayLike, depth: npt.ArrayLike) -> IntArray:
        """The slot inside its depth (0-based) of each code."""
        codes, depth = np.asarray(codes), np.asarray(depth, dtype=np.intp)
        return np.where(codes == END, np.asarray(self.sizes)[depth], codes)


def code_name(depth: int, code: int) -> str:
    """A code as people read it; ``depth`` is 0-based.

    >>> code_name(0, 57), code_name(3, 154), code_name(1, END)
    ('a57', 'd154', 'end')
    """
    if code == END:
        return "end"
    return f"{'abcdefgh'[depth] if depth < 8 else depth}{code}"


def _may_end(tree: PrefixTree, depth: int) -> bool:
    """Do some identifiers end after ``depth`` codes while others go on?"""
    ended = tree.codes[depth] == END
    if depth and ended.any():
        # Below an END there is nothing to decide: only identifiers still going on count.
        going = tree.codes[depth - 1][tree.parents(depth + 1, np.arange(len(ended)))] != END
        ended &= going
    return bool(ended.any() and (tree.codes[depth] != END).any())
