"""Files and tables that once ended in a traceback: now a dataset, or the row and column of what is wrong."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rars.data import Dataset, jsonlines
from rars.data.importing import Tables, prepare
from rars.data.tables import MOST_COLUMNS
from rars.errors import RarsError

ASKED = [{"id": "q", "text": "mug"}]


@pytest.fixture
def read(tmp_path):
    """A function that reads items of a file beside one query and one judgment."""
    (tmp_path / "q.jsonl").write_text('{"id": "q", "text": "mug"}\n')
    (tmp_path / "j.jsonl").write_text('{"query_id": "q", "item_id": "a", "grade": 1}\n')

    def prepared(name, content, *, judgments=None):
        path = tmp_path / name
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_text(content)
        judged = tmp_path / "j.jsonl"
        if judgments is not None:
            judged = tmp_path / "other.jsonl"
            judged.write_text(judgments)
        tables = Tables(path, tmp_path / "q.jsonl", judged)
        return prepare(tables, consequence="nothing was written")

    return prepared


def nested(levels):
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [65, 400, 990, 100_000])
def test_json_that_is_nested_too_deeply_is_a_bad_row(read, levels):
    lines = ['{"id": "a", "title": "x"}', f'{{"id": "b", "title": "y", "e": {nested(levels)}}}']
    with pytest.raises(RarsError, match=r"row 2: broken JSON: nested more than 64 levels deep"):
        read("items.jsonl", "\n".join(lines))
    cell = nested(levels).replace('"', '""')
    with pytest.raises(
        RarsError, match="row 2, column attributes: attributes are not a JSON object"
    ):
        read("items.csv", f'id,title,attributes\na,x,"{{""e"": {cell}}}"\n')
    made = read("items.tsv", f"id\ttitle\tcategory\na\tx\t{nested(levels)}\n")
    assert made.items.num_rows == 1


def test_deep_json_never_reaches_the_fast_reader(read, monkeypatch):
    """Its recursion has no bound: the process itself would end."""
    monkeypatch.setattr(jsonlines, "_BLOCK", 64)
    sound = "".join(f'{{"id": "{n}", "title": "[x"}}\n' for n in range(20))
    with pytest.raises(RarsError, match="row 21: broken JSON: nested"):
        read("items.jsonl", sound + f'{{"id": "b", "title": "y", "e": {nested(50_000)}}}\n')


def test_nesting_within_bounds_is_kept(read):
    made = read("items.jsonl", f'{{"id": "a", "title": "x", "attributes": {{"e": {nested(60)}}}}}')
    assert made.items.num_rows == 1


@pytest.mark.parametrize("names", [["id", "title", "title"], ["id", "title", "e", "e"]])
def test_a_column_twice_in_parquet_is_said(read, names):
    table = pa.table([pa.array(["a"])] * len(names), names=names)
    with pytest.raises(RarsError, match=f"column {names[-1]}: the column is there twice"):
        read("items.parquet", table)


def test_nested_dates_are_text_and_bytes_that_are_no_text_are_said(read):
    def items(*attributes):
        ids = ["a", "b"][: len(attributes)]
        return pa.table({"id": ids, "title": ids, "attributes": pa.array(attributes)})

    day = dt.date(2020, 1, 2)
    made = read("items.parquet", items({"d": [day], "n": {"t": day}, "s": b"ok"}))
    assert dict(made.items["attributes"][0].as_py()) == {
        "d": "2020-01-02",
        "n": '{"t": "2020-01-02"}',
        "s": "ok",
    }
    for broken in ({"s": b"\xff"}, {"s": [b"\xff"]}):
        with pytest.raises(RarsError, match="row 1, column attributes: a value is not text"):
            read("items.parquet", items(broken, None))


@pytest.mark.parametrize("grade", ["[3]", "[[3]]", '{"a": 3}'])
def test_a_list_is_no_grade(read, grade):
    line = f'{{"query_id": "q", "item_id": "a", "grade": {grade}}}\n'
    with pytest.raises(RarsError, match="row 1, column grade: grade .* is not a number"):
        read("items.jsonl", '{"id": "a", "title": "x"}\n', judgments=line)


def test_a_list_is_no_id_and_no_label(read):
    with pytest.raises(RarsError, match="column id: values of type list"):
        read("items.jsonl", '{"id": ["a"], "title": "x"}\n')
    line = '{"query_id": "q", "item_id": "a", "label": ["E"]}\n'
    with pytest.raises(RarsError, match="column label: values of type list"):
        read("items.jsonl", '{"id": "a", "title": "x"}\n', judgments=line)


def test_escapes_that_make_no_text_are_said(read):
    with pytest.raises(RarsError, match="row 2, column attributes: attributes are not a JSON"):
        read("items.csv", 'id,title,attributes\na,x,"{""e"": ""\\ud800""}"\n')
    assert read("items.csv", 'id,title,category\na,x,"[""\\ud800""]"\n').items.num_rows == 1


def test_a_row_of_many_megabytes_is_read_and_its_judgments_stay(read):
    """Such a file goes through the slow reader, which must not count as unsound."""
    made = read("items.csv", f'id,title,text\nb,y,z\na,x,"{"word " * 8_000_000}"\n')
    assert made.items.num_rows == 2
    assert made.judgments.item.tolist() == [1]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "memory"])
def test_too_many_columns_are_one_sentence(read, kind):
    row = {"id": "a", "title": "x"} | {f"c{n}": 1 for n in range(MOST_COLUMNS)}
    content = {
        "csv": ",".join(row) + "\n",
        "jsonl": json.dumps(row),
        "parquet": pa.table({name: [str(value)] for name, value in row.items()}),
    }
    make = (lambda: Dataset.of([row], ASKED)) if kind == "memory" else None
    make = make or (lambda: read(f"items.{kind}", content[kind]))
    with pytest.raises(RarsError, match="has 10,002 columns, and 10,000 is the most"):
        make()


def test_a_message_does_not_list_thousands_of_columns():
    with pytest.raises(RarsError, match="and 480 more") as caught:
        Dataset.of([{f"c{n}": 1 for n in range(500)}], ASKED)
    assert len(str(caught.value)) < 1000


def test_values_in_memory_that_no_table_can_hold():
    endless = []
    endless += [endless, endless]
    with pytest.raises(RarsError, match="row 1, column e: a value is nested more than 64"):
        Dataset.of([{"id": "a", "title": "x", "e": endless}], ASKED)
    with pytest.raises(RarsError, match="row 1, column e: a whole number of 16,610 bits"):
        Dataset.of([{"id": "a", "title": "x", "e": 10**5000}], ASKED)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        pa.array([{}], pa.struct([])),
        pa.array([["x"]], pa.list_(pa.string_view())),
    ],
)
def test_a_type_that_cannot_be_stored_is_said(values):
    with pytest.raises(RarsError, match="column e: values of type .* cannot be stored"):
        Dataset.of(pa.table({"id": ["a"], "title": ["x"], "e": values}), ASKED)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_are_stored_as_what_they_view(kind, tmp_path):
    items = pa.table({"id": ["a"], "title": ["x"], "e": pa.array(["y"], kind)})
    saved = Dataset.of(items, ASKED).save(tmp_path / "shop")
    assert saved.items(["e"])["e"].to_pylist() in (["y"], [b"y"])
