"""A dataset in memory: fast integer indices inside, the user's ids outside.

Owns: loading a dataset folder, the mapping between ids and row numbers, judgments as sorted arrays.
Ignores trees and models. Item texts are read column by column when asked for, so a catalogue larger than
memory costs only its ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars import artifacts
from rars.data import folder as folders
from rars.data import relevance
from rars.data.schema import SPLITS
from rars.errors import RarsError

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Judgments:
    """Graded pairs sorted by query, then item; one row per pair (the highest grade is kept).

    Shapes: ``query``, ``item``, ``grade`` are all (pairs,).
    """

    query: Ints
    item: Ints
    grade: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.query)

    def where(self, keep: npt.NDArray[np.bool_]) -> Judgments:
        """The pairs that ``keep`` marks, in the same order."""
        return Judgments(self.query[keep], self.item[keep], self.grade[keep])

    @staticmethod
    def merged(
        query: npt.NDArray[Any], item: npt.NDArray[Any], grade: npt.NDArray[Any]
    ) -> Judgments:
        """Sort by query and item; of duplicate judgments keep the highest grade.

        >>> j = Judgments.merged(np.array([1, 0, 1]), np.array([5, 2, 5]), np.array([1., 3., 2.]))
        >>> j.query.tolist(), j.item.tolist(), j.grade.tolist()
        ([0, 1], [2, 5], [3.0, 2.0])
        """
        order = np.lexsort((-grade, item, query))
        query, item, grade = query[order], item[order], grade[order]
        first = np.ones(len(query), dtype=bool)
        first[1:] = (query[1:] != query[:-1]) | (item[1:] != item[:-1])
        return Judgments(
            query[first].astype(np.int32),
            item[first].astype(np.int32),
            grade[first].astype(np.float32),
        )


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items, queries and judgments of one folder; immutable.

    ``split`` holds for each query its index into ``rars.data.schema.SPLITS``.
    """

    folder: Path
    facts: Mapping[str, Any]
    digest: str
    item_ids: pa.StringArray
    query_ids: pa.StringArray
    query_texts: pa.StringArray
    split: npt.NDArray[np.int8]
    judgments: Judgments

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = True) -> Dataset:
        """Open a dataset folder, checking its digests unless ``verify`` is off."""
        artifact = artifacts.opening(
            Path(folder), kind=folders.KIND, manifest=folders.MANIFEST, verify=verify
        )
        items = _read(artifact.folder, "items", ["id"])
        queries = _read(artifact.folder, "queries", ["id", "text", "split"])
        pairs = _read(artifact.folder, "judgments", ["query_id", "item_id", "grade"])
        item_ids, query_ids = _one(items["id"]), _one(queries["id"])
        judgments = Judgments.merged(
            _positions(pairs["query_id"], query_ids, artifact.folder / "judgments.parquet"),
            _positions(pairs["item_id"], item_ids, artifact.folder / "judgments.parquet"),
            pairs["grade"].to_numpy(),
        )
        split = _one(pc.index_in(queries["split"], pa.array(SPLITS))).to_numpy(zero_copy_only=False)
        return cls(
            folder=artifact.folder,
            facts=artifact.meta,
            digest=artifact.digest,
            item_ids=item_ids,
            query_ids=query_ids,
            query_texts=_one(queries["text"]),
            split=split.astype(np.int8),
            judgments=judgments,
        )

    @property
    def name(self) -> str:
        """The dataset's name, as its maker gave it."""
        return str(self.facts["name"])

    @property
    def n_items(self) -> int:
        """How many items the catalogue has."""
        return len(self.item_ids)

    @property
    def n_queries(self) -> int:
        """How many queries there are, in all splits."""
        return len(self.query_ids)

    def items(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Item columns in catalogue order, read from disk now."""
        return _read(self.folder, "items", list(columns) if columns is not None else None)

    def item_index(self, ids: Iterable[str]) -> Ints:
        """Row numbers of item ids; an unknown id is an error."""
        wanted = pa.array(list(ids), pa.string())
        return _positions(wanted, self.item_ids, self.folder / "items.parquet").astype(np.int32)

    def queries_in(self, split: str) -> Ints:
        """Row numbers of the queries of one split."""
        if split not in SPLITS:
            raise RarsError(f"Unknown split {split!r}; choose one of {', '.join(SPLITS)}.")
        return np.flatnonzero(self.split == SPLITS.index(split)).astype(np.int32)

    def judged(self, split: str) -> Judgments:
        """The judgments of one split's queries."""
        return self.judgments.where(np.isin(self.judgments.query, self.queries_in(split)))

    def positives(self, split: str, preset: str = "linear") -> tuple[Ints, Ints, relevance.Floats]:
        """Query, item and training mass rho(q, d) of every pair with positive mass."""
        judged = self.judged(split)
        rho = relevance.mass(judged.grade, preset)
        keep = rho > 0
        return judged.query[keep], judged.item[keep], rho[keep]


def _read(folder: Path, table: str, columns: list[str] | None) -> pa.Table:
    path = folder / f"{table}.parquet"
    try:
        return pq.read_table(path, columns=columns, memory_map=True)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise RarsError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _positions(
    wanted: pa.ChunkedArray | pa.Array, known: pa.Array, source: Path
) -> npt.NDArray[np.int64]:
    found = _one(pc.index_in(wanted, known))
    if found.null_count:
        unknown = wanted.filter(pc.is_null(found))[0]
        raise RarsError(f"{source} does not know the id {unknown.as_py()!r}.")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
