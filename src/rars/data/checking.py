"""Checking a dataset folder, and a folder of plain tables before it is imported.

Owns: what is looked at in a stored folder: digests, columns and their types, ids, references, grades, splits,
and the counts its manifest promises. Ignores how each rule works (``rars.data.rules``). Nothing is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars import artifacts, disk, replacing
from rars.data import columns, rules, schema
from rars.data.dataset import Dataset
from rars.data.folder import KIND, MANIFEST
from rars.data.importing import Prepared, Tables, prepare
from rars.data.problems import Problems, quoted
from rars.data.rules import Named
from rars.data.schema import LABEL_GRADES, SPLITS
from rars.data.summary import Summary, summarise
from rars.data.tables import Meter, Source, file_format, read_source
from rars.errors import RarsError
from rars.progress import Advance

_READ = {
    "items": ["id", "title"],
    "queries": ["id", "text", "split"],
    "judgments": ["query_id", "item_id", "grade"],
}
_SCHEMAS = {"items": schema.ITEMS, "queries": schema.QUERIES, "judgments": schema.JUDGMENTS}


@dataclass(frozen=True)
class Checked:
    """A sound dataset: what it is called and what it holds."""

    folder: Path
    facts: dict[str, Any]
    digest: str | None
    summary: Summary

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {
            "ok": True,
            "folder": str(self.folder),
            "name": self.facts.get("name"),
            "digest": self.digest,
            **self.summary.as_json(),
        }


def check_folder(
    folder: Path, *, tables: Tables | None = None, advance: Advance | None = None
) -> Checked:
    """Check a stored dataset, or plain tables (``tables``, or those found in the folder)."""
    if not folder.is_dir():
        raise RarsError(f"{folder} does not exist; expected the folder of a dataset.")
    if tables is None and (folder / MANIFEST).exists():
        return _check_stored(folder, advance)
    prepared = prepare(tables or find_tables(folder), advance=advance, consequence="not importable")
    return Checked(
        folder, {"name": Path(os.path.realpath(folder)).name}, None, summary_of(prepared)
    )


def find_tables(folder: Path) -> Tables:
    """The files named items, queries and judgments in a folder, in whatever format."""
    found = {}
    for table in _READ:
        matches = [path for path in sorted(folder.glob(f"{table}.*")) if _is_table(path)]
        if len(matches) != 1:
            what = "several" if matches else "no"
            raise RarsError(
                f"{folder} is not a dataset: it has no {MANIFEST}, and {what} files {table}.* to check."
            )
        found[table] = matches[0]
    return Tables(found["items"], found["queries"], found["judgments"])


def summary_of(prepared: Prepared) -> Summary:
    """The counts of tables that are about to be written."""
    wanted = [name for name in ("text", "category") if name in prepared.items.column_names]
    batches = prepared.items.select(["id", *wanted]).to_batches()
    split = rules.one(pc.index_in(prepared.queries["split"], pa.array(SPLITS)))
    return summarise(
        batches, split.to_numpy(zero_copy_only=False), prepared.judgments, prepared.grades
    )


def summary_of_stored(folder: Path) -> Checked:
    """The counts of a folder just written, without checking it again."""
    dataset = Dataset.load(folder, verify=False)
    grades = str(dataset.facts.get("grades"))
    summary = summarise(_item_batches(folder), dataset.split, dataset.judgments, grades)
    return Checked(folder, dict(dataset.facts), dataset.digest, summary)


def _is_table(path: Path) -> bool:
    try:
        file_format(path)
    except RarsError:
        return False
    return path.is_file()


def _check_stored(folder: Path, advance: Advance | None) -> Checked:
    problems = Problems()
    facts = _manifest_facts(folder, problems)
    home = replacing.current(folder)
    paths = {table: home / f"{table}.parquet" for table in _READ}
    for path in paths.values():
        if not path.is_file():
            problems.add(path, "the file is missing")
    present = {table: path for table, path in paths.items() if path.is_file()}
    meter = Meter(list(present.values()), advance)
    sources = {
        table: _stored_table(path, table, problems, meter) for table, path in present.items()
    }
    _check_rules(sources, str(facts.get("grades")), problems)
    _check_counts(folder, sources, facts, problems)
    problems.stop("the dataset is not sound")
    return summary_of_stored(folder)


def _manifest_facts(folder: Path, problems: Problems) -> dict[str, Any]:
    """Digests first; a folder that fails them is still looked at row by row."""
    try:
        return dict(artifacts.opening(folder, kind=KIND, manifest=MANIFEST).meta)
    except RarsError as error:
        problems.add(folder / MANIFEST, str(error).rstrip("."))
    try:
        sealed = disk.read_json(replacing.current(folder) / MANIFEST)
    except RarsError:
        return {}
    meta = sealed.get("meta") if isinstance(sealed, dict) else None
    return meta if isinstance(meta, dict) else {}


def _stored_table(path: Path, table: str, problems: Problems, meter: Meter) -> Source | None:
    before = len(problems)
    try:
        types = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        types = None  # the reader below says what is broken
    if types is not None:
        _check_types(path, types, _SCHEMAS[table], problems)
    if len(problems) > before:
        return None
    if types is not None and table == "judgments" and not pq.read_metadata(path).num_rows:
        return Source(path, types.empty_table())  # a catalogue may be stored before it is judged
    return read_source(path, problems, meter=meter, columns=_READ[table])


def _check_types(path: Path, found: pa.Schema, expected: pa.Schema, problems: Problems) -> None:
    for field in expected:
        if field.name not in found.names:
            problems.add(path, "missing column", column=field.name)
        elif not _same_type(found.field(field.name).type, field.type):
            kind = found.field(field.name).type
            problems.add(path, f"type {kind} where {field.type} belongs", column=field.name)


def _same_type(found: pa.DataType, expected: pa.DataType) -> bool:
    """Equal up to the names of inner fields, which other writers of Parquet choose differently."""
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return bool(found.value_type == expected.value_type)
    return bool(found == expected)


def _check_rules(sources: dict[str, Source | None], grades: str, problems: Problems) -> None:
    ids: dict[str, pa.StringArray | None] = {"items": None, "queries": None}
    for table, text in (("items", "title"), ("queries", "text")):
        source = sources.get(table)
        if source is not None:
            named = Named(source, problems, {})
            ids[table] = rules.unique_ids(named)
            rules.not_empty(named, text)
            if table == "queries":
                _check_splits(named)
    judged = sources.get("judgments")
    if judged is not None:
        named = Named(judged, problems, {})
        rules.references(named, "query_id", ids["queries"], "query")
        rules.references(named, "item_id", ids["items"], "item")
        _check_grades(named, grades)


def _check_splits(named: Named) -> None:
    split = named.column("split")
    unknown = columns.mask(pc.invert(pc.is_in(split, pa.array(SPLITS))))
    named.wrong("split", unknown, lambda record: f"unknown split {quoted(split[record].as_py())}")


def _check_grades(named: Named, grades: str) -> None:
    values = rules.number_grades(named)
    if values is not None and grades == "labels":
        usual = np.isin(values, list(LABEL_GRADES.values())) | ~np.isfinite(values) | (values < 0)
        named.wrong(
            "grade",
            ~usual,
            lambda record: f"grade {values[record]:g} is that of no label (E, S, C, I)",
        )


def _check_counts(
    folder: Path, sources: dict[str, Source | None], facts: dict[str, Any], problems: Problems
) -> None:
    promised = facts.get("counts")
    for table, source in sources.items():
        expected = promised.get(table) if isinstance(promised, dict) else None
        if source is not None and source.table.num_rows != expected:
            found = source.table.num_rows
            message = f"{found} rows in {table}.parquet, but the manifest counts {expected}"
            problems.add(folder / MANIFEST, message)


def _item_batches(folder: Path) -> Iterator[pa.RecordBatch]:
    """Item texts and categories a batch at a time: a catalogue's texts need not fit in memory."""
    with pq.ParquetFile(replacing.current(folder) / "items.parquet") as file:
        yield from file.iter_batches(columns=["text", "category"])
