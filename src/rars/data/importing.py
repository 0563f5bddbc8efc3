"""Three tables of the user's own become a dataset.

Owns: which columns mean what, how queries without a split are divided, and that nothing is made unless
everything is sound: one way for files and for tables in memory. Ignores file formats (``rars.data.tables``),
frames (``rars.data.memory``) and the rules themselves (``rars.data.rules``).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars import places
from rars.data import columns, rules, schema
from rars.data.folder import SLICE, refuse_foreign, write_tables, writing_dataset
from rars.data.judgments import Judgments
from rars.data.problems import Problems
from rars.data.rules import Named, one
from rars.data.splits import held_out, validating, with_validation
from rars.data.tables import Meter, Source, existing, file_format, read_source
from rars.errors import RarsError, expected
from rars.progress import Advance

JUDGMENT_COLUMNS = ("query_id", "item_id", "label", "grade")


@dataclass(frozen=True)
class Reading:
    """How tables are read: what they call our columns (ours -> theirs), paths, and the share to test on.

    Messages name an option as the user gave it: on the command line, or as an argument in Python.
    """

    item_columns: Mapping[str, str] = field(default_factory=dict)
    query_columns: Mapping[str, str] = field(default_factory=dict)
    judgment_columns: Mapping[str, str] = field(default_factory=dict)
    category_separator: str = " > "
    test_share: float = 0.2
    python: bool = False

    def __post_init__(self) -> None:
        known = {
            "item": (self.item_columns, schema.ITEMS.names),
            "query": (self.query_columns, schema.QUERIES.names),
            "judgment": (self.judgment_columns, JUDGMENT_COLUMNS),
        }
        for table, (mapping, names) in known.items():
            if not isinstance(mapping, Mapping):
                raise expected(f"{table}_columns", "a mapping of our columns to yours", mapping)
            for ours, theirs in mapping.items():
                if not isinstance(theirs, str):
                    raise expected(f"The column {ours!r} of {table}_columns", "text", theirs)
                if ours not in names:
                    raise RarsError(
                        f"{self.mapping(table, ours, '...')} names no column of ours; "
                        f"choose from {', '.join(names)}."
                    )
        share = self.test_share
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise expected(self._option("test-share"), "a number from 0 to 1", share)
        if not isinstance(self.category_separator, str):
            raise expected(self._option("category-separator"), "text", self.category_separator)
        if not 0 <= self.test_share <= 1:
            raise RarsError(
                f"{self._option('test-share')} {self.test_share} is not between 0 and 1."
            )
        if not self.category_separator:
            raise RarsError(f"{self._option('category-separator')} must not be empty.")

    def mapping(self, table: str, ours: str, theirs: str = "NAME") -> str:
        """How a user says what a table calls our column.

        >>> Reading().mapping("item", "id"), Reading(python=True).mapping("item", "id")
        ('--item-column id=NAME', "item_columns={'id': 'NAME'}")
        """
        if self.python:
            return f"{table}_columns={{{ours!r}: {theirs!r}}}"
        return f"--{table}-column {shlex.quote(f'{ours}={theirs}')}"

    def _option(self, name: str) -> str:
        return name.replace("-", "_") if self.python else f"--{name}"


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
        self.reading()
        for path in self.paths:
            file_format(existing(path))

    def reading(self) -> Reading:
        """How they are to be read."""
        return Reading(
            self.item_columns,
            self.query_columns,
            self.judgment_columns,
            self.category_separator,
            self.test_share,
        )

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
        return self.judgments.table(self.queries["id"], self.items["id"])


def import_tables(
    folder: Path,
    tables: Tables,
    *,
    name: str | None = None,
    licence: str = "unknown",
    advance: Advance | None = None,
) -> Prepared:
    """Read, check and write; every problem of the three files is reported at once and stops it."""
    folder = places.target(folder, replaced=True)
    refuse_foreign(folder)
    prepared = prepare(tables, advance=advance, consequence="nothing was written")
    sources = {
        "items": tables.items.name,
        "queries": tables.queries.name,
        "judgments": tables.judgments.name,
    }
    with writing_dataset(
        folder,
        name=name or Path(os.path.realpath(folder)).name,
        licence=licence,
        grades=prepared.grades,
        sources=sources,
        merged_judgments=prepared.merged,
    ) as writer:
        write_tables(
            writer,
            (prepared.items.slice(n, SLICE) for n in range(0, prepared.items.num_rows, SLICE)),
            prepared.queries,
            prepared.judgment_rows(),
        )
    return prepared


def prepare(tables: Tables, *, advance: Advance | None = None, consequence: str) -> Prepared:
    """Read and check without writing."""
    problems = Problems()
    meter = Meter(tables.paths, advance)
    items, queries, judgments = (read_source(path, problems, meter=meter) for path in tables.paths)
    return prepared_of(
        items, queries, judgments, tables.reading(), problems, consequence=consequence
    )


def prepared_of(
    items_source: Source | None,
    queries_source: Source | None,
    judgments_source: Source | None,
    reading: Reading,
    problems: Problems,
    *,
    consequence: str,
) -> Prepared:
    """Check and convert what was read, from files or memory; a source that could not be read is None.

    Whoever read the sources has noted in ``problems`` why one is None; all problems are raised at once.
    """
    items = queries = judged = None
    if items_source is not None:
        named = _named(items_source, problems, reading, "item")
        items = _items(named, reading.category_separator)
    if queries_source is not None:
        named = _named(queries_source, problems, reading, "query")
        queries = _queries(named)
    if judgments_source is not None:
        named = _named(judgments_source, problems, reading, "judgment")
        ids = _ids(queries_source, queries), _ids(items_source, items)
        judged = _judgments(named, *ids, reading.mapping("judgment", "grade", "grade"))
    problems.stop(consequence)
    # Whatever kept one of these from being made is a problem, so here all three are there.
    assert items is not None
    assert queries is not None
    assert judged is not None
    judgments, grades = judged
    queries = _with_splits(queries, judgments, reading.test_share)
    merged = Judgments.merged(judgments.query, judgments.item, judgments.grade)
    return Prepared(items, queries, merged, grades, len(judgments) - len(merged))


def _named(source: Source, problems: Problems, reading: Reading, table: str) -> Named:
    names: dict[str, Mapping[str, str]] = {
        "item": reading.item_columns,
        "query": reading.query_columns,
        "judgment": reading.judgment_columns,
    }
    return Named(source, problems, names[table], partial(reading.mapping, table))


def read_items(
    path: Path,
    check: Callable[[Named, pa.StringArray], None],
    *,
    consequence: str,
    category_separator: str = " > ",
    advance: Advance | None = None,
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


def items_of(
    source: Source, problems: Problems, category_separator: str = " > "
) -> pa.Table | None:
    """The items of a table that was read; what is wrong with them is noted."""
    return _items(Named(source, problems, {}), category_separator)


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
        kind = named.column("attributes").type
        named_values = pa.types.is_map(kind) or pa.types.is_struct(kind)
        message = "a value is not text" if named_values else "attributes are not a JSON object"
        named.wrong("attributes", wrong, message)
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
            if pa.types.is_binary_view(column.type):
                column = column.cast(pa.binary())
            if not _is_text(column) and not columns.is_storable(column.type):
                message = f"values of type {column.type} cannot be stored"
                named.problems.add(named.source.path, message, column=theirs)
                continue
            table[theirs] = columns.optional_text(column) if _is_text(column) else column
    return pa.table(table)


def _is_text(column: pa.ChunkedArray) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(column.type) for is_kind in kinds)


def _judgments(
    named: Named,
    query_ids: pa.StringArray | None,
    item_ids: pa.StringArray | None,
    choice: str,
) -> tuple[Judgments, str] | None:
    query = rules.references(named, "query_id", query_ids, "query")
    item = rules.references(named, "item_id", item_ids, "item")
    kind = _kind_of_grades(named, choice)
    if kind is None:
        return None
    grade = rules.label_grades(named) if kind == "labels" else rules.number_grades(named)
    if query is None or item is None or grade is None:
        return None
    with np.errstate(over="ignore"):  # noted above: what overflows is not finite
        grades = grade.astype(np.float32)
    return Judgments(_positions(query), _positions(item), grades), kind


def _kind_of_grades(named: Named, choice: str) -> str | None:
    """Whether the file has labels or numbers; a mapping (``choice``, say) decides where it has both."""
    asked = [ours for ours in ("label", "grade") if ours in named.names]
    present = [ours for ours in ("label", "grade") if named.has(ours)]
    chosen = asked or present
    if len(chosen) > 1:
        named.problems.add(
            named.source.path,
            f"the {named.source.what} has both label and grade; choose one, e.g. with {choice}",
            row=named.source.header_row,
        )
        return None
    if not chosen:
        named.missing("label", "grade")
        return None
    return "labels" if chosen == ["label"] else "numbers"


def _positions(found: pa.Array) -> npt.NDArray[np.int32]:
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int32)


def _with_splits(queries: pa.Table, judgments: Judgments, test_share: float) -> pa.Table:
    """Judged queries are divided by a hash of their id unless the file says how; 5 % or more validate."""
    ids = queries["id"].to_pylist()
    judged = np.zeros(len(ids), dtype=bool)
    judged[judgments.query] = True
    if "split" in queries.column_names:
        split = queries["split"].to_pylist()
    else:
        tested = judged & held_out([f"test:{i}" for i in ids], test_share)
        split = ["test" if out else "train" for out in tested]
    learned_from = int((judged & (np.array(split) == "train")).sum())
    column = pa.array(with_validation(ids, split, validating(learned_from)), pa.string())
    rest = queries.drop_columns(["split"]) if "split" in queries.column_names else queries
    return rest.append_column("split", column)
