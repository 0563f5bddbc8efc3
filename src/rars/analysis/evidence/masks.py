"""Which positives are kept when judgments are thinned.

Owns: the three ways to thin. Every query keeps k = max(1, floor(f n)) of its n positives: the first k of an
order of its own, so that masks of growing retention are nested. With E_d exponential and independent, drawn
once a replicate and shared by all three:

uniform              by E_d: every subset of k is as likely as any other
grade-biased         by E_d / grade_d: drawn one after the other without replacement, each time in proportion
                     to the grade, so an Exact item is three times as likely as a Complement to be next
branch-concentrated  the item with the smallest E_d first, then those that share the longest prefix with it
                     under the semantic identifiers, ties by E_d: evidence gathers in few branches

The last is defined on the semantic identifiers for every assignment, as masks must be the same items. Where
all grades are equal, the first two are the same mask; where one positive is kept, the first and the last are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rars.analysis.population import Population
from rars.arrays import Bools, Doubles, Ints, Longs

KINDS = {
    "uniform": "Uniform",
    "grade-biased": "Grade-biased",
    "branch-concentrated": "Branch-concentrated",
}


def kept_counts(counts: Longs, share: float) -> Longs:
    """How many positives each query keeps.

    >>> kept_counts(np.array([2, 4, 7, 40]), 0.25).tolist()
    [1, 1, 1, 10]
    """
    # A share such as 0.29 times 100 must not fall just below a whole number.
    return np.asarray(np.maximum(1, np.floor(share * counts + 1e-9).astype(np.int64)))


def ranks(people: Population, *keys: Doubles) -> Longs:
    """(pairs,) the place of each positive in its query's order by the first key, then the second, ..."""
    order = np.lexsort((*keys[::-1], people.row))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(people.start[:-1], people.counts)
    return place


def shared_with_first(people: Population, first: Longs, nodes: npt.NDArray[np.int32]) -> Ints:
    """(pairs,) how many codes each positive shares with the positive ``first`` (n,) of its query.

    ``nodes`` (pairs, L) are the semantic prefixes of each positive.
    """
    same = nodes == nodes[np.repeat(first, people.counts)]
    return np.asarray(np.cumprod(same, axis=1).sum(axis=1))


def masks(
    people: Population,
    nodes: npt.NDArray[np.int32],
    shares: tuple[float, ...],
    at: float,
    random: np.random.Generator,
) -> Bools:
    """What one replicate keeps, (len(shares) + 2, pairs): uniform at every share, the others at ``at``."""
    drawn = random.exponential(size=len(people.item))
    even = ranks(people, drawn)
    first = np.flatnonzero(even == 0)
    near = shared_with_first(people, first, nodes)
    orders = {
        "grade-biased": ranks(people, drawn / people.grade),
        "branch-concentrated": ranks(people, -near.astype(np.float64), drawn),
    }

    def kept(order: Longs, share: float) -> Bools:
        return np.asarray(order < np.repeat(kept_counts(people.counts, share), people.counts))

    rows = [kept(even, share) for share in shares]
    return np.stack([*rows, *(kept(order, at) for order in orders.values())])
