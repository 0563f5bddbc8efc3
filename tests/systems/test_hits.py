"""Hits are a list that remembers what was asked, and a table that no text can break out of."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from rars.errors import RarsError
from rars.systems import Answer, Hit, Hits, Query, rank, refuse, search, search_many

ROWS = [
    {"id": "a", "title": "Red <mug>", "brand": "A&B", "color": None, "category": ["Home", "Mugs"]},
    {"id": "b", "title": "חולצה שחורה", "brand": None, "color": "黒", "category": None},
    {"id": "c", "title": "マグ", "brand": None, "color": None, "category": []},
]


@dataclass(frozen=True)
class Why:
    text: str

    def __str__(self):
        return self.text

    def as_dict(self):
        return {"why": self.text}


class Catalogue:
    ids = pa.array([row["id"] for row in ROWS])

    def __len__(self):
        return len(ROWS)

    def take(self, rows):
        return [ROWS[row] for row in rows]


class Fixed:
    """Answers every query with the first items."""

    catalogue, rules = Catalogue(), ("plain",)

    def check(self, queries):
        pass

    def answer(self, queries, *, advance=None):
        refuse(queries, "it is a toy", rules=self.rules)
        found = []
        for query in queries:
            items = np.arange(min(query.k, 3))
            found.append(Answer(items, 1.0 - items, explanations=None))
        return found

    def reads(self, locale):
        return False

    def facts(self, rule=None):
        return {"rule": "plain"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.texts, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    assert not reader.open
    return reader


def test_any_system_is_searched_by_the_same_functions():
    hits = search(Fixed(), "mug", 2)
    assert hits == [
        Hit("a", 1.0, "Red <mug>", "A&B", None, ("Home", "Mugs")),
        Hit("b", 0.0, "חולצה שחורה", None, "黒"),
    ]
    assert hits.query == "mug"
    assert [len(found) for found in search_many(Fixed(), ["x", "y"], 3)] == [3, 3]
    ranked = rank(Fixed(), [Query("x", 1), Query("y", 3)])
    assert ranked.pointers.tolist() == [0, 1, 4]
    assert ranked.items.tolist() == [0, 0, 1, 2]


def test_a_table_holds_texts_of_any_script_and_no_markup_of_theirs():
    hits = Hits.of(Answer(np.arange(3), np.zeros(3)), Catalogue(), "<script>alert(1)</script> קפה")
    page = read(hits._repr_html_())
    assert "<script>alert(1)</script> קפה" in page.texts
    assert "script" not in dict(page.tags)
    for text in ("Red <mug> · A&B", "חולצה שחורה · 黒", "マグ", "Home > Mugs"):
        assert text in page.texts
    # Every text runs the way of its own letters.
    assert [a.get("dir") for tag, a in page.tags if tag == "caption"] == ["auto"]
    assert sum(a.get("dir") == "auto" for tag, a in page.tags if tag == "td") == 9


def test_explanations_are_folded_and_escaped():
    why = [Why("a24  model 33.8 %\n<b>bold</b>")] * 3
    page = read(
        Hits.of(Answer(np.arange(3), np.zeros(3), None, why), Catalogue(), "q")._repr_html_()
    )
    assert [tag for tag, _ in page.tags].count("details") == 3
    assert "a24  model 33.8 %\n<b>bold</b>" in page.texts
    assert "Nothing was found." in read(Hits([], "q")._repr_html_()).texts


def test_a_hit_is_plain_json():
    assert Hit("a", 0.5, "t", identifier=(1, 2)).as_dict() == {
        "item_id": "a",
        "score": 0.5,
        "title": "t",
        "brand": None,
        "color": None,
        "category": [],
        "identifier": [1, 2],
    }
    assert Hit("a", 0.5, "t", explanation=Why("x")).as_dict()["explanation"] == {"why": "x"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rule": "hybrid"}, "--rule: it is a toy and has no use for it."),
        ({"categories": 3}, "--categories: it is a toy and has no use for it."),
        ({"allow": []}, "--allow: it is a toy and has no use for it."),
        ({"locale": "en"}, "--locale: it is a toy and has no use for it."),
        ({"exact": True}, "--exact: it is a toy and has no use for it."),
        ({"explain": True}, "--explain: it is a toy and does not explain its results."),
        ({"colour": "red"}, "A search has no option 'colour'"),
    ],
)
def test_an_option_without_use_is_named(options, sentence):
    with pytest.raises(RarsError) as error:
        search(Fixed(), "mug", **options)
    assert sentence in str(error.value)


def test_what_asks_for_nothing_is_fine():
    options = {"rule": "plain", "categories": "auto", "category": None, "explain": False}
    assert search(Fixed(), "mug", 1, **options)[0].item_id == "a"
