"""The health of a set of identifiers, measured before anything is trained on it.

Owns: code use, balance and collisions per depth; the recall that codewords reach without training; and the
refusal to go on with collapsed codes. Ignores how identifiers were learned. Works on codes (n, depth) with -1
after a shorter identifier.

Gini of items per used prefix, counts ascending x_1..x_N: (N + 1) / N - 2 sum_i (N + 1 - i) x_i / (N sum x);
0 = all prefixes hold the same number of items, near 1 = one prefix holds nearly all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from rars.arrays import Bools, Codes, Floats, Ints
from rars.errors import RarsError
from rars.identifiers.keys import grouped, row_keys
from rars.identifiers.quantizer import Quantizer

if TYPE_CHECKING:
    from rars.evaluation.tables import Table

FEWEST_USED = 0.1
FEWEST_DISTINCT = 0.5


@dataclass(frozen=True)
class DepthHealth:
    """One depth: how its codes are used, and how the prefixes that end there hold the items."""

    depth: int
    size: int
    used: int
    dead: int
    perplexity: float
    """exp of the entropy of the codes: how many codes there would be if all were used alike."""
    prefixes: int
    items_mean: float
    items_max: int
    gini: float


@dataclass(frozen=True)
class Health:
    """All depths, and the identifiers as a whole."""

    items: int
    distinct: int
    collision_rate: float
    """Share of the items that do not have their identifier for themselves."""
    gini: float
    """Of items per identifier: one of FORGE's two measures."""
    leaves: dict[int, int]
    """Number of identifiers by how many items they hold."""
    depths: tuple[DepthHealth, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return asdict(self)

    def table(self) -> Table:
        """One row a depth."""
        from rars.evaluation.tables import Block, Cell, Row, Table

        rows = tuple(
            Row(
                (f"L{one.depth}",),
                tuple(
                    Cell(text)
                    for text in (
                        f"{one.size:,}",
                        f"{one.used:,}",
                        f"{one.dead:,}",
                        f"{one.perplexity:,.1f}",
                        f"{one.prefixes:,}",
                        f"{one.items_mean:,.1f}",
                        f"{one.items_max:,}",
                        f"{one.gini:.3f}",
                    )
                ),
            )
            for one in self.depths
        )
        return Table(
            "identifiers",
            f"{self.items:,} items, {self.distinct:,} identifiers",
            ("depth",),
            ("codes", "used", "dead", "perplexity", "prefixes", "mean", "max", "Gini"),
            (Block(rows),),
            "perplexity: codes if all were used alike; mean, max, Gini: items per prefix",
        )

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def measure_health(codes: Codes, sizes: Sequence[int]) -> Health:
    """Count how identifiers use their codes.

    >>> health = measure_health(np.array([[0, 0], [0, 1], [1, 0], [1, 0]], dtype=np.int32), (2, 4))
    >>> health.distinct, health.collision_rate, health.depths[1].dead
    (3, 0.5, 2)
    """
    counts = grouped(row_keys(codes)).counts
    held, leaves = np.unique(counts, return_counts=True)
    return Health(
        items=len(codes),
        distinct=len(counts),
        collision_rate=float(counts[counts > 1].sum() / max(len(codes), 1)),
        gini=gini(counts),
        leaves=dict(zip(held.tolist(), leaves.tolist(), strict=True)),
        depths=tuple(_depth(codes, depth, size) for depth, size in enumerate(sizes)),
    )


def check_health(health: Health) -> None:
    """Refuse identifiers whose codes collapsed: training on them would only waste time."""
    first = health.depths[0]
    possible = min(first.size, health.items)
    if first.used < FEWEST_USED * possible:
        raise RarsError(
            f"The identifiers collapsed: depth 1 uses {first.used} of {possible} codes; check that the "
            "embeddings differ between items, or use learner 'residual-kmeans', or smaller sizes."
        )
    capacity = prod(depth.size for depth in health.depths)
    if capacity >= health.items and health.distinct < FEWEST_DISTINCT * health.items:
        raise RarsError(
            f"The identifiers collapsed: {health.items} items got only {health.distinct} different "
            "ones; use larger or more codebooks (sizes), collisions 'suffix', or another embedder."
        )


def gini(counts: Ints) -> float:
    """How unequal counts are.

    >>> gini(np.array([5, 5, 5])), gini(np.array([0, 0, 0, 9]))
    (0.0, 0.75)
    """
    ordered = np.sort(counts).astype(np.float64)
    n = len(ordered)
    if not n or not ordered.sum():
        return 0.0
    weighted = ((n - np.arange(n)) * ordered).sum() / ordered.sum()
    return float((n + 1) / n - 2 * weighted / n)


def untrained_recall(
    query_vectors: Floats,
    quantizer: Quantizer,
    codes: Codes,
    positives: tuple[Ints, Ints],
    k: int = 100,
) -> float:
    """Recall at ``k`` of ranking items by query . (the vector their identifier stands for).

    ``positives`` are the rows of queries and items that belong together. The mean is over the queries
    that have any; items of one identifier stand in catalogue order. It tells how much of the embedder's
    similarity the identifiers keep.
    """
    query, item = (np.asarray(part, dtype=np.int64) for part in positives)
    if not len(query):
        raise RarsError("There are no judged pairs to measure recall with.")
    groups = grouped(row_keys(codes[:, : len(quantizer.sizes)]))
    leaves = codes[groups.order[groups.starts]]
    asked = np.unique(query)
    hits = np.zeros(len(query), dtype=bool)
    for part in np.array_split(np.arange(len(asked)), 1 + len(asked) * len(codes) // 2**24):
        pairs = np.flatnonzero(np.isin(query, asked[part]))
        scores = quantizer.similarities(query_vectors[asked[part]], leaves)[:, groups.member]
        row = np.searchsorted(asked[part], query[pairs])
        hits[pairs] = first(scores, k)[row, item[pairs]]
    place = np.searchsorted(asked, query)
    return float((np.bincount(place, hits) / np.bincount(place)).mean())


def first(scores: Floats, k: int) -> Bools:
    """(rows, items) which items are among their row's first k; equal scores stand in catalogue order."""
    k = min(k, scores.shape[1])
    edge = np.partition(scores, -k, axis=1)[:, -k, None]
    room = k - (scores > edge).sum(axis=1)
    tied = scores == edge
    before = np.cumsum(tied, axis=1) - tied
    inside: Bools = (scores > edge) | (tied & (before < room[:, None]))
    return inside


def _depth(codes: Codes, depth: int, size: int) -> DepthHealth:
    rows = codes[codes[:, depth] >= 0, : depth + 1]
    counts = grouped(row_keys(rows)).counts
    uses = np.bincount(rows[:, depth], minlength=size)
    shares = uses[uses > 0] / max(len(rows), 1)
    used = int((uses > 0).sum())
    return DepthHealth(
        depth=depth + 1,
        size=size,
        used=used,
        dead=size - used,
        perplexity=float(np.exp(-(shares * np.log(shares)).sum())),
        prefixes=len(counts),
        items_mean=float(counts.mean()) if len(counts) else 0.0,
        items_max=int(counts.max(initial=0)),
        gini=gini(counts),
    )
