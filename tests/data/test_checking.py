"""A stored dataset is looked at again: nothing that an import refuses passes a check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rars import disk
from rars.data import folder as folders
from rars.data import writing_dataset
from rars.data.checking import check_folder
from rars.data.importing import Tables, import_tables
from rars.data.problems import ProblemsFound
from rars.errors import RarsError
from tests.data import samples


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    paths = samples.write_all(tmp_path / "in")
    import_tables(tmp_path / "shop", Tables(**paths))
    return tmp_path / "shop"


def rewrite(folder: Path, table: str, column: str, values: list[Any], kind: pa.DataType) -> None:
    """Change a column behind the manifest's back, then seal the folder as if it had been so."""
    path = folder / f"{table}.parquet"
    rows = pq.read_table(path)
    pq.write_table(
        rows.set_column(rows.column_names.index(column), column, pa.array(values, kind)), path
    )
    reseal(folder)


def reseal(folder: Path) -> None:
    sealed = disk.read_json(folder / folders.MANIFEST)
    for name, file in sealed["files"].items():
        path = folder / name
        file.update(sha256=disk.digest_file(path), bytes=path.stat().st_size)
    disk.write_json(folder / folders.MANIFEST, sealed)


def said(folder: Path) -> str:
    with pytest.raises(ProblemsFound) as found:
        check_folder(folder)
    return str(found.value)


def test_a_sound_folder(stored: Path) -> None:
    checked = check_folder(stored)
    assert checked.summary.items == 3
    assert checked.summary.category_depths == {2: 1, 3: 1}
    assert checked.facts["name"] == "shop"
    json.dumps(checked.as_json())


TEXT = pa.string()
BAD = {
    "duplicate id": (
        "items",
        "id",
        ["i1", "i1", "003"],
        TEXT,
        ", row 2, column id: duplicate id 'i1'",
    ),
    "empty id": ("queries", "id", ["q1", "q2", ""], TEXT, ", row 3, column id: empty id"),
    "empty title": ("items", "title", ["a", "b", " "], TEXT, ", row 3, column title: empty text"),
    "empty query": ("queries", "text", ["a", "", "b"], TEXT, ", row 2, column text: empty text"),
    "unknown split": (
        "queries",
        "split",
        ["train", "dev", "test"],
        TEXT,
        ", row 2, column split: unknown",
    ),
    "unknown query": (
        "judgments",
        "query_id",
        ["q1", "q1", "q2", "q7"],
        TEXT,
        ", row 4, column query_id: unknown query 'q7'",
    ),
    "unknown item": (
        "judgments",
        "item_id",
        ["i1", "3", "i2", "003"],
        TEXT,
        ", row 2, column item_id: unknown item '3'",
    ),
    "negative": (
        "judgments",
        "grade",
        [3, 2, -1, 0],
        pa.float32(),
        ", row 3, column grade: negative",
    ),
    "NaN": (
        "judgments",
        "grade",
        [3, float("nan"), 1, 0],
        pa.float32(),
        ", row 2, column grade: grade is NaN",
    ),
    "no label": (
        "judgments",
        "grade",
        [3, 2, 1.5, 0],
        pa.float32(),
        ", row 3, column grade: grade 1.5",
    ),
    "type": (
        "items",
        "brand",
        [1, 2, 3],
        pa.int64(),
        ", column brand: type int64 where string belongs",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_rows_are_named(stored: Path, bad: str) -> None:
    table, column, values, kind, where = BAD[bad]
    rewrite(stored, table, column, values, kind)
    assert f"\n{stored / table}.parquet{where}" in said(stored)


def test_a_changed_file_is_noticed_and_still_looked_at(stored: Path) -> None:
    """The digest says that something changed, the rows say what."""
    path = stored / "items.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.set_column(1, "title", pa.array(["a", "", "c"])), path)
    text = said(stored)
    assert f"{stored / 'dataset.json'}: {path} has" in text
    assert f"{path}, row 2, column title: empty text" in text


def test_one_flipped_byte_is_noticed(stored: Path) -> None:
    path = stored / "queries.parquet"
    data = bytearray(path.read_bytes())
    data[-12] ^= 1
    path.write_bytes(data)
    assert "queries.parquet has changed since it was written" in said(stored)


def test_missing_column_and_missing_file(stored: Path) -> None:
    path = stored / "items.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["category"]), path)
    reseal(stored)
    (stored / "judgments.parquet").unlink()
    text = said(stored)
    assert f"{path}, column category: missing column" in text
    assert f"{stored / 'judgments.parquet'}: the file is missing" in text


def test_counts_of_the_manifest_are_compared(stored: Path) -> None:
    sealed = disk.read_json(stored / "dataset.json")
    sealed["meta"]["counts"]["items"] = 4
    disk.write_json(stored / "dataset.json", sealed)
    assert "3 rows in items.parquet, but the manifest counts 4" in said(stored)


def test_broken_parquet_in_a_stored_folder(stored: Path) -> None:
    path = stored / "judgments.parquet"
    path.write_bytes(path.read_bytes()[:40])
    assert f"{path}: broken Parquet" in said(stored)


def test_a_catalogue_without_judgments_is_sound(tmp_path: Path) -> None:
    """A maker may store what nobody has judged yet; only an import insists."""
    with writing_dataset(tmp_path / "shop", name="new", licence="none") as writer:
        writer.add("items", pa.table({"id": ["a"], "title": ["t"]}))
        writer.add("queries", pa.table({"id": ["q"], "text": ["t"], "split": ["test"]}))
    summary = check_folder(tmp_path / "shop").summary
    assert (summary.items, summary.judgments, summary.queries_without_positive) == (1, 0, 1)


def test_several_candidates_are_not_guessed_among(tmp_path: Path) -> None:
    samples.write_all(tmp_path, "csv")
    samples.write_all(tmp_path, "jsonl")
    with pytest.raises(RarsError, match=r"several files items\.\*"):
        check_folder(tmp_path)


def test_many_different_grades_are_counted_in_two(tmp_path: Path) -> None:
    items = [{"id": f"i{n}", "title": "t"} for n in range(20)]
    judgments = [{"query_id": "q1", "item_id": f"i{n}", "grade": n / 7} for n in range(20)]
    paths = samples.write_all(tmp_path / "in", items=items, judgments=judgments)
    import_tables(tmp_path / "shop", Tables(**paths))
    assert check_folder(tmp_path / "shop").summary.judgments_by_grade == {"0": 1, "above 0": 19}
    stored = pq.read_table(tmp_path / "shop" / "judgments.parquet")
    assert pc.max(stored["grade"]).as_py() == pytest.approx(19 / 7)
