"""Three tables become one dataset, the same from every format."""

from __future__ import annotations

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data import Dataset, columns
from rars.data.importing import Tables, import_tables
from rars.data.problems import ProblemsFound
from rars.data.splits import held_out
from tests.data import samples

SUFFIXES = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz", "parquet.gz")


def imported(folder: Path, suffix: str, **tables: samples.Rows) -> Dataset:
    paths = samples.write_all(folder / suffix, suffix, **tables)
    import_tables(folder / f"{suffix}-out", Tables(**paths))
    return Dataset.load(folder / f"{suffix}-out")


def content(dataset: Dataset) -> dict[str, Any]:
    judged = dataset.judgments
    return {
        "items": dataset.items().to_pylist(),
        "queries": pq.read_table(dataset.folder / "queries.parquet").to_pylist(),
        "judgments": [judged.query.tolist(), judged.item.tolist(), judged.grade.tolist()],
        "grades": dataset.facts["grades"],
    }


def test_the_sample_in_full(tmp_path: Path) -> None:
    """Every fixed column, a further one, labels in any spelling, the highest of two judgments."""
    made = content(imported(tmp_path, "jsonl"))
    first = made["items"][0]
    assert first["category"] == ["Electronics", "Chargers"]
    assert dict(first["attributes"]) == {"battery": "10000", "wireless": "true"}
    assert [item["shelf"] for item in made["items"]] == ["A7", None, "B1"]
    assert [query["split"] for query in made["queries"]] == ["train", "validation", "test"]
    assert made["judgments"] == [[0, 0, 1, 2], [0, 2, 1, 2], [3.0, 1.0, 2.0, 3.0]]
    assert made["grades"] == "labels"


words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], include_characters='\r\n\t",'),
    min_size=1,
    max_size=12,
).filter(lambda text: text.strip() == text and not text.startswith("["))
levels = words.filter(
    lambda text: " > " not in text and not text.startswith(">") and text[-1] != ">"
)
maybe = st.none() | words


@st.composite
def datasets(draw: st.DrawFn) -> dict[str, samples.Rows]:
    item_ids = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    query_ids = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    items = [
        {
            "id": i,
            "title": draw(words),
            "text": draw(maybe),
            "brand": draw(maybe),
            "color": draw(maybe),
            "category": draw(st.none() | st.lists(levels, min_size=1, max_size=3)),
            "attributes": draw(st.none() | st.dictionaries(words, words, min_size=1, max_size=3)),
            "further": draw(maybe),
        }
        for i in item_ids
    ]
    split = st.sampled_from(["train", "validation", "test"])
    queries = [
        {"id": q, "text": draw(words), "locale": draw(maybe), "split": draw(split)}
        for q in query_ids
    ]
    grades = draw(st.sampled_from(["label", "grade"]))
    grade = st.sampled_from("ESCI") if grades == "label" else st.floats(0, 100, width=32)
    pair = st.tuples(st.sampled_from(query_ids), st.sampled_from(item_ids), grade)
    pairs = draw(st.lists(pair, min_size=1, max_size=8))
    judgments = [{"query_id": q, "item_id": i, grades: value} for q, i, value in pairs]
    return {"items": items, "queries": queries, "judgments": judgments}


@settings(max_examples=15, deadline=None)
@given(datasets())
def test_every_format_imports_to_the_same_dataset(tables: dict[str, samples.Rows]) -> None:
    """Quotes, line breaks, tabs, separators and any script survive CSV, JSONL, Parquet and gzip."""
    with TemporaryDirectory() as home:
        made = {suffix: content(imported(Path(home), suffix, **tables)) for suffix in SUFFIXES}
    reference = made["parquet"]
    for suffix, one in made.items():
        assert one == reference, suffix
    assert [item["title"] for item in reference["items"]] == [i["title"] for i in tables["items"]]
    assert [item["further"] for item in reference["items"]] == [
        i["further"] for i in tables["items"]
    ]


@settings(max_examples=15, deadline=None)
@given(datasets())
def test_duplicate_judgments_keep_the_highest(tables: dict[str, samples.Rows]) -> None:
    """Against a dictionary."""
    letters = {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}
    highest: dict[tuple[str, str], float] = {}
    for row in tables["judgments"]:
        grade = letters[row["label"]] if "label" in row else row["grade"]
        pair = row["query_id"], row["item_id"]
        highest[pair] = max(grade, highest.get(pair, -1.0))
    with TemporaryDirectory() as home:
        dataset = imported(Path(home), "jsonl", **tables)
        stored = pq.read_table(dataset.folder / "judgments.parquet").to_pylist()
    assert {(row["query_id"], row["item_id"]): row["grade"] for row in stored} == highest
    assert len(stored) == len(highest)


def test_labels_are_not_swapped() -> None:
    """Substitute is worth more than Complement: others have had S and C the wrong way round."""
    texts = ["E", "S", "C", "I", "exact", "SUBSTITUTE", "Complement", " irrelevant "]
    grades, unknown = columns.grades_of_labels(pa.chunked_array([texts]))
    assert grades.tolist() == [3, 2, 1, 0, 3, 2, 1, 0]
    assert not unknown.any()


def many_queries(folder: Path, share: float, **more: Any) -> Dataset:
    queries = [{"id": f"q{n}", "text": "lamp", **more} for n in range(400)]
    judgments = [{"query_id": f"q{n}", "item_id": "i1", "label": "E"} for n in range(300)]
    paths = samples.write_all(folder / "in", queries=queries, judgments=judgments)
    import_tables(folder / "out", Tables(**paths, test_share=share))
    return Dataset.load(folder / "out")


def test_queries_without_a_split_are_divided_by_their_id(tmp_path: Path) -> None:
    """A fixed hash: independent of the order, of other queries, and of who validates."""
    dataset = many_queries(tmp_path, 0.3)
    tested = dataset.queries_in("test")
    assert 60 <= len(tested) <= 120
    assert tested.max() < 300, "a query nobody judged cannot be tested on"
    train = np.sort(np.concatenate([dataset.queries_in("train"), dataset.queries_in("validation")]))
    judged = int((train < 300).sum())
    held = held_out(dataset.query_ids.take(pa.array(train)).to_pylist(), 40 / judged)
    assert train[held].tolist() == dataset.queries_in("validation").tolist()
    again = many_queries(tmp_path / "again", 0.3)
    assert again.split.tolist() == dataset.split.tolist()


def test_few_judged_queries_leave_enough_to_choose_on(tmp_path: Path) -> None:
    """Weights fitted on the 5 % of a hundred queries are fitted on nothing; thousands keep their 5 %."""

    def held(judged: int) -> int:
        judgments = [{"query_id": f"q{n}", "item_id": "i1", "label": "E"} for n in range(judged)]
        queries = [{"id": f"q{n}", "text": "lamp", "split": "train"} for n in range(judged)]
        paths = samples.write_all(tmp_path / f"in{judged}", queries=queries, judgments=judgments)
        import_tables(tmp_path / f"out{judged}", Tables(**paths))
        return len(Dataset.load(tmp_path / f"out{judged}").queries_in("validation"))

    assert 15 <= held(100) <= 35
    assert 25 <= held(400) <= 55
    assert 120 <= held(3000) <= 180


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 300)])
def test_all_or_none_can_be_tested(tmp_path: Path, share: float, expected: int) -> None:
    assert len(many_queries(tmp_path, share).queries_in("test")) == expected


def test_a_given_split_is_kept(tmp_path: Path) -> None:
    dataset = many_queries(tmp_path, 1.0, split="Train")
    assert len(dataset.queries_in("test")) == 0
    held = held_out(dataset.query_ids.to_pylist(), 40 / 300)
    assert len(dataset.queries_in("validation")) == held.sum()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.map_(pa.string(), pa.float64()), [[("watt", 20.0), ("none", None)], None, []]),
        (pa.struct([("watt", pa.float64()), ("none", pa.string())]), [{"watt": 20.0}, None, {}]),
        (pa.string(), ['{"watt": 20.0, "none": null}', "", "{}"]),
    ],
)
def test_attributes_in_every_shape(kind: pa.DataType, values: list[Any]) -> None:
    """A map, a struct and a JSON text give the same names and texts; nothing is null."""
    maps, wrong = columns.attributes(pa.chunked_array([pa.array(values, kind)]))
    assert maps.to_pylist() == [[("watt", "20")], None, None]
    assert not wrong.any()


def test_attributes_that_are_no_object_are_named(tmp_path: Path) -> None:
    rows = [
        {"id": "i1", "title": "t", "attributes": "20 W"},
        {"id": "i2", "title": "t", "attributes": None},
    ]
    paths = samples.write_all(
        tmp_path / "in", items=rows, judgments=[{"query_id": "q1", "item_id": "i1", "label": "E"}]
    )
    with pytest.raises(
        ProblemsFound, match="row 2, column attributes: attributes are not a JSON object"
    ):
        import_tables(tmp_path / "out", Tables(**paths))


def test_category_separator(tmp_path: Path) -> None:
    items = [{"id": "i1", "title": "t", "category": "a/ b//c > d"}]
    judgments = [{"query_id": "q1", "item_id": "i1", "label": "E"}]
    paths = samples.write_all(tmp_path / "in", items=items, judgments=judgments)
    import_tables(tmp_path / "out", Tables(**paths, category_separator="/"))
    assert Dataset.load(tmp_path / "out").items()["category"].to_pylist() == [["a", "b", "c > d"]]


def test_numbers_in_place_of_texts(tmp_path: Path) -> None:
    """Ids and titles that are numbers in the file are texts in the dataset, and still match."""
    items = pa.table({"id": [1, 2], "title": [10, 20], "price": [0.5, math.nan]})
    paths = samples.write_all(tmp_path / "in", "jsonl", judgments=[])
    paths["items"] = tmp_path / "in" / "items.parquet"
    pq.write_table(items, paths["items"])
    paths["judgments"].write_text(json.dumps({"query_id": "q1", "item_id": 2, "grade": 1}) + "\n")
    import_tables(tmp_path / "out", Tables(**paths))
    dataset = Dataset.load(tmp_path / "out")
    assert dataset.item_ids.to_pylist() == ["1", "2"]
    assert dataset.judgments.item.tolist() == [1]
    assert dataset.items()["price"].type == pa.float64(), "further columns keep their type"


def test_label_and_grade_together_need_a_choice(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "item_id": "i1", "label": "S", "grade": 7}]
    paths = samples.write_all(tmp_path / "in", judgments=rows)
    with pytest.raises(ProblemsFound, match="both label and grade"):
        import_tables(tmp_path / "out", Tables(**paths))
    import_tables(tmp_path / "out", Tables(**paths, judgment_columns={"grade": "grade"}))
    assert Dataset.load(tmp_path / "out").judgments.grade.tolist() == [7.0]


def test_dictionary_and_large_text_columns(tmp_path: Path) -> None:
    """What other writers of Parquet produce."""
    paths = samples.write_all(tmp_path / "in", "parquet")
    table = pq.read_table(paths["items"])
    table = table.set_column(0, "id", table["id"].cast(pa.large_string()))
    table = table.set_column(1, "title", pc.dictionary_encode(table["title"]))
    pq.write_table(table, paths["items"])
    import_tables(tmp_path / "out", Tables(**paths))
    titles = Dataset.load(tmp_path / "out").items()["title"].to_pylist()
    assert titles == [item["title"] for item in samples.ITEMS]
