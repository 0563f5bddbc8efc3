"""BM25 equals its formula, reads three scripts, and never shows an item without a common word."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.baselines import Bm25, bm25
from rars.data.words import indexed, words
from rars.errors import RarsError
from tests.evaluation.worlds import make_dataset

VOCABULARY = ["mug", "red", "lamp", "電球", "電", "usb充電器", "球"]
text = st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join)


def plain_scores(documents: list[str], query: str) -> list[float]:
    """The formula, document by document."""
    rows = [indexed(one) for one in documents]
    mean = sum(map(len, rows)) / len(rows)
    totals = []
    for row in rows:
        counts, total = Counter(row), 0.0
        for word in words(query):
            df = sum(word in other for other in rows)
            if counts[word]:
                idf = math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))
                norm = 1.2 * (1 - 0.75 + 0.75 * len(row) / mean)
                total += idf * counts[word] / (counts[word] + norm)
        totals.append(total)
    return totals


@settings(max_examples=40, deadline=None)
@given(documents=st.lists(text, min_size=1, max_size=8), query=text)
def test_scores_equal_the_formula(documents, query):
    documents = [*documents, "mug lamp"]
    items, scores = Bm25(documents).search([query], k=20).row(0)
    expected = np.array(plain_scores(documents, query))
    assert set(items.tolist()) == set(np.flatnonzero(expected > 0).tolist())
    np.testing.assert_allclose(scores, expected[items], rtol=1e-5)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("USB-C Ladegerät, ２０Ｗ", ["usb", "c", "ladegerät", "20w"]),
        ("ﾜｲﾔﾚｽ充電器", ["ワイ", "イヤ", "ヤレ", "レス", "ス充", "充電", "電器"]),
        ("サイズ・L", ["サイ", "イズ", "l"]),
        ("水 2本", ["水", "2", "本"]),
        ("무선 충전기", ["무선", "충전", "전기"]),
        ("snake_case & niño!", ["snake", "case", "niño"]),
        ("...", []),
    ],
)
def test_words_of_several_scripts(written, read):
    assert words(written) == read


def test_a_lone_character_finds_compounds_but_a_pair_no_single_characters():
    items = ["折りたたみ傘", "雨傘", "傘立て 雨", "革靴", "雨"]
    index = Bm25(items)
    found = [
        sorted(index.search([query]).row(0)[0].tolist()) for query in ("傘", "雨傘", "靴 雨傘")
    ]
    assert found == [[0, 1, 2], [1], [1, 3]]


def test_equal_scores_stay_in_catalogue_order():
    found = Bm25(["lamp", "red mug", "blue mug", "red mug"]).search(["mug"], k=2)
    assert found.items.tolist() == [1, 2]


def test_blocks_of_queries_do_not_change_the_results(monkeypatch):
    documents = [" ".join(np.random.default_rng(n).choice(VOCABULARY, 4)) for n in range(30)]
    queries = [*VOCABULARY, "nothing known", "mug lamp usb"]
    index, seen = Bm25(documents), []
    whole = index.search(queries, k=5)
    monkeypatch.setattr(bm25, "_CELLS", 60)  # two queries at a time
    parts = index.search(queries, k=5, advance=lambda done, total: seen.append((done, total)))
    assert parts.items.tolist() == whole.items.tolist()
    assert parts.pointers.tolist() == whole.pointers.tolist()
    assert seen == [(2, 9), (4, 9), (6, 9), (8, 9), (9, 9)]


def test_all_fields_are_read_and_attributes_if_asked(tmp_path):
    attributes = pa.array(
        [[("finish", "matte"), ("note", None)], None, []], pa.map_(pa.string(), pa.string())
    )
    dataset = make_dataset(
        tmp_path / "data",
        ["a", "b", "c"],
        ["q"],
        [("q", "a", 3)],
        titles=["mug", "lamp", "pen"],
        text=pa.array(["holds coffee", None, ""], pa.string()),
        brand=pa.array([None, "Volta", None], pa.string()),
        color=pa.array([None, None, "blue"], pa.string()),
        attributes=attributes,
    )
    queries = ["coffee", "volta", "blue", "matte"]
    plain, full = Bm25.of(dataset), Bm25.of(dataset, attributes=True)
    assert [plain.search(queries).row(i)[0].tolist() for i in range(4)] == [[0], [1], [2], []]
    assert [full.search(queries).row(i)[0].tolist() for i in range(4)] == [[0], [1], [2], [0]]


def test_nothing_to_search_or_to_find_is_said():
    with pytest.raises(RarsError, match="at least one item with a word"):
        Bm25(["...", ""])
    with pytest.raises(RarsError, match="k must be at least 1"):
        Bm25(["mug"]).search(["mug"], k=0)
    assert len(Bm25(["mug"]).search([])) == 0
