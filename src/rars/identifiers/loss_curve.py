"""What identifiers lose of the vectors they are made of, by how many codes they have and how large they are.

Owns: the curve of one catalogue, and the sizes that follow from it. Ignores where vectors and queries come
from, and collisions: items are ranked by what their codes stand for before any policy moves them.

For queries q and items x with codewords c_l(x), recall@k of

    exact        q . x                                   what the vectors know
    identifiers  q . (c_1(x) + ... + c_L(x))             what L codes keep of it; an untrained model's ceiling
    re-ordered   the first ``reach`` of these by q . x   what is lost in the order alone, not in the reach

Residual clustering is nested: the first L codes of a longer identifier are those of one of L codes. One
clustering of the longest gives the whole curve.

A further code is a further step of every search. Proposed are the sizes with the largest recall - worth x L:
a step has to bring ``worth``, one point if not told otherwise. Larger codebooks cost no step, but a tree
whose first code has hardly more than one item below it divides nothing; they need ``CROWD`` items a code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rars.arrays import Floats, Ints
from rars.errors import RarsError
from rars.identifiers.health import first
from rars.identifiers.kmeans import residual_codebooks, sample
from rars.identifiers.residual import ResidualQuantizer
from rars.progress import Advance

if TYPE_CHECKING:
    from rars.evaluation.tables import Table

USUAL = (256, 256, 256, 256)
FAMILIES: Mapping[int, tuple[int, ...]] = {256: (2, 3, 4, 5, 6, 8, 10, 12), 1024: (2, 3, 4)}
"""Codebook size, and the numbers of codes that are looked at."""
CROWD = 8
"""Items for each code of a codebook larger than the usual ones, at least."""
WORTH = 0.01
"""Recall that a further step of the search has to bring."""
_POINTS = 65_536
"""Items that are clustered at the most."""
_CELLS = 2**24
"""Scores in memory at a time."""


@dataclass(frozen=True)
class CurvePoint:
    """Identifiers of some sizes: their recall, and that of their first items re-ordered by exact vectors."""

    sizes: tuple[int, ...]
    recall: float
    reordered: float

    @property
    def steps(self) -> int:
        """Steps of a search: one a code."""
        return len(self.sizes)

    @property
    def name(self) -> str:
        """Such as 4 x 256."""
        return named(self.sizes)


@dataclass(frozen=True)
class LossCurve:
    """The curve of a catalogue.

    ``on``     the queries it was measured with; ``queries``, how many
    ``exact``  recall of the vectors themselves
    """

    items: int
    queries: int
    on: str
    k: int
    reach: int
    exact: float
    points: tuple[CurvePoint, ...]

    def point(self, sizes: Sequence[int]) -> CurvePoint | None:
        """Where identifiers of these sizes stand."""
        return next((one for one in self.points if one.sizes == tuple(sizes)), None)

    def proposed(self, worth: float = WORTH) -> CurvePoint:
        """The sizes with the largest recall after the price of their steps; of equal ones the shorter.

        Never fewer codes than usual: a short identifier has no room for the catalogue.
        """
        able = [
            one
            for one in self.points
            if one.steps >= len(USUAL)
            and (one.sizes[0] <= USUAL[0] or self.items >= CROWD * one.sizes[0])
        ]
        return max(able, key=lambda one: (one.recall - worth * one.steps, -one.steps))

    def sentence(self) -> str:
        """What is proposed, with its gain and its price."""
        usual, best = self.point(USUAL), self.proposed()
        assert usual is not None
        kept = f"{_percent(best.recall)} of the {_percent(self.exact)} % that vectors find"
        if best.sizes == USUAL:
            return f"Proposed: {best.name}, which keep {kept}; no further step brings a point."
        gain = 100 * (best.recall - usual.recall)
        price = f"{best.steps} steps a search instead of {usual.steps}"
        if best.steps == usual.steps:
            price = f"no further step, {best.sizes[0]:,} choices at each"
        return (
            f"Proposed: {best.name}, which keep {kept}, {gain:+.1f} points over {usual.name}; "
            f"the price: {price}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "queries": self.queries,
            "on": self.on,
            "exact": self.exact,
            "points": [
                {"sizes": list(one.sizes), "recall": one.recall, "reordered": one.reordered}
                for one in self.points
            ],
            "proposed": list(self.proposed().sizes),
        }

    def table(self) -> Table:
        """One row a size."""
        from rars.evaluation.tables import Block, Cell, Row, Table

        usual = self.point(USUAL)
        assert usual is not None
        best = self.proposed()
        rows = [
            Row(("exact vectors",), tuple(Cell(t) for t in (_percent(self.exact), "", "", "", "")))
        ]
        for one in self.points:
            texts = (
                _percent(one.recall),
                _percent(one.recall / self.exact) if self.exact else "",
                f"{100 * (one.recall - usual.recall):+.1f}",
                f"{one.steps / usual.steps:.2g} x",
                _percent(one.reordered),
            )
            label = f"{one.name} (proposed)" if one is best else one.name
            rows.append(Row((label,), tuple(Cell(text) for text in texts)))
        return Table(
            "loss-curve",
            "What identifiers keep of their vectors",
            ("codes",),
            (f"Recall@{self.k}", "kept", f"over {usual.name}", "steps", "re-ordered"),
            (Block(tuple(rows)),),
            f"{self.queries:,} {self.on}, values in %. kept: of what exact vectors find; steps: of a "
            f"search, beside {usual.name}; re-ordered: the first {self.reach:,} by codes, ordered by exact "
            "vectors.",
        )

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def loss_curve(
    queries: Floats,
    items: Floats,
    positives: tuple[Ints, Ints],
    *,
    on: str = "queries",
    families: Mapping[int, Sequence[int]] = FAMILIES,
    seed: int = 42,
    iterations: int = 25,
    k: int = 100,
    reach: int = 1000,
    advance: Advance | None = None,
) -> LossCurve:
    """The curve of items (n, dim) for queries (q, dim); ``positives`` are rows of both that belong together.

    Codebooks larger than the catalogue are left out.
    """
    query, item = (np.asarray(one, dtype=np.int64) for one in positives)
    if not len(query):
        raise RarsError("There are no judged pairs to measure a curve with.")
    chosen = {w: tuple(d) for w, d in families.items() if w == USUAL[0] or w <= len(items)}
    total = sum(max(depths) for depths in chosen.values())
    measured = _Measured(np.asarray(queries), items, query, item, k, reach)
    points, done = [], 0
    for width, depths in chosen.items():
        sizes = (width,) * max(depths)
        begun = done

        def count(depth: int, _: int, begun: int = begun) -> None:
            if advance:
                advance(begun + depth, total)

        drawn = sample(items, _POINTS, seed)
        books = residual_codebooks(drawn, sizes, seed=seed, iterations=iterations, advance=count)
        found = measured.nested(ResidualQuantizer(books), set(depths))
        points += [CurvePoint(sizes[:depth], *found[depth]) for depth in depths]
        done += len(sizes)
    return LossCurve(
        len(items), len(np.unique(query)), on, k, reach, measured.exact(), tuple(points)
    )


def named(sizes: Sequence[int]) -> str:
    """Sizes as people say them.

    >>> named((256, 256)), named((64, 16, 16))
    ('2 x 256', '64 x 16 x 16')
    """
    return f"{len(sizes)} x {sizes[0]}" if len(set(sizes)) == 1 else " x ".join(map(str, sizes))


@dataclass(frozen=True, eq=False)
class _Measured:
    """Recall over queries, block by block."""

    queries: Floats
    items: Floats
    query: Ints
    item: Ints
    k: int
    reach: int

    def exact(self) -> float:
        hits = np.zeros(len(self.query), dtype=bool)
        for block, pairs, row in self._blocks():
            hits[pairs] = first(self._exact(block), self.k)[row, self.item[pairs]]
        return self._mean(hits)

    def nested(
        self, quantizer: ResidualQuantizer, depths: set[int]
    ) -> dict[int, tuple[float, float]]:
        """Recall by codes and re-ordered, of the first codes of identifiers."""
        codes = quantizer.encode(self.items)
        hits = {depth: np.zeros((2, len(self.query)), dtype=bool) for depth in depths}
        for block, pairs, row in self._blocks():
            exact = self._exact(block)
            scores = np.zeros_like(exact)
            for depth, book in enumerate(quantizer.codebooks, 1):
                scores += (self.queries[block] @ book.T)[:, codes[:, depth - 1]]
                if depth in depths:
                    reached = np.where(first(scores, self.reach), exact, -np.inf)
                    for way, order in enumerate((scores, reached)):
                        hits[depth][way, pairs] = first(order, self.k)[row, self.item[pairs]]
        return {depth: (self._mean(one[0]), self._mean(one[1])) for depth, one in hits.items()}

    def _exact(self, block: Ints) -> Floats:
        return np.asarray(self.queries[block] @ self.items.T, dtype=np.float32)

    def _blocks(self) -> Any:
        """Queries, their pairs, and the row of each pair in the block."""
        asked = np.unique(self.query)
        for block in np.array_split(asked, 1 + len(asked) * len(self.items) // _CELLS):
            pairs = np.flatnonzero(np.isin(self.query, block))
            yield block, pairs, np.searchsorted(block, self.query[pairs])

    def _mean(self, hits: Any) -> float:
        _, place = np.unique(self.query, return_inverse=True)
        return float((np.bincount(place, hits) / np.bincount(place)).mean())


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
