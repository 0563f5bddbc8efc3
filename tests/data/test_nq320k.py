"""Natural Questions on small files of its two formats: pages, pairs and the seen / unseen partition."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rars.data import Dataset, nq320k
from rars.data.checking import check_folder
from rars.data.nq320k import NqCounts, find_file, make_nq320k, normal_title, page_text, page_title
from rars.data.problems import ProblemsFound
from rars.errors import RarsError


def simplified(number: int, question: str, text: str, **more: Any) -> dict[str, Any]:
    """A line of the simplified train file: no title, the page as one text with tags in it."""
    return {
        "document_text": text,
        "long_answer_candidates": [{"start_token": 0, "end_token": 3, "top_level": True}],
        "question_text": question,
        "annotations": [{"yes_no_answer": "NONE", "long_answer": {}, "short_answers": []}],
        "document_url": f"https://en.wikipedia.org//w/index.php?title=Page_{number}&amp;oldid=1",
        "example_id": number,
    } | more


def full(number: int, question: str, title: str, text: str) -> dict[str, Any]:
    """A line of the full dev file: a title, and the page as tokens."""
    tokens = [{"token": t, "html_token": t.startswith("<")} for t in text.split()]
    return {
        "example_id": number,
        "document_title": title,
        "document_url": "",
        "document_tokens": tokens,
        "question_text": question,
        "annotations": [],
    }


TRAIN = [
    simplified(1, "who sang it", "The Who - wikipedia <H1> The Who </H1> <P> A band </P>"),
    simplified(2, "which season", "Dead ( season 8 ) - Wikipedia <H1> Dead </H1>"),
    simplified(3, "when did they start", "The  who - Wikipedia another version of the page"),
    simplified(4, "what is on page 4", "<H1> no title here </H1>"),
]
DEV = [
    full(11, "who played drums", "The Who", "<H1> The Who </H1> other text"),
    full(12, "how many episodes", "Dead (season 8)", "text"),
    full(13, "who wrote it", "New page", "<P> Brand new </P> <Table> page"),
    full(14, "who read it", "NEW PAGE", "again"),
]


def write(path: Path, examples: list[dict[str, Any]]) -> Path:
    data = "".join(json.dumps(one) + "\n" for one in examples).encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    train = write(tmp_path / "nq" / "v1.0-simplified_simplified-nq-train.jsonl.gz", TRAIN)
    return train, write(tmp_path / "nq" / "nq-dev-all.jsonl.gz", DEV)


def test_pages_pairs_and_partition(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """One item per title, one query per example; unseen pages have no training question."""
    counts = make_nq320k(*files, tmp_path / "out")
    assert counts == NqCounts(items=4, train_queries=4, dev_queries=4, seen=2, unseen=2)
    dataset = Dataset.load(tmp_path / "out")
    items = dataset.items().to_pylist()
    titles = ["The Who", "Dead ( season 8 )", "Page 4", "New page"]
    assert [item["title"] for item in items] == titles
    assert items[0]["text"] == "The Who - wikipedia The Who A band", (
        "the first page of a title stays"
    )
    assert items[3]["text"] == "Brand new page"
    queries = pq.read_table(tmp_path / "out" / "queries.parquet").to_pylist()
    assert {q["id"]: q["partition"] for q in queries} == {
        **dict.fromkeys(["1", "2", "3", "4"]),
        **{"11": "seen", "12": "seen", "13": "unseen", "14": "unseen"},
    }
    assert {q["split"] for q in queries if q["partition"] is None} <= {"train", "validation"}
    assert {q["split"] for q in queries if q["partition"] is not None} == {"test"}
    assert dataset.judgments.item.tolist() == [0, 1, 0, 2, 0, 1, 3, 3]
    assert set(dataset.judgments.grade.tolist()) == {1.0}
    assert dataset.facts["nq320k"] == counts.as_json()
    assert check_folder(tmp_path / "out").summary.items == 4


def test_chunks_do_not_show(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_nq320k(*files, tmp_path / "once")
    monkeypatch.setattr(nq320k, "_CHUNK", 1)
    make_nq320k(*files, tmp_path / "chunks")
    once, chunks = Dataset.load(tmp_path / "once"), Dataset.load(tmp_path / "chunks")
    assert chunks.items().to_pylist() == once.items().to_pylist()


def test_files_are_found_by_name(tmp_path: Path, files: tuple[Path, Path]) -> None:
    assert find_file(tmp_path / "nq", "train", "--train") == files[0]
    assert find_file(tmp_path / "nq", "dev", "--dev") == files[1]
    write(tmp_path / "nq" / "other-dev.jsonl", DEV)
    with pytest.raises(RarsError, match=r"2 files named \*dev\*.*name one with --dev"):
        find_file(tmp_path / "nq", "dev", "--dev")
    with pytest.raises(RarsError, match="no file named"):
        find_file(tmp_path / "nq", "test", "--test")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Dead (season 8)", "dead ( season 8 )", True),
        ("Beyoncé", "BEYONCE", True),
        ("Rock &amp; roll", "rock & roll", True),
        ("U.S. Route 1", "U . S . route 1", True),
        ("Who", "The Who", False),
        ("1984", "1985", False),
    ],
)
def test_titles_of_one_page(one: str, other: str, same: bool) -> None:
    assert (normal_title(one) == normal_title(other)) is same


@pytest.mark.parametrize(
    ("example", "title"),
    [
        ({"document_title": "A - B - Wikipedia"}, "A - B"),
        ({"document_text": "A - B - Wikipedia <H1>"}, "A - B"),
        (
            {
                "document_text": "<H1> A - Wikipedia",
                "document_url": "https://x.org/wiki/The_%C3%89",
            },
            "The É",
        ),
        (
            {"document_text": "x " * 400 + "- Wikipedia", "document_url": "?title=Far_off"},
            "Far off",
        ),
        ({"document_title": " ", "document_text": "no title"}, None),
    ],
)
def test_where_titles_come_from(example: dict[str, Any], title: str | None) -> None:
    assert page_title(example) == title


def test_pages_are_cut_to_their_first_words() -> None:
    text = " ".join(f"<P> w{n}" for n in range(2000))
    expected = [f"w{n}" for n in range(512)]
    assert page_text({"document_text": text}).split() == expected
    assert page_text(full(1, "q", "t", text)).split() == expected


def test_bad_lines_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    bad = [
        TRAIN[0],
        TRAIN[1] | {"question_text": " "},
        TRAIN[2] | {"document_text": "no title", "document_url": ""},
        TRAIN[3] | {"example_id": 1},
    ]
    train = write(tmp_path / "train.jsonl", bad)
    with train.open("ab") as stream:
        stream.write(b'{"question_text": "\xff"}\n{"question_text": \n[]\n')
    dev = write(tmp_path / "dev.jsonl", DEV)
    with pytest.raises(ProblemsFound) as found:
        make_nq320k(train, dev, tmp_path / "out")
    assert [(p.row, p.column) for p in found.value.shown] == [
        (2, "question_text"),
        (3, "document_title"),
        (4, "example_id"),
        (5, None),
        (6, None),
        (7, None),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.jsonl", "train.jsonl"]


def test_empty_and_broken_files_are_named(tmp_path: Path, files: tuple[Path, Path]) -> None:
    train, dev = files
    dev.write_bytes(dev.read_bytes()[:-15])
    with pytest.raises(ProblemsFound, match="nq-dev-all.jsonl.gz: broken file"):
        make_nq320k(train, dev, tmp_path / "out")
    dev.write_bytes(gzip.compress(b""))
    with pytest.raises(ProblemsFound, match="nq-dev-all.jsonl.gz: empty file"):
        make_nq320k(train, dev, tmp_path / "out")
    assert not (tmp_path / "out").exists()
