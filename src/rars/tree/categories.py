"""The category tree: named nodes per level, their parents, and every item's node at each level.

Owns: numbering of categories by full path (two leaves of the same name under different parents are two
nodes). Ignores where paths come from: a catalogue's own, or induced by clustering. Needs NumPy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rars.arrays import Ints
from rars.tree.prefix_tree import END, PrefixTree
from rars.tree.sorting import runs, stable_order

NONE = -1
"""The node of an item that has no category at a level."""


@dataclass(frozen=True, eq=False)
class CategoryTree:
    """Levels 0..J-1; a node is a number inside its level.

    ``names``    per level, the path of each node from the top, joined by " > "
    ``parents``  per level, (nodes,) the parent one level up; level 0 hangs from node 0 of the root
    ``nodes``    (items, J) each item's node, ``NONE`` below where its path ends
    ``induced``  whether they are clusters, named by numbers, and not the catalogue's own
    """

    names: tuple[tuple[str, ...], ...]
    parents: tuple[Ints, ...]
    nodes: Ints
    induced: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many categories each level has."""
        return tuple(len(names) for names in self.names)

    def fits(self, items: int) -> bool:
        """Whether stored parts fit together and speak of so many items."""
        above = (1, *self.sizes)
        return (
            self.nodes.shape == (items, len(self.names))
            and len(self.parents) == len(self.names)
            and all(isinstance(name, str) for names in self.names for name in names)
            and all(
                parents.shape == (size,) and _within(parents, 0, one)
                for parents, size, one in zip(self.parents, self.sizes, above, strict=False)
            )
            and all(_within(self.nodes[:, at], NONE, size) for at, size in enumerate(self.sizes))
        )

    @classmethod
    def of_paths(cls, paths: Sequence[Sequence[str] | None], levels: int = 3) -> CategoryTree:
        """Number the first ``levels`` of every item's path; an item without a path has no category.

        >>> tree = CategoryTree.of_paths([["Home", "Mugs"], ["Home"], None, ["Toys", "Mugs"]], 2)
        >>> tree.names[1], tree.parents[1].tolist(), tree.nodes.tolist()
        (('Home > Mugs', 'Toys > Mugs'), [0, 1], [[0, 0], [0, -1], [-1, -1], [1, 1]])
        """
        words = sorted({name for path in paths for name in (path or [])[:levels]})
        number = {name: index for index, name in enumerate(words)}
        codes = np.full((len(paths), levels), END, dtype=np.int32)
        for row, path in enumerate(paths):
            for level, name in enumerate((path or [])[:levels]):
                codes[row, level] = number[name]
        return cls.of_codes(codes, words)

    @classmethod
    def of_codes(cls, codes: Ints, words: Sequence[str] | None = None) -> CategoryTree:
        """The same from a code matrix (items, J), such as induced clusters; codes name themselves."""
        tree = PrefixTree.build(codes)
        leaf = tree.leaves_of(np.arange(tree.n_items))
        names: list[tuple[str, ...]] = []
        parents: list[Ints] = []
        nodes = np.empty_like(codes)
        compact = np.zeros(1, dtype=np.int64)
        for level in range(tree.depth):
            every = np.arange(tree.n_nodes(level + 1))
            real = tree.codes[level] != END
            parents.append(compact[tree.parents(level + 1, every[real])])
            compact = np.where(real, np.cumsum(real) - 1, NONE)
            paths = tree.paths(level + 1, every[real]).tolist()
            names.append(tuple(" > ".join(words[c] if words else str(c) for c in p) for p in paths))
            at = leaf
            for deeper in range(tree.depth, level + 1, -1):
                at = tree.parents(deeper, at)
            nodes[:, level] = compact[at]
        return cls(tuple(names), tuple(parents), nodes, induced=words is None)

    def of_pairs(self, level: int, row: Ints, item: Ints) -> tuple[Ints, Ints, Ints]:
        """The categories of each row's items at a level, sorted: row, node, how many items, one entry a pair.

        >>> tree = CategoryTree.of_paths([["a"], ["b"], ["a"]], 1)
        >>> [a.tolist() for a in tree.of_pairs(0, np.array([5, 5, 5, 6]), np.array([0, 1, 2, 1]))]
        [[5, 5, 6], [0, 1, 1], [2, 1, 1]]
        """
        node = self.nodes[item, level]
        row, node = row[node != NONE], node[node != NONE]
        order = stable_order(row, node)
        row, node = row[order], node[order]
        first, number = runs(row, node)
        return row[first], node[first], np.bincount(number, minlength=len(first))


def _within(values: Ints, least: int, below: int) -> bool:
    whole = values.dtype.kind == "i"
    return whole and (not len(values) or least <= int(values.min()) <= int(values.max()) < below)
