"""A dataset: fast integer indices inside, the user's ids outside.

Owns: datasets of a folder and of tables in memory, the mapping between ids and row numbers, and views of a
dataset that share its arrays. Ignores trees and models, how tables are checked (``rars.data.importing``) and
where columns are (``rars.data.store``). Item texts are read column by column when asked for, so a catalogue
larger than memory costs only its ids.

A view's digest is that of (its parent's digest, its name, its parameters).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars import artifacts, disk, places, replacing
from rars.arrays import Doubles
from rars.data import folder as folders
from rars.data import importing, memory, schema, views
from rars.data.digests import digest_array, digest_table
from rars.data.ids import placed
from rars.data.judgments import Ints, Judgments
from rars.data.problems import Problems
from rars.data.relevance import mass
from rars.data.rules import one
from rars.data.schema import LABEL_GRADES, SPLITS
from rars.data.store import Columns, Rows
from rars.errors import RarsError, expected

__all__ = ["Dataset", "Ints", "Judgments"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items, queries and judgments of a folder, of memory, or of a view; immutable.

    ``folder`` is None unless the dataset is exactly what the folder holds. ``split`` holds for each query
    its index into ``rars.data.schema.SPLITS``; ``relevance`` is the preset by which ``positives`` reads
    grades. ``stored_items`` and ``stored_queries`` are where columns are read: the folder, unless given.
    ``hold`` keeps the files that are read later, should the folder be replaced.
    """

    folder: Path | None
    facts: Mapping[str, Any]
    digest: str
    item_ids: pa.StringArray
    query_ids: pa.StringArray
    query_texts: pa.StringArray
    split: npt.NDArray[np.int8]
    judgments: Judgments
    relevance: str = "linear"
    stored_items: Columns | None = None
    stored_queries: Columns | None = None
    hold: replacing.Hold | None = None

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = True) -> Dataset:
        """Open a dataset folder, checking its digests unless ``verify`` is off."""
        artifact = artifacts.opening(
            places.named(folder, "A dataset folder"),
            kind=folders.KIND,
            manifest=folders.MANIFEST,
            verify=verify,
        )
        pairs_path = artifact.folder / "judgments.parquet"
        stored = {table: _of_folder(artifact.folder, table) for table in ("items", "queries")}
        items = stored["items"].read(["id"])
        queries = stored["queries"].read(["id", "text", "split"])
        pairs = _of_folder(artifact.folder, "judgments").read()
        item_ids, query_ids = one(items["id"]), one(queries["id"])
        judgments = Judgments.merged(
            _positions(pairs["query_id"], query_ids, pairs_path),
            _positions(pairs["item_id"], item_ids, pairs_path),
            pairs["grade"].to_numpy(),
        )
        return cls(
            folder=Path(folder),
            facts=artifact.meta,
            digest=artifact.digest,
            item_ids=item_ids,
            query_ids=query_ids,
            query_texts=one(queries["text"]),
            split=_split_indices(queries["split"]),
            judgments=judgments,
            relevance=str(artifact.meta.get("relevance", "linear")),
            stored_items=stored["items"],
            stored_queries=stored["queries"],
            hold=artifact.hold,
        )

    @classmethod
    def of(
        cls,
        items: object,
        queries: object,
        judgments: object = None,
        *,
        name: str = "in memory",
        licence: str = "unknown",
        item_columns: Mapping[str, str] | None = None,
        query_columns: Mapping[str, str] | None = None,
        judgment_columns: Mapping[str, str] | None = None,
        category_separator: str = " > ",
        test_share: float = 0.2,
    ) -> Dataset:
        """A dataset of tables in memory, checked and converted as ``rars data import`` does with files.

        Each is an Arrow table, a pandas or polars frame, or a list of dicts; the mappings say what they
        call our columns (ours -> theirs). All problems are raised at once, with table, row and column.

        >>> mugs = [{"id": 1, "title": "Red mug"}, {"id": 2, "title": "Blue mug"}]
        >>> asked = [{"id": "q", "text": "mug", "split": "train"}]
        >>> Dataset.of(mugs, asked, [{"query_id": "q", "item_id": 2, "label": "E"}])
        Dataset('in memory', items=2, queries=1, judgments=1)
        """
        for option, value in {"name": name, "licence": licence}.items():
            if not isinstance(value, str):
                raise expected(option, "text", value)
        reading = importing.Reading(
            {} if item_columns is None else item_columns,
            {} if query_columns is None else query_columns,
            {} if judgment_columns is None else judgment_columns,
            category_separator,
            test_share,
            python=True,
        )
        problems = Problems()
        tables = {"items": items, "queries": queries}
        sources = {table: memory.source_of(rows, table, problems) for table, rows in tables.items()}
        prepared = importing.prepared_of(
            sources["items"],
            sources["queries"],
            memory.no_judgments()
            if judgments is None
            else memory.source_of(judgments, "judgments", problems),
            reading,
            problems,
            consequence="no dataset was made",
        )
        catalogue = folders.conform(prepared.items, schema.ITEMS)
        asked = folders.conform(prepared.queries, schema.QUERIES)
        kept = prepared.judgments
        arrays = [kept.query, kept.item, kept.grade]
        content = [digest_table(catalogue), digest_table(asked), *map(digest_array, arrays)]
        return cls(
            folder=None,
            facts={
                "name": name,
                "licence": licence,
                "grades": prepared.grades,
                "merged_judgments": prepared.merged,
            },
            digest=disk.digest_json([*content, prepared.grades]),
            item_ids=one(catalogue["id"]),
            query_ids=one(asked["id"]),
            query_texts=one(asked["text"]),
            split=_split_indices(asked["split"]),
            judgments=kept,
            stored_items=Columns(catalogue, schema.ITEMS),
            stored_queries=Columns(asked, schema.QUERIES),
        )

    def __repr__(self) -> str:
        sizes = f"items={self.n_items}, queries={self.n_queries}, judgments={len(self.judgments)}"
        return f"Dataset({self.name!r}, {sizes})"

    # -- what it is and holds --------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The dataset's name, as its maker gave it."""
        return str(self.facts["name"])

    @property
    def where(self) -> str:
        """What messages call the dataset: its folder, or its name."""
        if self.folder is not None:
            return str(self.folder)
        return f"{'a view of ' if self.facts.get('views') else ''}the dataset {self.name!r}"

    @property
    def n_items(self) -> int:
        """How many items the catalogue has."""
        return len(self.item_ids)

    @property
    def n_queries(self) -> int:
        """How many queries there are, in all splits."""
        return len(self.query_ids)

    @cached_property
    def item_store(self) -> Columns:
        """The items' columns, to be read whole, in part or in blocks."""
        stored = self.stored_items
        return _of_folder(self._home, "items") if stored is None else stored

    @cached_property
    def query_store(self) -> Columns:
        """The queries' columns as they are stored; ``queries`` has the splits of a view."""
        stored = self.stored_queries
        return _of_folder(self._home, "queries") if stored is None else stored

    def items(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Item columns in catalogue order, read now; a column of the schema that is missing is null."""
        return self.item_store.read(None if columns is None else list(columns))

    def item_blocks(
        self, columns: Iterable[str], rows: Rows | None = None, size: int = 10_000
    ) -> Iterator[tuple[Ints, pa.Table]]:
        """Rows (sorted; all by default) and columns of at most ``size`` items at a time."""
        for numbers, block in self.item_store.blocks(list(columns), rows, size):
            yield numbers.astype(np.int32, copy=False), block

    def queries(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Query columns in order, read now; a column of the schema that is missing is null."""
        names = self.query_store.names if columns is None else list(columns)
        held = {"id": self.query_ids, "text": self.query_texts}
        if "split" in names:
            held["split"] = pa.array(SPLITS).take(pa.array(self.split))
        rest = [name for name in names if name not in held]
        read = self.query_store.read(rest) if rest else None
        return pa.table(
            {name: held[name] if name in held or read is None else read[name] for name in names}
        )

    @cached_property
    def eligible(self) -> npt.NDArray[np.bool_]:
        """(queries,) whether a published protocol evaluates the query: all, unless a column says so."""
        if "eligible" not in self.query_store.names:
            return np.ones(self.n_queries, dtype=bool)
        column = self.queries(["eligible"])["eligible"]
        try:
            said = pc.fill_null(column.cast(pa.bool_()), True)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise RarsError(
                f"The column eligible of the queries of {self.where} is not true or false."
            ) from error
        return np.asarray(said.to_numpy(zero_copy_only=False), dtype=bool)

    @cached_property
    def query_locales(self) -> list[str | None]:
        """The locale of each query, None where it is not known."""
        found: list[str | None] = self.queries(["locale"])["locale"].to_pylist()
        return found

    def queries_in(self, split: str, *, eligible: bool = False) -> Ints:
        """Row numbers of the queries of one split; with ``eligible``, of those a protocol evaluates."""
        if split not in SPLITS:
            raise RarsError(f"Unknown split {split!r}; choose one of {', '.join(SPLITS)}.")
        chosen = self.split == SPLITS.index(split)
        if eligible:
            chosen = chosen & self.eligible
        return np.flatnonzero(chosen).astype(np.int32)

    def judged(self, split: str) -> Judgments:
        """The judgments of one split's queries."""
        return self.judgments.where(np.isin(self.judgments.query, self.queries_in(split)))

    def positives(self, split: str, preset: str | None = None) -> tuple[Ints, Ints, Doubles]:
        """Query, item and training mass rho(q, d) of every pair with positive mass."""
        judged = self.judged(split)
        rho = mass(judged.grade, preset or self.relevance)
        keep = rho > 0
        return judged.query[keep], judged.item[keep], rho[keep]

    # -- views -----------------------------------------------------------------------------------

    def with_queries(self, chosen: npt.ArrayLike) -> Dataset:
        """The queries that row numbers or a mask choose; the others and their judgments vanish."""
        rows = views.rows_of(chosen, self.n_queries, "queries")
        return self._view(
            "with_queries",
            {"queries": len(rows)},
            digest_array(rows),
            query_ids=self.query_ids.take(pa.array(rows)),
            query_texts=self.query_texts.take(pa.array(rows)),
            split=self.split[rows],
            judgments=views.without_queries(self.judgments, rows, self.n_queries),
            stored_queries=self.query_store.chosen(rows),
        )

    def with_items(self, chosen: npt.ArrayLike) -> Dataset:
        """The items that row numbers or a mask choose, in catalogue order; judgments of others vanish."""
        rows = views.rows_of(chosen, self.n_items, "items")
        return self._view(
            "with_items",
            {"items": len(rows)},
            digest_array(rows),
            item_ids=self.item_ids.take(pa.array(rows)),
            judgments=views.without_items(self.judgments, rows, self.n_items),
            stored_items=self.item_store.chosen(rows),
        )

    def with_relevance(self, preset: str) -> Dataset:
        """The same, with another preset for the training mass of a grade."""
        mass(self.judgments.grade[:0], preset)  # an unknown preset is an error now
        return self._view("with_relevance", {"preset": preset}, relevance=preset)

    def with_judgments(self, judgments: Judgments) -> Dataset:
        """The same items and queries with other judgments, by row numbers, in any order."""
        kept = views.checked_judgments(judgments, self.n_queries, self.n_items)
        arrays = [kept.query, kept.item, kept.grade]
        facts = dict(self.facts)
        if not np.isin(kept.grade, list(LABEL_GRADES.values())).all():
            facts["grades"] = "numbers"
        return replace(self, facts=facts)._view(
            "with_judgments",
            {"judgments": len(kept)},
            *map(digest_array, arrays),
            judgments=kept,
        )

    def subsampled(
        self, share: float, seed: int, *, at_least: int = 1, split: str | None = None
    ) -> Dataset:
        """A share of each query's judgments, drawn by ``seed``, with ``at_least`` so many positives.

        A smaller share of the same seed is a subset of a larger one. With ``split``, only the judgments
        of that split's queries are thinned.
        """
        thinned = np.ones(len(self.judgments), dtype=bool)
        if split is not None:
            thinned = np.isin(self.judgments.query, self.queries_in(split))
        positive = mass(self.judgments.grade, self.relevance) > 0
        keep = views.subsample(self.judgments, positive, share, seed, at_least, thinned)
        drawn = {
            "share": float(share),
            "seed": int(seed),
            "at_least": int(at_least),
            "split": split,
        }
        return self._view("subsampled", drawn, judgments=self.judgments.where(keep))

    def with_split(self, split: npt.ArrayLike | Mapping[str, str]) -> Dataset:
        """Another split: names or indices for all queries, or names for the ids of some."""
        made = views.split_of(split, self.query_ids, self.split)
        return self._view("with_split", {}, digest_array(made), split=made)

    # -- disk ------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Dataset:
        """Write a dataset folder, whole or not at all, and open it."""
        folder = places.target(folder, replaced=True)
        folders.refuse_foreign(folder)
        facts = {key: value for key, value in self.facts.items() if key not in _WRITTEN}
        with folders.writing_dataset(
            folder,
            name=self.name,
            licence=str(self.facts.get("licence", "unknown")),
            grades=str(self.facts.get("grades", "numbers")),
            **facts | ({"relevance": self.relevance} if self.relevance != "linear" else {}),
        ) as writer:
            folders.write_tables(
                writer,
                (part for _, part in self.item_store.blocks(size=folders.SLICE)),
                self.queries(),
                self.judgments.table(self.query_ids, self.item_ids),
            )
        return Dataset.load(folder, verify=False)

    @property
    def _home(self) -> Path:
        if self.folder is None:
            raise RarsError(f"{self.where} has no folder to read from; save it first.")
        return self.folder

    def _view(self, view: str, said: Mapping[str, Any], *digests: str, **changed: Any) -> Dataset:
        """The dataset with parts changed as ``said``; ``digests`` are of the arrays among the parameters."""
        kept = {"stored_items": self.item_store, "stored_queries": self.query_store}
        seen = [*self.facts.get("views", []), {"view": view, **said}]
        return replace(
            self,
            **kept
            | {
                "folder": None,
                "facts": {**self.facts, "views": seen},
                "digest": disk.digest_json([self.digest, view, dict(said), list(digests)]),
            }
            | changed,
        )


_WRITTEN = ("name", "licence", "grades", "counts", "relevance")
"""Facts that writing a folder says itself."""


def _of_folder(folder: Path, table: str) -> Columns:
    return Columns(folder / f"{table}.parquet", folders.TABLES[table])


def _split_indices(names: pa.ChunkedArray) -> npt.NDArray[np.int8]:
    found = one(pc.index_in(names, pa.array(SPLITS)))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int8)


def _positions(
    wanted: pa.ChunkedArray | pa.Array, known: pa.Array, source: Path
) -> npt.NDArray[np.int64]:
    found = placed(wanted, known)
    if (found < 0).any():
        unknown = wanted[int(np.flatnonzero(found < 0)[0])]
        raise RarsError(f"{source} does not know the id {unknown.as_py()!r}.")
    return found
