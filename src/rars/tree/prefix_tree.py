"""The SID tree as flat arrays: items sorted by identifier, one CSR level per depth.

Owns: which prefixes exist, their children, and the contiguous range of sorted items below each.
Ignores vectors, models, queries and relevance. Needs NumPy alone.

Once items are sorted by SID, every prefix is a range of them and every depth is a partition of the
ranges above it (paper, section "Preliminaries": P_l, Ch(u), nested corpus partitions). Stored are only
the sort order, the child pointers of each depth, the last code of each node and the item pointers of the
leaves; everything else is an array read.

Identifiers may differ in length. One that ends early goes on with the code ``END`` down to the full depth,
so every depth partitions all items and "end here" is a branch like any other.
Items that share a SID share a leaf; inside it they keep catalogue order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rars import artifacts
from rars.arrays import Ints
from rars.errors import RarsError
from rars.tree.sorting import run_starts, stable_order

END = -1
"""The code of "this identifier ends here", and the padding of shorter rows of a code matrix."""

KIND = "prefix tree"


@dataclass(frozen=True, eq=False)
class PrefixTree:
    """All prefixes of a catalogue's identifiers.

    A node is named by its depth and its number at that depth, in sorted order; the root is (0, 0).

    ``order``       (items,) the items sorted by SID
    ``children``    for depth l = 0..L-1: (n_l + 1,) child pointers of the n_l nodes at depth l: children of
                    node u are the nodes ``children[l][u]`` to ``children[l][u + 1] - 1`` of depth l + 1
    ``codes``       for depth l = 1..L, at index l - 1: (n_l,) the last code of each node
    ``buckets``     (leaves + 1,) item pointers: where each leaf's items begin in ``order``

    >>> tree = PrefixTree.build([[0, 1], [2, 0], [0, 1], [0, 3]])
    >>> [tree.n_nodes(depth) for depth in range(3)]
    [1, 2, 3]
    >>> tree.items_below(1, tree.find([0])).tolist()
    [0, 2, 3]
    """

    order: npt.NDArray[np.int32]
    children: tuple[npt.NDArray[np.int32], ...]
    codes: tuple[Ints, ...]
    buckets: npt.NDArray[np.int32]

    @classmethod
    def build(cls, codes: npt.ArrayLike, known: Ints | None = None) -> PrefixTree:
        """Sort a (items, depth) code matrix into a tree; ``END`` pads shorter rows.

        ``known``  rows that are in order already, most of them: a tree grows by a few in half of the time
        """
        matrix = _checked(np.asarray(codes))
        keys, shifts, lowest = _packed(matrix)
        if keys is None:
            order: Ints = stable_order(*(matrix - END).T)
            return cls._from_sorted(order.astype(np.int32), matrix[order])
        order = stable_order(keys) if known is None else _woven(keys, known)
        keys = keys[order]
        leaves = run_starts(keys)
        buckets = np.append(leaves, len(order)).astype(np.int32)
        prefixes = keys[leaves]
        children, node_codes = [], []
        for depth in range(matrix.shape[1], 0, -1):
            # Leave out the deeper codes: what is left names the node at this depth.
            nodes = prefixes >> np.uint64(shifts[depth])
            width = shifts[depth - 1] - shifts[depth]
            last = (nodes & np.uint64((1 << width) - 1)).astype(np.int64)
            node_codes.append(_compact(last + lowest))
            starts = run_starts(nodes >> np.uint64(width))
            children.append(np.append(starts, len(nodes)).astype(np.int32))
            prefixes = prefixes[starts]
        return cls(order.astype(np.int32), tuple(children[::-1]), tuple(node_codes[::-1]), buckets)

    @classmethod
    def _from_sorted(cls, order: npt.NDArray[np.int32], rows: Ints) -> PrefixTree:
        """The same from sorted rows, for identifiers too long for a 64-bit key."""
        changed = np.ones(len(rows), dtype=bool)
        changed[1:] = False
        starts = [np.flatnonzero(changed)]
        for depth in range(rows.shape[1]):
            changed[1:] |= rows[1:, depth] != rows[:-1, depth]
            starts.append(np.flatnonzero(changed))
        children = tuple(
            np.append(np.searchsorted(below, above), len(below)).astype(np.int32)
            for above, below in pairwise(starts)
        )
        codes = tuple(_compact(rows[first, depth]) for depth, first in enumerate(starts[1:]))
        return cls(order, children, codes, np.append(starts[-1], len(rows)).astype(np.int32))

    # -- size ------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """L: how many codes a full identifier has."""
        return len(self.codes)

    @property
    def n_items(self) -> int:
        """How many items hang in the tree."""
        return len(self.order)

    def n_nodes(self, depth: int) -> int:
        """How many distinct prefixes there are at a depth; 1 at depth 0."""
        return 1 if depth == 0 else len(self.codes[depth - 1])

    @property
    def n_leaves(self) -> int:
        """How many distinct identifiers there are."""
        return len(self.buckets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all stored arrays."""
        return sum(a.nbytes for a in (self.order, self.buckets, *self.children, *self.codes))

    # -- down ------------------------------------------------------------------------------------

    def n_children(self, depth: int, nodes: npt.ArrayLike) -> Ints:
        """|Ch(u)|: how many legal children each node has."""
        pointers, nodes = self.children[depth], np.asarray(nodes)
        return np.asarray(pointers[nodes + 1] - pointers[nodes])

    def expand(self, depth: int, nodes: npt.ArrayLike) -> tuple[Ints, Ints]:
        """All legal children of nodes at ``depth``: (index into ``nodes``, child), in sorted order.

        >>> tree = PrefixTree.build([[0, 1], [2, 0], [0, 3]])
        >>> [a.tolist() for a in tree.expand(1, [1, 0])]
        [[0, 1, 1], [2, 0, 1]]
        """
        nodes = np.asarray(nodes)
        counts = self.n_children(depth, nodes)
        owner = np.repeat(np.arange(len(nodes)), counts)
        first = np.cumsum(counts) - counts
        offset = np.arange(len(owner)) - first[owner]
        return owner, self.children[depth][nodes][owner] + offset

    def leaf_ranges(self, depth: int, nodes: npt.ArrayLike) -> tuple[Ints, Ints]:
        """The first leaf below each node, and the first after it.

        >>> tree = PrefixTree.build([[0, 1], [2, 0], [0, 3]])
        >>> [a.tolist() for a in tree.leaf_ranges(1, [0, 1])]
        [[0, 2], [2, 3]]
        """
        low = np.asarray(nodes)
        high = low + 1
        for pointers in self.children[depth:]:
            low, high = pointers[low], pointers[high]
        return low, high

    def item_ranges(self, depth: int, nodes: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Where each node's items begin in ``order``, and where they end (exclusive)."""
        low, high = self.leaf_ranges(depth, nodes)
        return np.asarray(self.buckets[low]), np.asarray(self.buckets[high])

    def items_below(self, depth: int, node: int) -> npt.NDArray[np.int32]:
        """The items under one prefix: those of a leaf in catalogue order, leaf after leaf."""
        low, high = self.item_ranges(depth, node)
        return self.order[int(low) : int(high)]

    def find(self, prefix: Sequence[int]) -> int | None:
        """The node of a prefix, or None where the catalogue has no such identifier."""
        node = 0
        for depth, code in enumerate(prefix):
            if depth >= self.depth:
                return None
            low, high = self.children[depth][node], self.children[depth][node + 1]
            siblings = self.codes[depth][low:high]
            at = int(np.searchsorted(siblings, code))
            if at == len(siblings) or siblings[at] != code:
                return None
            node = int(low) + at
        return node

    # -- up --------------------------------------------------------------------------------------

    @cached_property
    def positions(self) -> npt.NDArray[np.int32]:
        """Where each item stands in ``order``; made on first use (4 bytes an item), never stored."""
        inverse = np.empty(self.n_items, dtype=np.int32)
        inverse[self.order] = np.arange(self.n_items, dtype=np.int32)
        return inverse

    def leaves_of(self, items: npt.ArrayLike) -> Ints:
        """The leaf of each item."""
        return _owners(self.buckets, np.take(self.positions, np.asarray(items)))

    def parents(self, depth: int, nodes: npt.ArrayLike) -> Ints:
        """The parent, at ``depth - 1``, of each node at ``depth``."""
        return _owners(self.children[depth - 1], np.asarray(nodes))

    def paths(self, depth: int, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """The codes (nodes, depth) from the root to each node."""
        nodes = np.asarray(nodes)
        rows = np.empty((len(nodes), depth), dtype=np.int32)
        for level in range(depth, 0, -1):
            rows[:, level - 1] = self.codes[level - 1][nodes]
            nodes = self.parents(level, nodes)
        return rows

    def identifiers(self, items: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """The full identifiers (items, L); ``END`` pads shorter ones."""
        return self.paths(self.depth, self.leaves_of(items))

    # -- disk ------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write the arrays and their digests, all or nothing."""
        with artifacts.writing(folder, kind=KIND) as draft:
            draft.meta.update(depth=self.depth, items=self.n_items)
            draft.save_array("order", self.order)
            draft.save_array("buckets", self.buckets)
            for depth in range(self.depth):
                draft.save_array(f"children-{depth}", self.children[depth])
                draft.save_array(f"codes-{depth + 1}", self.codes[depth])

    @classmethod
    def load(cls, folder: Path, *, mmap: bool = True, verify: bool = True) -> PrefixTree:
        """Open a saved tree, memory-mapped unless ``mmap`` is off."""
        artifact = artifacts.opening(folder, kind=KIND, verify=verify)
        with artifacts.understood(folder):
            depths = range(int(artifact.meta["depth"]))

            def plain(name: str) -> npt.NDArray[Any]:
                # A view without NumPy's class for mapped files, which makes every small read dear.
                return np.asarray(artifact.array(name, mmap=mmap))

            tree = cls(
                order=artifact.array("order", mmap=mmap),
                children=tuple(plain(f"children-{d}") for d in depths),
                codes=tuple(plain(f"codes-{d + 1}") for d in depths),
                buckets=plain("buckets"),
            )
            if not tree._is_sound():
                raise ValueError("its arrays are not those of a tree")
        return tree

    def _is_sound(self) -> bool:
        """Whether stored arrays fit together, so that no search can leave them."""
        arrays = (self.order, self.buckets, *self.children, *self.codes)
        if not self.codes or not all(
            a.ndim == 1 and len(a) and a.dtype.kind in "iu" for a in arrays
        ):
            return False
        sizes = [1, *map(len, self.codes)]
        pointers = zip(
            (*self.children, self.buckets), sizes, [*sizes[1:], len(self.order)], strict=True
        )
        return (
            all(_covers(starts, nodes, below) for starts, nodes, below in pointers)
            and bool((np.bincount(np.clip(self.order, 0, None), minlength=1) == 1).all())
            and int(self.order.min()) >= 0
            and all(int(codes.min()) >= END for codes in self.codes)
        )


def _covers(pointers: npt.NDArray[np.int32], nodes: int, below: int) -> bool:
    """Whether pointers give each node a part of what is below, one after the other and none empty."""
    ends = len(pointers) == nodes + 1 and pointers[0] == 0 and pointers[-1] == below
    return bool(ends and (pointers[1:] > pointers[:-1]).all())


def _owners(pointers: npt.NDArray[np.int32], members: Ints) -> Ints:
    """Which range of ``pointers`` each member falls into."""
    if len(members) * 4 < len(pointers):
        return np.asarray(np.searchsorted(pointers, members, side="right") - 1)
    # For many members, writing out the owner of every position costs less than searching for each.
    every = np.repeat(np.arange(len(pointers) - 1, dtype=np.int32), np.diff(pointers))
    return np.take(every, members)


def _checked(matrix: npt.NDArray[Any]) -> Ints:
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise RarsError(
            f"Identifiers must be a table of items x codes, not of shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "iu":
        raise RarsError(f"Identifier codes must be whole numbers, not {matrix.dtype}.")
    if matrix.shape[0] > np.iinfo(np.int32).max:
        raise RarsError(f"A tree holds at most 2^31 - 1 items, not {matrix.shape[0]}.")
    lowest = int(matrix.min())
    if lowest < END:
        raise RarsError(f"Identifier codes must be 0 or more, not {lowest}.")
    if lowest > END:
        return matrix
    ended = matrix == END
    resumed = np.flatnonzero((ended[:, :-1] & ~ended[:, 1:]).any(axis=1))
    if len(resumed):
        raise RarsError(f"The identifier of item {resumed[0]} goes on after its end.")
    return matrix


def _packed(matrix: Ints) -> tuple[npt.NDArray[np.uint64] | None, list[int], int]:
    """Each SID as one number, where 64 bits suffice; how to take its prefixes; the code of zero.

    ``shifts[l]`` is how far to shift a key right to keep its first l codes. Where identifiers end early,
    codes are stored plus one, so that END is zero and sorts first.
    """
    lowest = min(int(matrix.min()), 0)
    widths = [int(matrix[:, d].max() - lowest).bit_length() for d in range(matrix.shape[1])]
    shifts = [sum(widths[depth:]) for depth in range(len(widths) + 1)]
    if shifts[0] > 64:
        return None, shifts, lowest
    keys = np.zeros(len(matrix), dtype=np.uint64)
    for depth, width in enumerate(widths):
        keys <<= np.uint64(width)
        column = matrix[:, depth].astype(np.int64)
        column -= lowest
        keys |= column.view(np.uint64)
    return keys, shifts, lowest


def _woven(keys: npt.NDArray[np.uint64], known: Ints) -> Ints:
    """``stable_order`` of keys: ``known`` rows should be sorted already, equal ones by row, others follow."""
    new = np.ones(len(keys), dtype=bool)
    new[known] = False
    rest = np.flatnonzero(new)
    rest = rest[stable_order(keys[rest])]
    before = keys[known]
    behind = not len(rest) or not len(known) or rest.min() > known.max()
    wrong = (before[1:] < before[:-1]) | (before[1:] == before[:-1]) & (known[1:] < known[:-1])
    if not behind or wrong.any():
        return stable_order(keys)
    return np.insert(known, np.searchsorted(before, keys[rest], side="right"), rest)


def _compact(codes: npt.NDArray[Any]) -> Ints:
    """Node codes in the smallest type that holds them: one byte for the usual 256 codes."""
    low, high = int(codes.min()), int(codes.max())
    for kind in (np.uint8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return codes.astype(kind)
    raise RarsError(f"An identifier code of {high} is too large; the limit is 2^31 - 1.")
