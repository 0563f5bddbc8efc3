"""How relevance branches: refinement entropy and its companions, per query and depth.

Owns: the quantities of the paper's sections "Relevance Across Identifier Resolutions", "Supervision at
Branching Prefixes" and "Measures and controls". They depend on judgments and tree alone, never on a model.
Entropies are in nats. Needs NumPy alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles, Ints
from rars.tree.prefix_tree import PrefixTree
from rars.tree.relevance import Projection


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """Each field is (queries, L); column l - 1 is the refinement from depth l - 1 to depth l.

    ``entropy``    Delta_l(q) = H(Z_l | Z_{l-1}, q)                                   (Eq. ambiguity)
    ``variance``   V_l(q), the variance that drawing a one-hot target adds     (Eq. ambiguity-bound)
    ``mass``       M_l(q), relevance mass at parents with several relevant children
    ``branches``   whether any parent has several relevant children (Q counts these)
    ``capacity``   sum_u mu_{l-1}(u|q) log |Ch(u)|, the most that Delta_l(q) could be
    """

    entropy: Doubles
    variance: Doubles
    mass: Doubles
    branches: npt.NDArray[np.bool_]
    capacity: Doubles

    @property
    def normalised(self) -> Doubles:
        """Delta_l(q) over its capacity, zero where there is no choice (Eq. rq2-normalization)."""
        zero = np.zeros_like(self.entropy)
        return np.asarray(np.divide(self.entropy, self.capacity, out=zero, where=self.capacity > 0))

    @property
    def allocation(self) -> Doubles:
        """r_l(q): the share of the query's total entropy at each depth; NaN where that is zero."""
        total = self.entropy.sum(axis=1, keepdims=True)
        unknown = np.full_like(self.entropy, np.nan)
        return np.asarray(np.divide(self.entropy, total, out=unknown, where=total > 0))

    @property
    def mean_depth(self) -> Doubles:
        """tau(q) = sum_l l r_l(q), (queries,): where on the way down relevance branches."""
        depths = np.arange(1, self.entropy.shape[1] + 1)
        return np.asarray(self.allocation @ depths, dtype=np.float64)


def ambiguity(tree: PrefixTree, projection: Projection) -> Ambiguity:
    """Measure every refinement of every projected query at once.

    >>> from rars.tree.relevance import Relevance, project
    >>> tree = PrefixTree.build([[0, 0], [0, 1], [1, 0]])
    >>> measured = ambiguity(tree, project(tree, Relevance.of([0, 0], [0, 1], [1, 1])))
    >>> measured.entropy.round(4).tolist(), measured.mean_depth.tolist()
    ([[0.0, 0.6931]], [2.0])
    """
    columns = [_refinement(tree, projection, depth) for depth in range(1, tree.depth + 1)]
    entropy, variance, mass, parents, capacity = (
        np.stack(field, axis=1) for field in zip(*columns, strict=True)
    )
    return Ambiguity(entropy, variance, mass, parents > 0, capacity)


def _refinement(tree: PrefixTree, projection: Projection, depth: int) -> tuple[Doubles, ...]:
    level, above = projection.levels[depth], projection.levels[depth - 1]
    share = projection.conditional(depth)
    several = projection.branching(depth) > 1
    legal = tree.n_children(depth - 1, above.node)

    def per_query(rows: Ints, weights: Doubles) -> Doubles:
        return np.bincount(rows, weights, projection.n_rows).astype(np.float64, copy=False)

    # Rounding can make an only child's share differ from 1; there is no choice there.
    choice = several[level.parent]
    return (
        per_query(level.row, np.where(choice, -level.mass * np.log(share), 0.0)),
        per_query(level.row, np.where(choice, level.mass * (1.0 - share), 0.0)),
        per_query(above.row, above.mass * several),
        per_query(above.row, several.astype(np.float64)),
        per_query(above.row, above.mass * np.log(legal)),
    )
