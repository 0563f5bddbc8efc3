"""Tables in memory are checked and converted as files are."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data import Dataset
from rars.data.digests import digest_table
from rars.data.importing import Tables, import_tables
from rars.data.problems import ProblemsFound
from rars.errors import RarsError
from tests.data import samples
from tests.data.test_importing import datasets

ITEMS = [{"id": "a", "title": "Red mug"}, {"id": "b", "title": "Blue mug"}]
QUERIES = [{"id": "q", "text": "mug"}]
JUDGMENTS = [{"query_id": "q", "item_id": "b", "label": "E"}]


class Frame:
    """What a polars frame can do, as far as it matters: large texts, and lists of them."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        large = {pa.string(): pa.large_string(), pa.list_(pa.string()): LARGE}
        fields = [
            field.with_type(large.get(field.type, field.type)) for field in self._table.schema
        ]
        return self._table.cast(pa.schema(fields))


LARGE = pa.large_list(pa.large_string())


def content(dataset: Dataset) -> dict[str, Any]:
    judged = dataset.judgments
    return {
        "item_ids": dataset.item_ids.to_pylist(),
        "query_ids": dataset.query_ids.to_pylist(),
        "texts": dataset.query_texts.to_pylist(),
        "split": dataset.split.tolist(),
        "items": dataset.items().to_pylist(),
        "queries": dataset.queries().to_pylist(),
        "judgments": [judged.query.tolist(), judged.item.tolist(), judged.grade.tolist()],
        "grades": dataset.facts["grades"],
    }


def imported(home: Path, suffix: str, tables: dict[str, samples.Rows]) -> tuple[Dataset, dict]:
    paths = samples.write_all(home / "in", suffix, **tables)
    import_tables(home / "out", Tables(**paths), name="in memory")
    return Dataset.load(home / "out"), paths


@st.composite
def unsplit(draw: st.DrawFn) -> dict[str, samples.Rows]:
    """Tables whose queries may lack a split."""
    tables = draw(datasets())
    if draw(st.booleans()):
        tables["queries"] = [
            {name: value for name, value in row.items() if name != "split"}
            for row in tables["queries"]
        ]
    return tables


@settings(max_examples=25, deadline=None)
@given(unsplit())
def test_memory_equals_an_import_of_the_same_tables(tables: dict[str, samples.Rows]) -> None:
    """Arrow tables and frames as Parquet, lists of dicts as JSON lines; saved, the same files."""
    with TemporaryDirectory() as home:
        stored, paths = imported(Path(home), "parquet", tables)
        arrow = {table: pq.read_table(path) for table, path in paths.items()}
        made = {
            "arrow": Dataset.of(**arrow),
            "frame": Dataset.of(**{name: Frame(table) for name, table in arrow.items()}),
            "dicts": Dataset.of(**tables),
        }
        expected = content(stored)
        for kind, dataset in made.items():
            assert content(dataset) == expected, kind
        same = ["arrow", "frame"]
        if any(row["further"] is not None for row in tables["items"]):
            same.append("dicts")  # else they do not know that the column is one of texts
        assert len({made[kind].digest for kind in same}) == 1
        again = made[same[-1]].save(Path(home) / "saved")
        assert content(again) == expected
        for table in ("items", "queries", "judgments"):
            saved, written = (Path(home) / at / f"{table}.parquet" for at in ("saved", "out"))
            assert saved.read_bytes() == written.read_bytes()


def test_a_pandas_frame(tmp_path: Path) -> None:
    """Missing values, an index, categories and a column that mixes types."""
    pd = pytest.importorskip("pandas")
    items = pd.DataFrame(samples.ITEMS, index=[5, 6, 7])
    items["color"] = items["color"].astype("category")
    items["mixed"] = [1, "two", None]
    dataset = Dataset.of(items, pd.DataFrame(samples.QUERIES), pd.DataFrame(samples.JUDGMENTS))
    expected = Dataset.of(samples.ITEMS, samples.QUERIES, samples.JUDGMENTS)
    names = ["id", "title", "text", "brand", "color", "category", "attributes", "shelf"]
    assert dataset.items(names).to_pylist() == expected.items(names).to_pylist()
    assert dataset.items(["mixed"])["mixed"].to_pylist() == ["1", "two", None]
    assert "__index_level_0__" not in dataset.item_store.names
    assert dataset.queries().to_pylist() == expected.queries().to_pylist()
    assert dataset.judgments.grade.tolist() == expected.judgments.grade.tolist()


def test_ids_that_are_numbers_become_texts() -> None:
    items = [{"id": np.int64(1), "title": "a"}, {"id": 2, "title": "b"}]
    judgments = [{"query_id": 7, "item_id": 2, "grade": np.float32(0.5)}]
    dataset = Dataset.of(items, [{"id": 7, "text": "b"}], judgments)
    assert dataset.item_ids.to_pylist() == ["1", "2"]
    assert (dataset.judgments.item.tolist(), dataset.judgments.grade.tolist()) == ([1], [0.5])


def test_a_catalogue_without_judgments() -> None:
    dataset = Dataset.of(ITEMS, QUERIES)
    assert len(dataset.judgments) == 0
    assert dataset.n_items == 2


def without(rows: samples.Rows, *names: str) -> samples.Rows:
    return [{k: v for k, v in row.items() if k not in names} for row in rows]


@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        (
            "items",
            [*ITEMS, {"id": "a", "title": "x"}],
            "items, row 3, column id: duplicate id 'a' (first in row 1)",
        ),
        ("items", [{"id": "b", "title": " "}], "items, row 1, column title: empty text"),
        (
            "items",
            without(ITEMS, "title"),
            "items, column title: missing column; the table has id; "
            "name another with item_columns={'title': 'NAME'}",
        ),
        ("items", [], "items: empty table: it has no rows"),
        ("items", [*ITEMS, "c"], "items, row 3: expected a dict, not str"),
        ("items", [{**ITEMS[1], 3: "x"}], "items, row 1: the column name 3 is not a text"),
        (
            "items",
            [{**ITEMS[1], "text": object()}],
            "items, row 1, column text: a value of type object is no text, number, list or dict",
        ),
        (
            "items",
            [ITEMS[0], {"id": "b", "title": "\ud800"}],
            "items, row 2, column title: broken encoding: not UTF-8",
        ),
        (
            "items",
            pa.table([pa.array(["b"]), pa.array(["b"])], names=["id", "id"]),
            "items, column id: the column is there twice",
        ),
        (
            "queries",
            [{**QUERIES[0], "split": "exam"}],
            "queries, row 1, column split: unknown split 'exam'",
        ),
        (
            "judgments",
            [{**JUDGMENTS[0], "item_id": "z"}],
            "judgments, row 1, column item_id: unknown item 'z'",
        ),
        (
            "judgments",
            [{**JUDGMENTS[0], "grade": 1}],
            "the table has both label and grade; choose one, e.g. with "
            "judgment_columns={'grade': 'grade'}",
        ),
        (
            "judgments",
            [{"query_id": "q", "item_id": "b", "grade": -1}],
            "judgments, row 1, column grade: negative grade -1",
        ),
    ],
)
def test_problems_name_table_row_and_column(table: str, rows: Any, message: str) -> None:
    tables = {"items": ITEMS, "queries": QUERIES, "judgments": JUDGMENTS, table: rows}
    with pytest.raises(ProblemsFound) as found:
        Dataset.of(**tables)
    assert message in str(found.value)
    assert "no dataset was made" in str(found.value)


def test_all_tables_are_looked_at_before_giving_up() -> None:
    with pytest.raises(ProblemsFound) as found:
        Dataset.of([*ITEMS, ITEMS[0]], [{"id": "q", "text": ""}], [{**JUDGMENTS[0], "label": "X"}])
    assert {problem.file for problem in found.value.shown} == {"items", "queries", "judgments"}


@pytest.mark.parametrize("rows", [{"id": ["a"]}, "items.csv", 3])
def test_what_is_no_table_is_refused(rows: Any) -> None:
    with pytest.raises(
        RarsError, match=r"^items: expected an Arrow table, .* not (dict|str|int)\.$"
    ):
        Dataset.of(rows, QUERIES)


def test_options_are_named_as_in_python() -> None:
    with pytest.raises(RarsError, match=r"^item_columns=\{'name': '...'\} names no column of ours"):
        Dataset.of(ITEMS, QUERIES, item_columns={"name": "title"})
    with pytest.raises(RarsError, match=r"^test_share 2 is not between 0 and 1"):
        Dataset.of(ITEMS, QUERIES, test_share=2)


def test_columns_may_have_other_names() -> None:
    items = [{"sku": 1, "title": "no", "name": "Mug"}]
    dataset = Dataset.of(items, QUERIES, item_columns={"id": "sku", "title": "name"})
    assert dataset.items(["id", "title"]).to_pylist() == [{"id": "1", "title": "Mug"}]


def test_missing_columns_of_the_schema_are_null_and_others_an_error(tmp_path: Path) -> None:
    """In memory and on disk alike."""
    dataset = Dataset.of(ITEMS, QUERIES, JUDGMENTS)
    for one in (dataset, dataset.save(tmp_path / "saved")):
        read = one.items(["brand", "title"])
        assert read.column_names == ["brand", "title"]
        assert read["brand"].to_pylist() == [None, None]
        assert one.query_locales == [None]
        with pytest.raises(RarsError, match="has no column 'price'; its columns are id, title"):
            one.items(["price"])


def test_the_digest_is_of_the_content_alone() -> None:
    """Chunks, slices, names and the order of judgments do not matter; every value does."""
    tables = {"items": samples.ITEMS, "queries": samples.QUERIES, "judgments": samples.JUDGMENTS}
    whole = Dataset.of(**tables)
    items = whole.items()
    chunked = pa.concat_tables([items.slice(n, 1) for n in range(3)])
    assert digest_table(chunked) == digest_table(items)
    assert digest_table(items.slice(1)) == digest_table(items.take([1, 2]))
    turned = {**tables, "judgments": samples.JUDGMENTS[::-1]}
    assert Dataset.of(**turned, name="other").digest == whole.digest
    seen = {whole.digest}
    for table, row, column, value in [
        ("items", 0, "text", "other"),
        ("items", 1, "text", ""),
        ("items", 0, "attributes", {"battery": "10000"}),
        ("items", 0, "category", ["Electronics Chargers"]),
        ("items", 0, "shelf", "A8"),
        ("queries", 0, "split", "test"),
        ("queries", 1, "locale", "us"),
        ("judgments", 0, "label", "S"),
    ]:
        changed = copy.deepcopy(tables)
        changed[table][row][column] = value
        seen.add(Dataset.of(**changed).digest)
    assert len(seen) == 8, "an empty text is a missing one; everything else differs"


def test_where_says_what_is_meant(tmp_path: Path) -> None:
    dataset = Dataset.of(ITEMS, QUERIES, JUDGMENTS, name="mugs")
    assert dataset.folder is None
    assert dataset.where == "the dataset 'mugs'"
    assert dataset.with_relevance("exact").where == "a view of the dataset 'mugs'"
    saved = dataset.save(tmp_path / "mugs")
    assert (saved.where, saved.name) == (str(tmp_path / "mugs"), "mugs")


def test_saving_never_writes_over_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RarsError, match="not a rars dataset"):
        Dataset.of(ITEMS, QUERIES).save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([True, False, None], [True, False, True]),
        (["true", "false", "true"], [True, False, True]),
        ([1, 0, 1], [True, False, True]),
        (None, [True, True, True]),
    ],
)
def test_eligible_queries(said: list[Any] | None, expected: list[bool], tmp_path: Path) -> None:
    """A column says which queries a protocol evaluates; without it, all."""
    queries = [{**row, "split": "test"} for row in samples.QUERIES]
    if said is not None:
        queries = [{**row, "eligible": one} for row, one in zip(queries, said, strict=True)]
    dataset = Dataset.of(samples.ITEMS, queries, samples.JUDGMENTS)
    for one in (dataset, dataset.save(tmp_path / "saved")):
        assert one.eligible.tolist() == expected
        assert one.queries_in("test", eligible=True).tolist() == np.flatnonzero(expected).tolist()
        assert one.queries_in("test").tolist() == [0, 1, 2]
        assert one.query_locales == ["us", None, "jp"]


def test_an_eligible_column_of_something_else_is_an_error() -> None:
    queries = [{**QUERIES[0], "eligible": "perhaps"}]
    with pytest.raises(RarsError, match="column eligible .* is not true or false"):
        Dataset.of(ITEMS, queries).eligible  # noqa: B018
