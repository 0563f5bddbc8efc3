"""Identifiers given to other items, with the tree as it is: the controls of several studies.

Owns: the groups inside which identifiers are reassigned, and what a compiled kernel needs to draw many
assignments. Ignores what is measured on them. The multiset of identifiers, the sizes of prefixes and how
often an item is relevant stay the same; inside the first code, so does every query's distribution
over first codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Ints, Longs
from rars.data import Dataset
from rars.tree import PrefixTree

if TYPE_CHECKING:
    from types import ModuleType

States = npt.NDArray[np.uint64]


def kernels() -> ModuleType:
    """The compiled loops: whoever asks first waits for numba to load."""
    from rars.analysis import kernels as found

    return found


def nodes_of(tree: PrefixTree) -> npt.NDArray[np.int32]:
    """(slots, L) the node of every slot at depths 1..L."""
    found = np.empty((tree.n_items, tree.depth), dtype=np.int32)
    node: Ints = np.repeat(np.arange(tree.n_leaves), np.diff(tree.buckets))
    for depth in range(tree.depth, 0, -1):
        found[:, depth - 1] = node
        node = tree.parents(depth, node)
    return found


def groups(dataset: Dataset, tree: PrefixTree) -> dict[str, Ints]:
    """(items,) the group of every item under each control; categories only where the catalogue has some.

    An item without a category is with the others that have none.
    """
    first = nodes_of(tree)[tree.positions, 0].astype(np.int64)
    found: dict[str, Ints] = {"global": np.zeros(tree.n_items, dtype=np.int64), "first code": first}
    paths: list[Any] = dataset.items(["category"])["category"].to_pylist()
    if any(paths):
        for name, levels in (("three levels", 3), ("full category", None)):
            known: Mapping[tuple[Any, ...], int] = _Numbered()
            path = [known[tuple((one or ())[:levels])] for one in paths]
            found[name] = np.unique(first * len(known) + np.array(path), return_inverse=True)[1]
    return found


@dataclass(frozen=True, eq=False)
class Draws:
    """How slots of wanted items are drawn inside groups (``rars.analysis.kernels.draw_slots``).

    ``items``   (wanted,) distinct items, sorted by group
    ``pool``    (slots,) all slots, group after group
    ``begin``   (wanted,) where in the pool an item's choices begin, those before it in its group left out
    ``end``     (wanted,) where they end
    """

    items: Ints
    pool: npt.NDArray[np.int32]
    begin: Longs
    end: Longs

    @classmethod
    def of(cls, tree: PrefixTree, group: Ints, wanted: Ints) -> Draws:
        """For the distinct items among ``wanted``."""
        by_group = np.argsort(group, kind="stable")
        size = np.bincount(group)
        first = np.cumsum(size) - size
        items = np.unique(wanted)
        items = items[np.argsort(group[items], kind="stable")]
        mine = group[items]
        number = np.bincount(mine, minlength=len(size))
        place = np.arange(len(items)) - (np.cumsum(number) - number)[mine]
        return cls(items, tree.positions[by_group], first[mine] + place, (first + size)[mine])

    def members(self, item: Ints) -> npt.NDArray[np.int32]:
        """Which of ``items`` each of these is."""
        number = np.full(int(self.items.max()) + 1, -1, dtype=np.int32)
        number[self.items] = np.arange(len(self.items), dtype=np.int32)
        return number[item]

    def slots(self, state: np.uint64) -> npt.NDArray[np.int32]:
        """(wanted,) one assignment."""
        slot = np.empty(len(self.items), dtype=np.int32)
        kernels().draw_slots(self.pool.copy(), self.begin, self.end, state, slot)
        return slot


def movable(group: Ints, item: Ints) -> Bools:
    """Whether each item shares its group with another, so that it can move."""
    return np.asarray(np.bincount(group)[group[item]] > 1)


def states(seed: int, *key: int, count: int) -> States:
    """(count,) independent states of random generators, named by a seed, a key and their number."""
    made = [np.random.SeedSequence(seed, spawn_key=(*key, at)) for at in range(count)]
    return np.array([one.generate_state(1, np.uint64)[0] for one in made], dtype=np.uint64)


class _Numbered(dict[Any, int]):
    """Numbers for whatever is looked up, in order of first sight."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]
