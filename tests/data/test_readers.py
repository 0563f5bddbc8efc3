"""Files become tables with true row numbers, on the fast way and on the exact one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rars.data import csvfile, jsonlines
from rars.data.problems import Problems, ProblemsFound
from rars.data.tables import Meter, Source, read_source
from rars.errors import RarsError


def read(path: Path) -> tuple[Source | None, list[str]]:
    problems = Problems()
    source = read_source(path, problems)
    try:
        problems.stop("")
    except ProblemsFound as found:
        return source, [str(problem).removeprefix(str(path)) for problem in found.shown]
    return source, []


def whole(path: Path) -> pa.Table:
    source, said = read(path)
    assert said == []
    assert source is not None
    assert source.whole
    return source.table


def text_file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_csv_values_stay_text(tmp_path: Path) -> None:
    """Ids such as 007 or NA, and empty values, must not be guessed into numbers or nulls."""
    path = text_file(tmp_path, "t.csv", "id,a\n007,NA\nnull,\n1e5,true\n")
    assert whole(path).to_pydict() == {"id": ["007", "null", "1e5"], "a": ["NA", "", "true"]}


def test_csv_byte_order_mark_and_blanks_in_the_header(tmp_path: Path) -> None:
    """As spreadsheets write it."""
    path = text_file(tmp_path, "t.csv", "\ufeffid, title\r\na,b\r\n")
    assert whole(path).to_pydict() == {"id": ["a"], "title": ["b"]}


def test_csv_rows_are_lines_even_after_line_breaks_and_blank_lines(tmp_path: Path) -> None:
    path = text_file(tmp_path, "t.csv", 'id,a\n\n1,"x\n\ny"\n2,z\n\n3,w\n')
    source, _ = read(path)
    assert source is not None
    assert source.table["a"].to_pylist() == ["x\n\ny", "z", "w"]
    assert source.rows([0, 1, 2]) == [3, 6, 8]


def test_csv_records_of_the_wrong_length_are_all_named(tmp_path: Path) -> None:
    path = text_file(tmp_path, "t.csv", "id,a\n1,x\n2\n3,y,z\n4,w\n")
    source, said = read(path)
    assert said == [
        ", row 3: 1 values where the header has 2",
        ", row 4: 3 values where the header has 2",
    ]
    assert source is not None
    assert source.table["id"].to_pylist() == ["1", "4"]
    assert source.rows([1]) == [5], "later checks still name the right row"


@pytest.mark.parametrize(
    "content",
    [
        'id,a\n1,"x\n2,y\n',  # never closed: the rest of the file would become one value
        'id,a\n1,"x\n2,"y"\n3,z\n',  # closed by the next record's quote
        'id,a\n1,"x\n2,"y\n3,z\n',  # an even number of quotes
    ],
)
def test_csv_open_quotes_do_not_swallow_records(tmp_path: Path, content: str) -> None:
    """A lenient reader merges the records without a word."""
    _, said = read(text_file(tmp_path, "t.csv", content))
    assert said[0] == ", row 2: broken quotes: a quote is not closed"


def test_csv_quotes_inside_plain_values_are_text(tmp_path: Path) -> None:
    path = text_file(tmp_path, "t.tsv", 'id\ttitle\n1\t17" display\n2\tsays "hi"\n')
    assert whole(path)["title"].to_pylist() == ['17" display', 'says "hi"']


def test_csv_column_named_twice(tmp_path: Path) -> None:
    _, said = read(text_file(tmp_path, "t.csv", "id,a,a\n1,2,3\n"))
    assert said == [", row 1, column a: the column appears twice"]


def test_csv_values_longer_than_pythons_limit(tmp_path: Path) -> None:
    long = "word\n" * 50_000
    path = text_file(tmp_path, "t.csv", f'id,a\n1,"{long}"\n2,x\n')
    assert whole(path)["a"].to_pylist() == [long, "x"]


def test_utf16_is_called_by_its_name(tmp_path: Path) -> None:
    _, said = read(text_file(tmp_path, "t.csv", "id,a\n1,2\n".encode("utf-16")))
    assert said == [": broken encoding: the file is UTF-16; save it as UTF-8"]


def test_jsonl_kinds_of_values(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 12345678901234567890, "n": 1, "x": 1, "b": True, "l": ["a", 1], "o": {"k": 2.0}},
        {"id": 2, "n": None, "x": "one", "b": None, "l": [], "o": {"k": None, "m": [1, "z"]}},
    ]
    path = text_file(tmp_path, "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    table = whole(path)
    assert table["id"].to_pylist() == ["12345678901234567890", "2"], "no digit is lost"
    assert table["n"].to_pylist() == [1, None]
    assert table["x"].to_pylist() == ["1", "one"]
    assert table["b"].to_pylist() == [True, None]
    assert table["l"].to_pylist() == [["a", "1"], []]
    assert table["o"].to_pylist() == [[("k", "2")], [("m", "1, z")]]


def test_jsonl_dates_stay_text_and_blank_lines_do_not_shift_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonlines, "_BLOCK", 20)
    lines = ["", *(f'{{"day": "2020-01-0{day}"}}' for day in range(1, 9)), "", '{"day": "x"}']
    source, said = read(text_file(tmp_path, "t.jsonl", "\r\n".join(lines)))
    assert said == []
    assert source is not None
    assert source.table["day"].to_pylist() == [*(f"2020-01-0{day}" for day in range(1, 9)), "x"]
    assert source.rows([0, 7, 8]) == [2, 9, 11]


def test_jsonl_broken_lines_are_all_named(tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"a": }\n[1]\n{"a": 2}{"a": 3}\n{"a":\n4}\n"\xff\n{"a": 5}\n'
    source, said = read(text_file(tmp_path, "t.jsonl", content))
    assert [line.partition(" at ")[0] for line in said] == [
        ", row 2: broken JSON: Expecting value",
        ", row 3: broken JSON: the line is not an object {...}",
        ", row 4: broken JSON: Extra data",
        ", row 5: broken JSON: Expecting value",
        ", row 6: broken JSON: Extra data",
        ", row 7: broken encoding: not UTF-8",
    ]
    assert source is not None
    assert source.table["a"].to_pylist() == [1, 5]
    assert source.rows([1]) == [8]


ROWS: list[dict[str, Any]] = [
    {"id": n, "title": f"t{n} é", "tags": ["a", str(n)], "price": n / 2, "day": "2021-05-05"}
    for n in range(40)
]
ODD: dict[str, list[dict[str, Any]]] = {
    "same": ROWS,
    "late column": [*ROWS[:30], *({**row, "late": "x"} for row in ROWS[30:])],
    "late number": [{**row, "id": row["id"] if n < 30 else f"x{n}"} for n, row in enumerate(ROWS)],
    "late list": [
        {**row, "tags": row["tags"] if n < 30 else "a > b"} for n, row in enumerate(ROWS)
    ],
    "late object": [{**row, "o": {"k": n} if n > 30 else None} for n, row in enumerate(ROWS)],
    "huge number": [{**row, "id": 2**64 + n if n > 30 else n} for n, row in enumerate(ROWS)],
    "null first": [
        {**row, "title": row["title"] if n > 20 else None} for n, row in enumerate(ROWS)
    ],
    "whole numbers": [{**row, "price": n if n > 20 else n / 2} for n, row in enumerate(ROWS)],
}


@pytest.mark.parametrize("rows", ODD.values(), ids=ODD)
def test_jsonl_blocks_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]
) -> None:
    """Whether Arrow or Python reads a block, and where a block ends, must not change a value."""
    path = text_file(tmp_path, "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    once = whole(path)
    monkeypatch.setattr(jsonlines, "_BLOCK", 300)
    blocks = whole(path)
    assert set(blocks.column_names) == set(once.column_names)
    for name in once.column_names:
        assert blocks[name].to_pylist() == once[name].to_pylist(), name
        assert blocks[name].type == once[name].type


def test_jsonl_fast_way_is_taken_and_finds_broken_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow reads JSON without checking the encoding, so a later block must be checked too."""
    monkeypatch.setattr(jsonlines, "_BLOCK", 100)
    exact: list[int] = []
    slow = jsonlines._exact
    monkeypatch.setattr(jsonlines, "_exact", lambda *given: exact.append(given[1]) or slow(*given))
    lines = [b'{"title": "thing %d"}' % n for n in range(50)]
    assert whole(text_file(tmp_path, "t.jsonl", b"\n".join(lines))).num_rows == 50
    assert exact == [1], "only the first block goes through Python"
    lines[40] = b'{"title": "\xe1"}'
    _, said = read(text_file(tmp_path, "t.jsonl", b"\n".join(lines)))
    assert said == [", row 41, column title: broken encoding: not UTF-8"]


def test_csv_exact_way_reads_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvfile, "_CHUNK", 3)
    content = "id\n" + "".join(f"{n}\n" for n in range(10)) + "a,b\n"
    source, said = read(text_file(tmp_path, "t.csv", content))
    assert said == [", row 12: 2 values where the header has 1"]
    assert source is not None
    assert source.table["id"].to_pylist() == [str(n) for n in range(10)]


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    """Compressed files are measured by what was read of them."""
    path = text_file(tmp_path, "t.jsonl.gz", gzip.compress(b'{"a": "b"}\n' * 1000))
    calls: list[tuple[int, int]] = []
    read_source(
        path, Problems(), meter=Meter([path], lambda done, total: calls.append((done, total)))
    )
    size = path.stat().st_size
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)


@pytest.mark.parametrize("name", ["t.txt", "t.gz", "csv"])
def test_unknown_types_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RarsError, match="is of no known type"):
        read(text_file(tmp_path, name, "id\n1\n"))


# -- files that are written otherwise ------------------------------------------------------------


@pytest.mark.parametrize("mark", [";", "|", "\t", ","])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_header_of_one_column_is_read_by_the_separator_that_it_has(
    tmp_path: Path, mark: str, name: str
) -> None:
    """Spreadsheets write semicolons where the comma is a decimal sign, whatever the file is called."""
    rows = [["id", "title"], ["1", "lamp, 3,5 W; warm|white"], ["2", 'says "hi"']]
    quoted = [['"' + value.replace('"', '""') + '"' for value in row] for row in rows]
    path = text_file(tmp_path, name, "\r\n".join(mark.join(row) for row in quoted))
    expected = {"id": ["1", "2"], "title": [rows[1][1], rows[2][1]]}
    assert whole(path).to_pydict() == expected


def test_a_lone_column_stays_what_it_is(tmp_path: Path) -> None:
    """Ids to remove are a file of one column; separators in its values mean nothing."""
    path = text_file(tmp_path, "t.csv", "id\na;b\nc|d\n")
    assert whole(path).to_pydict() == {"id": ["a;b", "c|d"]}


def test_bad_records_of_another_separator_are_named_by_it(tmp_path: Path) -> None:
    _, said = read(text_file(tmp_path, "t.csv", "id;title\n1;a\n2\n"))
    assert said == [", row 3: 1 values where the header has 2"]


@pytest.mark.parametrize("rows", ODD.values(), ids=ODD)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_objects_is_read_as_its_lines_are(
    tmp_path: Path, rows: list[dict[str, Any]], indent: int | None
) -> None:
    listed = json.dumps(rows, indent=indent, ensure_ascii=False)
    lines = text_file(tmp_path, "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    one = whole(text_file(tmp_path, "t.json", "\ufeff \n" + listed))
    two = whole(lines)
    assert one.equals(two)


def test_members_of_a_list_are_counted_and_bad_ones_named(tmp_path: Path) -> None:
    content = b'[{"a": 1},\n 3, {"a": "\xff"},\n\n{"a": 4}]'
    source, said = read(text_file(tmp_path, "t.json", content))
    assert said == [
        ", row 2: broken JSON: the line is not an object {...}",
        ", row 3, column a: broken encoding: not UTF-8",
    ]
    assert source is not None
    assert source.rows([1, 2]) == [3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"a": 1},\n{"a" 2}]', ", row 2: broken JSON: Expecting ':' delimiter at character 6"),
        ('[{"a": 1}]\n{"a": 2}', ", row 2: broken JSON: Extra data at character 1"),
        ("[" * 100_000, ", row 1: broken JSON: nested more than 64 levels deep"),
        ("[]", ": empty file: the file is empty"),
    ],
)
def test_a_broken_list_is_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    _, said = read(text_file(tmp_path, "t.json", content))
    assert said == [message]


def test_judgments_as_trec_keeps_them(tmp_path: Path) -> None:
    path = text_file(tmp_path, "j.qrels", "\ufeffq1 0 d1 2\nq1\tQ0\td-2\t0\n\nq2 0 d1 1\n")
    source, said = read(path)
    assert said == []
    assert source is not None
    assert source.table.to_pydict() == {
        "query_id": ["q1", "q1", "q2"],
        "item_id": ["d1", "d-2", "d1"],
        "grade": ["2", "0", "1"],
    }
    assert source.rows([2]) == [4]


def test_bad_lines_of_qrels_are_all_named(tmp_path: Path) -> None:
    _, said = read(text_file(tmp_path, "j.qrels", b"q1 0 d1 2\nq1 d1 2\nq\xff 0 d 1\n"))
    assert said == [
        ", row 2: 3 values where qrels have 4: query, 0, item, grade",
        ", row 3: broken encoding: not UTF-8",
    ]
