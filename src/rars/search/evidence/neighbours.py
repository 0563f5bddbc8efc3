"""What was relevant to similar queries: the judgments of training as evidence.

Owns: the judged training queries of a catalogue with their vectors, and the estimate that they give of a new
query's relevance. Ignores where vectors come from; a query's is that of the items' space (``QueryReader``).

    e(q, d) = sum over the m nearest training queries q' of max(0, cos(q, q'))^p g(d, q'),   over its maximum

with g the grade of d for q' over the highest grade: a kernel estimate of relevance, not normalised within a
training query, so that an item relevant to many neighbours gains from each. Few items are relevant to any
neighbour, so it is sparse; it costs one product with the training queries, whatever the catalogue's size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rars.arrays import Floats, Ints, Points
from rars.artifacts import Artifact, Draft
from rars.data import Dataset
from rars.errors import RarsError
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.evidence import Evidence, Reason
from rars.search.evidence.lists import PostingList

NEAREST = 50
"""The m training queries that are heard."""
SHARPNESS = 4
"""p: how much more the nearer ones count."""

_TOLD = 3
"""Neighbours that an explanation names."""
_TEXTS = "judged-queries.parquet"


class Estimate(NamedTuple):
    """Training queries, nearest first; the catalogue rows of their items, sorted, and e of each."""

    nearest: Ints
    rows: Ints
    scores: Floats


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Training queries, n in all, and the items that are relevant to each.

    ``texts``    of the queries; ``vectors`` (n, dim) of length one
    ``start``    (n + 1,) where the items of each begin; ``rows`` their catalogue rows, ``gains`` their g
    """

    texts: pa.Array
    vectors: Points
    start: Ints
    rows: Ints
    gains: Floats

    @classmethod
    def of(
        cls, dataset: Dataset, embed: Callable[[list[str]], Points], split: str = "train"
    ) -> JudgedQueries | None:
        """Those of a dataset's split; None where nothing is judged."""
        query, item, gain = dataset.positives(split)
        if not len(query):
            return None
        order = np.lexsort((item, query))
        query, item, gain = query[order], item[order], gain[order]
        queries, first = np.unique(query, return_index=True)
        texts = dataset.query_texts.take(pa.array(queries))
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        return cls(
            texts,
            _unit(embed(texts.to_pylist())),
            np.append(first, len(query)).astype(np.int64),
            item.astype(np.int32),
            (gain / gain.max()).astype(np.float32),
        )

    def __len__(self) -> int:
        return len(self.texts)

    def moved(self, origin: Ints) -> JudgedQueries:
        """The same for another catalogue, whose rows were ``origin`` before (-1: a new item)."""
        place = np.full(max(int(origin.max(initial=-1)), int(self.rows.max(initial=-1))) + 2, -1)
        place[origin] = np.arange(len(origin))
        place[-1] = -1  # where the new items pointed
        rows = place[self.rows]
        stays = rows >= 0
        start = np.concatenate([[0], np.cumsum(stays)])[self.start]
        return replace(
            self, start=start, rows=rows[stays].astype(np.int32), gains=self.gains[stays]
        )

    def estimates(self, vectors: Points) -> list[Estimate]:
        """What the neighbours of each query (q, dim) say of items."""
        likeness = _unit(vectors) @ self._read.T
        count = min(NEAREST, len(self))
        near = np.argpartition(-likeness, count - 1, axis=1)[:, :count]
        return [
            self._estimate(row[np.argsort(-values[row], kind="stable")], values)
            for row, values in zip(near, likeness, strict=True)
        ]

    def evidence(self, vectors: Points, ancestry: Ancestry) -> list[Evidence]:
        """The same as evidence over a tree; its reasons are the nearest queries."""
        positions = ancestry.tree.positions
        found = []
        for one in self.estimates(vectors):
            places = np.asarray(positions[one.rows])
            order = np.argsort(places)
            told = tuple(
                Reason(
                    "neighbour",
                    self.texts[query].as_py(),
                    (PostingList.of(np.sort(positions[self._of(query)])),),
                )
                for query in one.nearest[:_TOLD].tolist()
            )
            evidence = Evidence.sparse(ancestry, places[order], one.scores[order])
            found.append(replace(evidence, reasons=told))
        return found

    @cached_property
    def _read(self) -> Points:
        """The vectors, in memory: a search passes over all of them."""
        return np.asarray(self.vectors, dtype=np.float32)

    def _of(self, query: int) -> Ints:
        """The rows of one training query's items."""
        return np.asarray(self.rows[int(self.start[query]) : int(self.start[query + 1])])

    def _estimate(self, near: Ints, likeness: Points) -> Estimate:
        weight = np.maximum(likeness[near], 0.0).astype(np.float64) ** SHARPNESS
        first, counts = self.start[near], self.start[near + 1] - self.start[near]
        owner = np.repeat(np.arange(len(near)), counts)
        at = first[owner] + np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        rows, group = np.unique(self.rows[at], return_inverse=True)
        scores = np.bincount(group, weight[owner] * self.gains[at], len(rows)).astype(np.float64)
        highest = float(scores.max(initial=0.0))
        return Estimate(near, rows, scores / highest if highest > 0 else scores)

    # -- on disk ---------------------------------------------------------------------------------

    def save(self, draft: Draft) -> None:
        """Put them into an index version that is being written."""
        pq.write_table(pa.table({"text": self.texts}), draft.folder / _TEXTS)
        draft.save_array("judged-vectors", np.asarray(self.vectors, dtype=np.float16))
        for name, values in (("start", self.start), ("rows", self.rows), ("gains", self.gains)):
            draft.save_array(f"judged-{name}", np.asarray(values))

    @classmethod
    def load(cls, artifact: Artifact) -> JudgedQueries | None:
        """Those of an index version; None where it has none."""
        if not (artifact.folder / _TEXTS).exists():
            return None
        arrays = (
            artifact.array(f"judged-{name}") for name in ("vectors", "start", "rows", "gains")
        )
        return cls(_texts(artifact.folder / _TEXTS), *arrays)

    def fits(self, items: int, width: int | None) -> bool:
        """Whether all parts speak of the same queries, and of items with vectors of such a width."""
        n, start, rows, gains = len(self), self.start, self.rows, self.gains
        shaped = (
            self.vectors.ndim == 2
            and len(self.vectors) == n > 0
            and self.vectors.shape[1] == width
            and start.shape == (n + 1,)
            and rows.ndim == 1
            and gains.shape == rows.shape
            and start.dtype.kind == rows.dtype.kind == "i"
            and gains.dtype.kind == self.vectors.dtype.kind == "f"
        )
        return bool(
            shaped
            and start[0] == 0
            and start[-1] == len(rows)
            and (np.diff(start) >= 0).all()
            and (not len(rows) or (rows.min() >= 0 and rows.max() < items))
            and np.isfinite(gains).all()
            and np.isfinite(self.vectors).all()
        )


def _texts(path: Path) -> pa.Array:
    try:
        column = pq.ParquetFile(path).read(["text"])["text"].cast(pa.string())
        column.validate(full=True)
    except (OSError, KeyError, pa.ArrowException) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise RarsError(f"{path} cannot be read: {why}.") from error
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _unit(vectors: Points) -> Points:
    rows = np.asarray(vectors, dtype=np.float32)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
