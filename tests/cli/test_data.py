"""The data commands as a person meets them: what they print, refuse and leave on disk."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rars import cli
from rars.data import Dataset
from rars.data.importing import Tables, import_tables
from tests.data import samples, test_esci, test_nq320k

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


class Shell:
    """Runs ``rars`` inside the test: exit code, stdout and stderr as a terminal would get them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: object) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["rars", *map(str, words)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = self._capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err.lstrip("\n")


@pytest.fixture
def rars(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def words_for(folder: Path, paths: dict[str, Path], *more: object) -> list[object]:
    words: list[object] = ["data", "import", folder]
    for table, path in paths.items():
        words += [f"--{table}", path]
    return [*words, *more]


def changed(rows: samples.Rows, index: int, **values: Any) -> samples.Rows:
    return [row | values if i == index else row for i, row in enumerate(rows)]


def without(rows: samples.Rows, column: str) -> samples.Rows:
    return [{name: value for name, value in row.items() if name != column} for row in rows]


GRADED = [
    {"query_id": "q1", "item_id": "i1", "grade": 2.5},
    {"query_id": "q2", "item_id": "i2", "grade": 0.0},
]

# What is wrong, the tables that have it, and what must be said: file, record (from 0), column, words.
BAD = {
    "missing title": (
        {"items": without(samples.ITEMS, "title")},
        "items",
        None,
        "title",
        "missing column",
    ),
    "missing id": (
        {"queries": without(samples.QUERIES, "id")},
        "queries",
        None,
        "id",
        "missing column",
    ),
    "missing label": (
        {"judgments": without(samples.JUDGMENTS, "label")},
        "judgments",
        None,
        "label",
        "missing column",
    ),
    "duplicate item": (
        {"items": changed(samples.ITEMS, 2, id="i1"), "judgments": samples.JUDGMENTS[:1]},
        "items",
        2,
        "id",
        "duplicate id 'i1'",
    ),
    "duplicate query": (
        {"queries": changed(samples.QUERIES, 1, id="q1"), "judgments": samples.JUDGMENTS[:1]},
        "queries",
        1,
        "id",
        "duplicate id 'q1'",
    ),
    "unknown query": (
        {"judgments": changed(samples.JUDGMENTS, 3, query_id="q9")},
        "judgments",
        3,
        "query_id",
        "unknown query 'q9'",
    ),
    "unknown item": (
        {"judgments": changed(samples.JUDGMENTS, 1, item_id="3")},
        "judgments",
        1,
        "item_id",
        "unknown item '3'",
    ),
    "unknown label": (
        {"judgments": changed(samples.JUDGMENTS, 0, label="X")},
        "judgments",
        0,
        "label",
        "unknown label 'X'",
    ),
    "NaN grade": (
        {"judgments": changed(GRADED, 1, grade=float("nan"))},
        "judgments",
        1,
        "grade",
        "NaN",
    ),
    "negative grade": (
        {"judgments": changed(GRADED, 1, grade=-1.0)},
        "judgments",
        1,
        "grade",
        "negative grade",
    ),
    "infinite grade": (
        {"judgments": changed(GRADED, 0, grade=float("inf"))},
        "judgments",
        0,
        "grade",
        "not finite",
    ),
    "empty title": (
        {"items": changed(samples.ITEMS, 1, title=" ")},
        "items",
        1,
        "title",
        "empty text",
    ),
    "empty query": (
        {"queries": changed(samples.QUERIES, 2, text="")},
        "queries",
        2,
        "text",
        "empty text",
    ),
    "empty id": (
        {"items": changed(samples.ITEMS, 1, id=""), "judgments": samples.JUDGMENTS[:1]},
        "items",
        1,
        "id",
        "empty id",
    ),
    "unknown split": (
        {"queries": changed(samples.QUERIES, 0, split="later")},
        "queries",
        0,
        "split",
        "unknown split 'later'",
    ),
}

# A person counts a CSV record by the line it begins on; the sample's first item takes two lines.
FIRST_ROW = {"csv": 2, "tsv": 2, "jsonl": 1, "parquet": 1}


def row_of(table: str, record: int | None, suffix: str) -> int | None:
    if record is None:
        return 1 if suffix in ("csv", "tsv") else None
    line_break = suffix in ("csv", "tsv") and table == "items" and record > 0
    return FIRST_ROW[suffix] + record + line_break


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_named_by_file_row_and_column(
    rars: Shell, tmp_path: Path, bad: str, suffix: str
) -> None:
    """Each bad input ends in exit code 2, a line that says where, and an untouched disk."""
    tables, table, record, column, words = BAD[bad]
    paths = samples.write_all(tmp_path / "in", suffix, **tables)
    code, out, err = rars(*words_for(tmp_path / "out" / "shop", paths))
    row = row_of(table, record, suffix)
    where = f"{paths[table]}{'' if row is None else f', row {row}'}, column {column}: "
    first, *lines = err.splitlines()
    assert code == 2
    assert first == f"rars: 1 problem in {paths[table]}; nothing was written."
    assert len(lines) == 1, "one problem, no echo of it elsewhere"
    assert lines[0].startswith(where), lines[0]
    assert words in lines[0]
    assert out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("suffix", "old", "new", "row", "column"),
    [
        ("csv", "Volta,black", "Volta\udcff,black", 2, "brand"),
        ("csv", "Lámpara", "L\udce1mpara", 4, "title"),  # Latin-1, the usual way to get it wrong
        ("jsonl", "Lámpara", "L\udce1mpara", 2, "title"),
        ("jsonl", "Lámpara", "L\\ud800mpara", 2, "title"),  # half of a surrogate pair
        (
            "parquet",
            "Lámpara",
            "L\udce1\udce1mpara",
            2,
            "title",
        ),  # same length, so the file stays whole
    ],
)
def test_broken_encoding_is_named(
    rars: Shell, tmp_path: Path, suffix: str, old: str, new: str, row: int, column: str
) -> None:
    """Bytes that are not UTF-8 are found in every format, with the column they are in."""
    paths = samples.write_all(tmp_path / "in", suffix)
    if suffix == "parquet":
        table = pq.read_table(paths["items"])
        pq.write_table(table, paths["items"], compression="none", use_dictionary=False)
    data = paths["items"].read_bytes()
    broken = data.replace(old.encode(), new.encode("utf-8", "surrogateescape"))
    assert broken != data
    paths["items"].write_bytes(broken)
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    assert f"{paths['items']}, row {row}, column {column}: broken encoding: not UTF-8" in err
    assert not (tmp_path / "shop").exists()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "csv.gz"])
def test_empty_file_is_named(rars: Shell, tmp_path: Path, suffix: str) -> None:
    paths = samples.write_all(tmp_path / "in", suffix)
    paths["queries"].write_bytes(gzip.compress(b"") if suffix.endswith(".gz") else b"")
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    assert f"{paths['queries']}: empty file" in err
    assert not (tmp_path / "shop").exists()


def test_file_with_a_header_alone_is_empty(rars: Shell, tmp_path: Path) -> None:
    paths = samples.write_all(tmp_path / "in")
    paths["judgments"].write_text("query_id,item_id,label\n")
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    assert f"{paths['judgments']}: empty file: the file has no rows" in err


def test_parquet_without_footer_is_named(rars: Shell, tmp_path: Path) -> None:
    """A download that broke off."""
    paths = samples.write_all(tmp_path / "in", "parquet")
    paths["items"].write_bytes(paths["items"].read_bytes()[:-9])
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    assert f"{paths['items']}: broken Parquet" in err
    assert not (tmp_path / "shop").exists()


def test_damaged_parquet_pages_are_named_by_row_and_column(rars: Shell, tmp_path: Path) -> None:
    """A footer that can be read does not make the pages sound: the damaged row group is named."""
    paths = samples.write_all(tmp_path / "in")
    table = pa.table({"id": ["a", "b", "c", "d"], "title": ["t"] * 4})
    path = tmp_path / "in" / "items.parquet"
    pq.write_table(table, path, row_group_size=2)
    offset = pq.read_metadata(path).row_group(1).column(1).dictionary_page_offset
    data = bytearray(path.read_bytes())
    data[offset : offset + 12] = b"\0" * 12
    path.write_bytes(data)
    code, _, err = rars(*words_for(tmp_path / "shop", paths | {"items": path}))
    assert code == 2
    assert f"{path}, row 3, column title: broken Parquet" in err
    assert not (tmp_path / "shop").exists()


def test_broken_gzip_is_named(rars: Shell, tmp_path: Path) -> None:
    paths = samples.write_all(tmp_path / "in", "jsonl.gz")
    paths["items"].write_bytes(paths["items"].read_bytes()[:-20])
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    assert f"{paths['items']}: broken file" in err
    assert not (tmp_path / "shop").exists()


def test_all_problems_of_all_files_are_said_at_once(rars: Shell, tmp_path: Path) -> None:
    """One run is enough to learn everything that must be mended."""
    items = changed(changed(samples.ITEMS, 1, title=""), 2, id="i1")
    judgments = changed(changed(samples.JUDGMENTS, 0, label="?"), 4, query_id="nobody")
    paths = samples.write_all(tmp_path / "in", "jsonl", items=items, judgments=judgments)
    text = paths["queries"].read_text()
    paths["queries"].write_text(text.replace('{"id": "q2"', '{"id": q2"'))
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    for line in (
        f"{paths['items']}, row 2, column title: empty text",
        f"{paths['items']}, row 3, column id: duplicate id 'i1' (first in row 1)",
        f"{paths['queries']}, row 2: broken JSON",
        f"{paths['judgments']}, row 1, column label: unknown label '?'",
    ):
        assert line in err
    assert "unknown query" not in err, "with a query unread, none can be called unknown"


def test_only_the_first_twenty_of_a_file_are_spelled_out(rars: Shell, tmp_path: Path) -> None:
    items = [{"id": f"i{n}", "title": "" if n % 2 else "thing"} for n in range(90)]
    judgments = [{"query_id": "q1", "item_id": f"x{n}", "label": "E"} for n in range(3)]
    paths = samples.write_all(tmp_path / "in", items=items, judgments=judgments)
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    lines = err.splitlines()
    assert code == 2
    assert lines[0].startswith("rars: 48 problems in ")
    rows = [line for line in lines if "column title" in line]
    assert all(f"row {row}," in line for row, line in zip(range(3, 43, 2), rows, strict=True))
    assert f"... and 25 more in {paths['items']}" in lines
    assert sum("unknown item" in line for line in lines) == 3


def result(out: str) -> dict[str, Any]:
    """What a command found, without what it took."""
    found: dict[str, Any] = json.loads(out)
    assert found.pop("peak_memory") > 0
    return found


def test_problems_as_json(rars: Shell, tmp_path: Path) -> None:
    paths = samples.write_all(tmp_path / "in", items=changed(samples.ITEMS, 1, title=""))
    code, out, err = rars(*words_for(tmp_path / "shop", paths, "--json"))
    where = {"file": str(paths["items"]), "row": 4, "column": "title", "message": "empty text"}
    assert code == 2
    found = result(out)
    assert found == {"ok": False, "problems": 1, "shown": [where]}
    assert "empty text" in err


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz", "parquet.gz"]
)
def test_import_and_check_tell_the_same_counts(rars: Shell, tmp_path: Path, suffix: str) -> None:
    paths = samples.write_all(tmp_path / "in", suffix)
    code, out, err = rars(*words_for(tmp_path / "shop", paths, "--json"))
    assert code == 0, err
    imported = result(out)
    code, out, _ = rars("data", "check", tmp_path / "shop", "--json")
    assert code == 0
    assert result(out) | {"merged_judgments": 1} == imported
    assert imported["queries"] == {"train": 1, "validation": 1, "test": 1}
    assert imported["judgments_by_grade"] == {"E": 2, "S": 1, "C": 1, "I": 0}
    assert imported["items_with_category"] == 2
    assert imported["items_without_text"] == 1
    assert imported["positives_per_query"] == {"mean": 1.333, "median": 1.0, "max": 2.0}


def test_tables_are_shown_to_a_person(rars: Shell, tmp_path: Path) -> None:
    paths = samples.write_all(tmp_path / "in")
    code, out, _ = rars(*words_for(tmp_path / "shop", paths))
    assert code == 0
    assert "1 repeated judgments" in out
    code, out, _ = rars("data", "check", tmp_path / "shop")
    assert code == 0
    for words in (
        "items",
        "with category",
        "without text",
        "validation",
        "grade E",
        "positives per query",
    ):
        assert words in out


def test_columns_can_be_named(rars: Shell, tmp_path: Path) -> None:
    """A file keeps its own column names, and problems are reported by them."""
    items = [{"asin": "a", "product_title": "Lamp"}, {"asin": "b", "product_title": ""}]
    queries = [{"qid": "1", "query": "lamp"}]
    judgments = [{"qid": "1", "asin": "a", "gain": 1}]
    paths = samples.write_all(tmp_path / "in", items=items, queries=queries, judgments=judgments)
    named = [
        *("--item-column", "id=asin", "--item-column", "title=product_title"),
        *("--query-column", "id=qid", "--query-column", "text=query"),
        *("--judgment-column", "query_id=qid", "--judgment-column", "item_id=asin"),
        *("--judgment-column", "grade=gain"),
    ]
    code, _, err = rars(*words_for(tmp_path / "shop", paths, *named))
    assert code == 2
    assert f"{paths['items']}, row 3, column product_title: empty text" in err
    samples.write(tmp_path / "in", "items", items[:1], "csv")
    code, _, err = rars(*words_for(tmp_path / "shop", paths, *named, "--test-share", "0"))
    assert code == 0, err
    dataset = Dataset.load(tmp_path / "shop")
    assert dataset.items().column("title").to_pylist() == ["Lamp"]
    assert dataset.judgments.grade.tolist() == [1.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--item-column", "titel=x"], "--item-column titel=... names no column of ours"),
        (["--item-column", "title"], "--item-column 'title' is not of the form OURS=THEIRS."),
        (["--query-column", "id=a", "--query-column", "id=b"], "--query-column names id twice."),
        (["--test-share", "1.5"], "--test-share 1.5 is not between 0 and 1."),
        (["--category-separator", ""], "--category-separator must not be empty."),
        (["--items", "items.xlsx"], "items.xlsx does not exist."),
    ],
)
def test_wrong_options_end_in_one_sentence(
    rars: Shell, tmp_path: Path, words: list[str], said: str
) -> None:
    paths = samples.write_all(tmp_path / "in")
    code, out, err = rars(*words_for(tmp_path / "shop", paths, *words))
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "shop").exists()


def test_unknown_file_type_is_refused(rars: Shell, tmp_path: Path) -> None:
    paths = samples.write_all(tmp_path / "in")
    paths["items"] = paths["items"].rename(tmp_path / "in" / "items.xlsx")
    code, _, err = rars(*words_for(tmp_path / "shop", paths))
    assert code == 2
    assert f"{paths['items']} is of no known type" in err


def test_a_folder_that_is_no_dataset_is_left_alone(rars: Shell, tmp_path: Path) -> None:
    """Neither photos nor another kind of rars folder are written over."""
    paths = samples.write_all(tmp_path / "in")
    home = tmp_path / "home"
    home.mkdir()
    (home / "photo.jpg").write_text("precious")
    code, _, err = rars(*words_for(home, paths))
    assert code == 2
    assert f"{home} holds files that are not a rars dataset" in err
    (home / "dataset.json").write_text('{"kind": "something else"}')
    assert rars(*words_for(home, paths))[0] == 2
    assert sorted(path.name for path in home.iterdir()) == ["dataset.json", "photo.jpg"]
    code, _, err = rars(*words_for(home / "photo.jpg", paths))
    assert code == 2
    assert "is a file" in err


def test_a_failed_import_keeps_the_old_dataset(rars: Shell, tmp_path: Path) -> None:
    paths = samples.write_all(tmp_path / "in")
    assert rars(*words_for(tmp_path / "shop", paths))[0] == 0
    before = Dataset.load(tmp_path / "shop").digest
    samples.write(tmp_path / "in", "items", changed(samples.ITEMS, 0, title=""), "csv")
    assert rars(*words_for(tmp_path / "shop", paths))[0] == 2
    assert Dataset.load(tmp_path / "shop").digest == before


def test_check_of_what_is_not_there(rars: Shell, tmp_path: Path) -> None:
    code, _, err = rars("data", "check", tmp_path / "nowhere")
    assert code == 2
    assert (
        err == f"rars: {tmp_path / 'nowhere'} does not exist; expected the folder of a dataset.\n"
    )
    code, _, err = rars("data", "check", tmp_path)
    assert code == 2
    assert f"{tmp_path} is not a dataset" in err


def test_check_looks_at_plain_tables_too(rars: Shell, tmp_path: Path) -> None:
    """The tables can be mended before the first import; checking writes nothing."""
    paths = samples.write_all(tmp_path / "in", "jsonl")
    before = sorted(tmp_path.rglob("*"))
    code, out, _ = rars("data", "check", tmp_path / "in", "--json")
    assert code == 0
    assert json.loads(out)["items"] == 3
    samples.write(tmp_path / "in", "items", changed(samples.ITEMS, 0, title=""), "jsonl")
    code, _, err = rars("data", "check", tmp_path / "in")
    assert code == 2
    assert f"{paths['items']}, row 1, column title: empty text" in err
    assert sorted(tmp_path.rglob("*")) == before


def run(*words: object) -> subprocess.CompletedProcess[str]:
    program = "from rars.cli import main; main()"
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_installed_command_reports_problems(tmp_path: Path) -> None:
    """As a process of its own: exit code, both streams, no traceback."""
    paths = samples.write_all(
        tmp_path / "in", judgments=changed(samples.JUDGMENTS, 2, item_id="gone")
    )
    ended = run(*words_for(tmp_path / "shop", paths))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.strip().splitlines()[1] == (
        f"{paths['judgments']}, row 4, column item_id: unknown item 'gone'"
    )
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "shop").exists()


KILLED = """
import os, signal
from rars import replacing
from rars.data.folder import DatasetWriter

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

place = os.environ["PLACE"]
if place == "swap":
    replacing.renamed = replacing.point = die
else:
    add = DatasetWriter.add
    DatasetWriter.add = lambda self, table, rows: die() if table == place else add(self, table, rows)
from rars.cli import main
main()
"""


@pytest.mark.parametrize(
    ("place", "existing"),
    [("items", False), ("queries", False), ("judgments", True), ("swap", False), ("swap", True)],
)
def test_a_kill_leaves_the_old_dataset_or_none(tmp_path: Path, place: str, existing: bool) -> None:
    """SIGKILL at any stage of writing: no half dataset, and the next import works."""
    paths = samples.write_all(tmp_path / "in")
    words = words_for(tmp_path / "shop", paths)
    before = None
    if existing:
        assert run(*words).returncode == 0
        before = Dataset.load(tmp_path / "shop").digest
    samples.write(tmp_path / "in", "items", changed(samples.ITEMS, 0, title="Changed"), "csv")
    environment = os.environ | {"PLACE": place}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, words)],
        capture_output=True,
        check=False,
        env=environment,
    )
    assert ended.returncode == -signal.SIGKILL
    if before is None:
        assert not (tmp_path / "shop").exists()
    else:
        assert Dataset.load(tmp_path / "shop").digest == before
    assert run(*words).returncode == 0
    assert Dataset.load(tmp_path / "shop").digest != before


@pytest.mark.parametrize("command", ["import", "check", "esci", "nq320k", "shop"])
def test_help_has_an_example(rars: Shell, command: str) -> None:
    code, out, _ = rars("data", command, "--help")
    assert code == 0
    assert f"Example: rars data {command} " in out


@pytest.mark.skipif(not SHARED.is_dir(), reason="the Icecat catalogue is not beside the project")
def test_a_real_catalogue_can_be_imported(rars: Shell, tmp_path: Path) -> None:
    """Nineteen thousand real products with attributes of mixed types, and human judgments."""
    icecat = SHARED / "icecat"
    paths = {
        "items": icecat / "items.jsonl.gz",
        "queries": icecat / "queries.jsonl",
        "judgments": icecat / "judgments.tsv",
    }
    words = words_for(tmp_path / "icecat", paths, "--test-share", "1.0", "--json")
    code, out, err = rars(*words)
    assert code == 0, err
    counts = json.loads(out)
    assert counts["items"] == 19_406
    assert counts["queries"] == {"train": 0, "validation": 0, "test": 135}
    assert counts["judgments_by_grade"] == {"3": 1472, "2": 105, "1": 238, "0": 1853}
    items = Dataset.load(tmp_path / "icecat").items(["id", "attributes"])
    notebook = dict(items.filter(pa.compute.equal(items["id"], "2101957"))["attributes"][0].as_py())
    assert notebook["n_display_diagonal"] == "17"
    assert notebook["n_processor_frequency"] == "2.13"
    assert notebook["b_touchscreen"] == "false"


def test_esci_prints_what_the_protocol_kept(rars: Shell, tmp_path: Path) -> None:
    source = test_esci.write_source(tmp_path / "esci")
    categories = test_esci.write_categories(tmp_path / "esci-s.json.gz")
    words = ["data", "esci", source, "--locale", "us", "--out", tmp_path / "out"]
    code, out, err = rars(*words, "--json")
    assert code == 0, err
    assert json.loads(out)["category_filter"] is False
    assert "No --categories" in err
    code, out, err = rars(*words, "--categories", categories)
    assert code == 0, err
    assert "test queries eligible" in out
    assert rars("data", "check", tmp_path / "out")[0] == 0
    code, _, err = rars("data", "esci", tmp_path, "--out", tmp_path / "out2")
    assert code == 2
    assert "shopping_queries_dataset_products.parquet does not exist." in err


def test_nq320k_finds_its_files(rars: Shell, tmp_path: Path) -> None:
    train = test_nq320k.write(tmp_path / "nq" / "simplified-nq-train.jsonl", test_nq320k.TRAIN)
    dev = test_nq320k.write(tmp_path / "nq" / "nq-dev-all.jsonl.gz", test_nq320k.DEV)
    code, out, err = rars("data", "nq320k", train.parent, "--out", tmp_path / "out", "--json")
    assert code == 0, err
    assert json.loads(out)["unseen"] == 2
    elsewhere = dev.rename(tmp_path / "elsewhere.jsonl.gz")
    words = ["data", "nq320k", train.parent, "--out", tmp_path / "out"]
    code, _, err = rars(*words)
    assert code == 2
    assert "name one with --dev" in err
    code, out, _ = rars(*words, "--dev", elsewhere)
    assert code == 0
    assert "unseen" in out
    assert rars("data", "check", tmp_path / "out")[0] == 0


@pytest.mark.parametrize(("size", "asked"), [("tiny", "tiny"), ("250", 250)])
def test_shop_passes_its_options_on(
    rars: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str, asked: str | int
) -> None:
    calls: list[dict[str, Any]] = []

    def make_shop(folder: Path, **options: Any) -> None:
        calls.append(options)
        import_tables(folder, Tables(**samples.write_all(tmp_path / "in")))

    monkeypatch.setattr("rars.pipeline.datasets.make_shop", make_shop)
    words = ["data", "shop", tmp_path / "shop", "--size", size, "--locale", "ja", "--seed", "7"]
    code, out, err = rars(*words, "--json")
    assert code == 0, err
    assert json.loads(out)["items"] == 3
    [options] = calls
    assert (options["size"], options["locale"], options["seed"]) == (asked, "ja", 7)
    assert callable(options["advance"])
    code, _, err = rars("data", "shop", tmp_path / "shop", "--size", "0")
    assert code == 2
    assert "--size 0 is not a number of items" in err
