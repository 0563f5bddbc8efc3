"""Three tables of the user's own become a dataset folder.

Owns: which columns mean what, how queries without a split are divided, and that nothing is written unless
everything is sound. Ignores file formats (``rars.data.tables``) and the rules themselves
(``rars.data.rules``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.data import columns, rules, schema
from rars.data.dataset import Judgments
from rars.data.folder import refuse_foreign, writing_dataset
from rars.data.problems import Problems
from rars.data.rules import Named, one
from rars.data.splits import held_out, with_validation
from rars.data.tables import Advance, Meter, Source, existing, file_format, read_source
from rars.errors import RarsError

JUDGMENT_COLUMNS = ("query_id", "item_id", "label", "grade")

_SLICE = 200_000  # rows converted at a time, so that temporary copies stay small


@dataclass(frozen=True)
class Tables:
    """The user's files, and what they call our columns (ours -> theirs)."""

    items: Path
    queries: Path
    judgments: Path
    item_columns: Mapping[str, str] = field(default_factory=dict)
    query_columns: Mapping[str, str] = field(default_factory=dict)
    judgment_columns: Mapping[str, str] = field(default_factory=dict)
    category_separator: str = " > "
    test_share: float = 0.2

    def __post_init__(self) -> None:
        known = {
            "--item-column": (self.item_columns, schema.ITEMS.names),
            "--query-column": (self.query_columns, schema.QUERIES.names),
            "--judgment-column": (self.judgment_columns, JUDGMENT_COLUMNS),
        }
        for option, (mapping, names) in known.items():
            for ours in mapping:
                if ours not in names:
                    raise RarsError(
                        f"{option} {ours}=... names no column of ours; choose from {', '.join(names)}."
                    )
        if not 0 <= self.test_share <= 1:
            raise RarsError(f"--test-share {self.test_share} is not between 0 and 1.")
        if not self.category_separator:
            raise RarsError("--category-separator must not be empty.")
        for path in self.paths:
            file_format(existing(path))

    @property
    def paths(self) -> tuple[Path, Path, Path]:
        """The three files."""
        return self.items, self.queries, self.judgments


@dataclass(frozen=True)
class Prepared:
    """Three sound tables, ready to be written: judgments are merged, queries have their split."""

    items: pa.Table
    queries: pa.Table
    judgments: Judgments
    grades: str
    merged: int

    def judgment_rows(self) -> pa.Table:
        """The judgments with ids in place of positions."""
        return pa.table(
            {
                "query_id": self.queries["id"].take(pa.array(self.judgments.query)),
                "item_id": self.items["id"].take(pa.array(self.judgments.item)),
                "grade": pa.array(self.judgments.grade),
            }
        )


def import_tables(
    folder: Path,
    tables: Tables,
    *,
    name: str | None = None,
    licence: str = "unknown",
    advance: Advance = None,
) -> Prepared:
    """Read, check and write; every problem of the three files is reported at once and stops it."""
    refuse_foreign(folder)
    prepared = prepare(tables, advance=advance, consequence="nothing was written")
    sources = {
        "items": tables.items.name,
        "queries": tables.queries.name,
        "judgments": tables.judgments.name,
    }
    with writing_dataset(
        folder,
        name=name or folder.resolve().name,
        licence=licence,
        grades=prepared.grades,
        sources=sources,
        merged_judgments=prepared.merged,
    ) as writer:
        for start in range(0, prepared.items.num_rows, _SLICE):
            writer.add("items", prepared.items.slice(start, _SLICE))
        writer.add("queries", prepared.queries)
        writer.add("judgments", prepared.judgment_rows())
    return prepared


def prepare(tables: Tables, *, advance: Advance = None, consequence: str) -> Prepared:
    """Read and check without writing."""
    problems = Problems()
    meter = Meter(tables.paths, advance)
    sources = [read_source(path, problems, meter=meter) for path in tables.paths]
    items_source, queries_source, judgments_source = sources
    items = queries = None
    if items_source is not None:
        named = Named(items_source, problems, tables.item_columns, "--item-column")
        items = _items(named, tables.category_separator)
    if queries_source is not None:
        named = Named(queries_source, problems, tables.query_columns, "--query-column")
        queries = _queries(named)
    judged = None
    if judgments_source is not None:
        named = Named(judgments_source, problems, tables.judgment_columns, "--judgment-column")
        judged = _judgments(named, _ids(queries_source, queries), _ids(items_source, items))
    problems.stop(consequence)
    # Whatever kept one of these from being made is a problem, so here all three are there.
    assert items is not None
    assert queries is not None
    assert judged is not None
    judgments, grades = judged
    queries = _with_splits(queries, judgments, tables.test_share)
    merged = Judgments.merged(judgments.query, judgments.item, judgments.grade)
    return Prepared(items, queries, merged, grades, len(judgments) - len(merged))


def read_items(
    path: Path,
    check: Callable[[Named, pa.StringArray], None],
    *,
    consequence: str,
    category_separator: str = " > ",
    advance: Advance = None,
) -> pa.Table:
    """Read and check a file of items alone; ``check`` may find more problems with their ids."""
    problems = Problems()
    source = read_source(path, problems, meter=Meter([existing(path)], advance))
    items = None
    if source is not None:
        named = Named(source, problems, {})
        items = _items(named, category_separator)
        if items is not None:
            check(named, one(items["id"]))
    problems.stop(consequence)
    assert items is not None
    return items


def read_queries(path: Path, *, consequence: str) -> pa.Table:
    """Read and check a file of queries alone: id and text, and what else it has."""
    problems = Problems()
    source = read_source(path, problems)
    queries = None if source is None else _queries(Named(source, problems, {}))
    problems.stop(consequence)
    assert queries is not None
    return queries


def read_ids(
    path: Path,
    check: Callable[[Named, pa.StringArray], None],
    *,
    consequence: str,
) -> pa.StringArray:
    """Read and check the ids of a file that has a column ``id``; its other columns are ignored."""
    problems = Problems()
    source = read_source(path, problems)
    ids = None
    if source is not None:
        named = Named(source, problems, {})
        ids = rules.unique_ids(named)
        if ids is not None:
            check(named, ids)
    problems.stop(consequence)
    assert ids is not None
    return ids


def _ids(source: Source | None, table: pa.Table | None) -> pa.StringArray | None:
    """Ids that judgments may refer to; None if some could not be read, as then any could be meant."""
    if source is None or table is None or not source.whole or not source.table.num_rows:
        return None
    return one(table["id"])


def _items(named: Named, separator: str) -> pa.Table | None:
    ids = rules.unique_ids(named)
    made = {"id": ids, "title": rules.not_empty(named, "title")}
    for ours in ("text", "brand", "color"):
        made[ours] = named.optional_texts(ours)
    if named.has("category"):
        made["category"] = named.readable(
            "category", lambda column: columns.categories(column, separator)
        )
    if named.has("attributes"):
        made["attributes"], wrong = columns.attributes(named.column("attributes"))
        named.wrong("attributes", wrong, "attributes are not a JSON object")
    return None if ids is None else _with_further(named, made)


def _queries(named: Named) -> pa.Table | None:
    ids = rules.unique_ids(named)
    made = {"id": ids, "text": rules.not_empty(named, "text")}
    made["locale"] = named.optional_texts("locale")
    if named.has("split"):
        made["split"] = rules.split_names(named)
    return None if ids is None else _with_further(named, made)


def _with_further(named: Named, made: Mapping[str, pa.Array | pa.ChunkedArray | None]) -> pa.Table:
    """Our columns, then the file's other columns as they are (empty texts null)."""
    used = {named.name(ours) for ours in made}
    table = {ours: column for ours, column in made.items() if column is not None}
    for theirs in named.source.table.column_names:
        if theirs not in used and theirs not in made:
            column = named.source.table[theirs]
            table[theirs] = columns.optional_text(column) if _is_text(column) else column
    return pa.table(table)


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _judgments(
    named: Named, query_ids: pa.StringArray | None, item_ids: pa.StringArray | None
) -> tuple[Judgments, str] | None:
    query = rules.references(named, "query_id", query_ids, "query")
    item = rules.references(named, "item_id", item_ids, "item")
    kind = _kind_of_grades(named)
    if kind is None:
        return None
    grade = rules.label_grades(named) if kind == "labels" else rules.number_grades(named)
    if query is None or item is None or grade is None:
        return None
    return Judgments(_positions(query), _positions(item), grade.astype(np.float32)), kind


def _kind_of_grades(named: Named) -> str | None:
    """Whether the file has labels or numbers; a mapping decides where it has both."""
    asked = [ours for ours in ("label", "grade") if ours in named.names]
    present = [ours for ours in ("label", "grade") if named.has(ours)]
    chosen = asked or present
    if len(chosen) > 1:
        named.problems.add(
            named.source.path,
            "the file has both label and grade; choose one with --judgment-column, e.g. grade=grade",
            row=named.source.header_row,
        )
        return None
    if not chosen:
        named.missing("label", " (or grade)")
        return None
    return "labels" if chosen == ["label"] else "numbers"


def _positions(found: pa.Array) -> npt.NDArray[np.int32]:
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int32)


def _with_splits(queries: pa.Table, judgments: Judgments, test_share: float) -> pa.Table:
    """Judged queries are divided by a hash of their id unless the file says how; 5 % validate."""
    ids = queries["id"].to_pylist()
    if "split" in queries.column_names:
        split = queries["split"].to_pylist()
    else:
        judged = np.zeros(len(ids), dtype=bool)
        judged[judgments.query] = True
        tested = judged & held_out([f"test:{i}" for i in ids], test_share)
        split = ["test" if out else "train" for out in tested]
    column = pa.array(with_validation(ids, split), pa.string())
    rest = queries.drop_columns(["split"]) if "split" in queries.column_names else queries
    return rest.append_column("split", column)
