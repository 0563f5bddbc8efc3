"""The way up: the leaf of every sorted item, the parent of every node.

Owns: two kinds of arrays that a tree can do without and a query cannot wait for, made once per tree (about
4 bytes a node). Ignores scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.tree import PrefixTree

Nodes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ancestry:
    """Arrays that lead one level up.

    ``up[l]``  from a node at depth l + 1 to its parent at depth l; ``up[L]`` from a position to its leaf

    >>> ancestry = Ancestry.of(PrefixTree.build([[0, 1], [2, 0], [0, 1], [0, 3]]))
    >>> [above.tolist() for above in ancestry.up]
    [[0, 0], [0, 0, 1], [0, 0, 1, 2]]
    """

    tree: PrefixTree
    up: tuple[Nodes, ...]

    @classmethod
    def of(cls, tree: PrefixTree) -> Ancestry:
        """Write out the parents of a tree."""
        pointers = (*tree.children, tree.buckets)
        return cls(
            tree,
            tuple(
                np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
                for first in pointers
            ),
        )

    def fan_out(self, depth: int, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """How many children each node has; for a leaf, how many items."""
        pointers = (*self.tree.children, self.tree.buckets)[depth]
        nodes = np.asarray(nodes)
        return np.asarray(pointers[nodes + 1] - pointers[nodes])
