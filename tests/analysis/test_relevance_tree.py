"""One query's relevance as a tree: shares and masses add up, and nothing in it is executed by a browser."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings

from rars.analysis.relevance_tree import walk
from rars.data import Dataset
from rars.errors import RarsError
from rars.tree import PrefixTree
from tests.analysis.test_ambiguity import dataset_of
from tests.tree.oracle import END, judged_trees, masses

CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 2]])
ITEMS = [
    {"id": "a", "title": "Red <script>alert(1)</script> mug"},
    {"id": "b", "title": "Blue & green mug"},
    {"id": "c", "title": "マグカップ"},
    {"id": "d", "title": "كوب"},
]
QUERIES = [
    {"id": "nobody", "text": "mug", "split": "train"},
    {"id": "q1", "text": "mug", "split": "train"},
    {"id": "q2", "text": "<b>cup</b>", "split": "train"},
    {"id": "q3", "text": "cup", "split": "test"},
]
JUDGED = [
    {"query_id": "nobody", "item_id": "a", "grade": 0},
    {"query_id": "q1", "item_id": "a", "grade": 3},
    {"query_id": "q1", "item_id": "b", "grade": 1},
    {"query_id": "q1", "item_id": "c", "grade": 2},
    {"query_id": "q1", "item_id": "d", "grade": 2},
    {"query_id": "q2", "item_id": "a", "grade": 1},
    {"query_id": "q3", "item_id": "b", "grade": 1},
]


@pytest.fixture(scope="module")
def dataset():
    whole = Dataset.of(ITEMS, QUERIES, JUDGED)
    return whole.with_split(np.array([one["split"] for one in QUERIES]))


@pytest.fixture(scope="module")
def tree():
    return PrefixTree.build(CODES)


def everywhere(branches):
    for one in branches:
        yield one
        yield from everywhere(one.below)


def test_a_tree_shows_how_relevance_divides(dataset, tree):
    found = walk(dataset, tree, "q1")
    assert found.query == "mug"
    left, right = found.branches
    assert [one.name for one in everywhere(found.branches)] == ["a0", "b0", "b1", "a1", "b2"]
    assert (left.share, right.share) == (0.5, 0.5)
    assert [one.share for one in left.below] == [0.75, 0.25]
    assert [one.mass for one in left.below] == [0.375, 0.125]
    assert [one.item_id for one in right.below[0].items] == ["c", "d"]
    assert [one.grade for one in right.below[0].items] == [2, 2]
    assert str(found).splitlines()[0] == "mug"
    assert "    b1  25 %  Blue & green mug" in str(found).splitlines()


@settings(max_examples=30, deadline=None)
@given(judged_trees())
def test_shares_of_siblings_sum_to_one_and_masses_to_their_parents(drawn):
    codes, pairs = drawn
    every = {q: levels for q, levels in masses(codes, pairs).items() if levels[0]}
    assume(every)
    dataset, tree = dataset_of(codes, pairs), PrefixTree.build(codes)
    for query, levels in every.items():
        found = walk(dataset, tree, str(query))
        assert sum(one.mass for one in found.branches) == pytest.approx(1)
        expected = pytest.approx(sorted(levels[1].values()))
        assert sorted(one.mass for one in found.branches) == expected
        shown = []
        for branches, mass in ((found.branches, 1.0), *_families(found.branches)):
            assert sum(one.share for one in branches) == pytest.approx(1)
            assert sum(one.mass for one in branches) == pytest.approx(mass)
        for one in everywhere(found.branches):
            assert bool(one.items) != bool(one.below), "items hang from leaves alone"
            shown += [leaf.item_id for leaf in one.items]
        assert sorted(shown) == sorted(str(i) for q, i, rho in pairs if q == query and rho > 0)


def _families(branches):
    return [(one.below, one.mass) for one in everywhere(branches) if one.below]


def test_an_identifier_that_ends_early_ends_once(dataset):
    codes = np.array([[0, END, END], [0, 1, END], [1, 2, 3], [1, 2, 4]])
    found = walk(dataset, PrefixTree.build(codes), "q1")
    names = [one.name for one in everywhere(found.branches)]
    assert names == ["a0", "end", "b1", "end", "a1", "b2", "c3", "c4"]
    assert [leaf.item_id for leaf in found.branches[0].below[0].items] == ["a"]


def test_a_query_is_named_by_id_or_text(dataset, tree):
    assert walk(dataset, tree, "mug") == walk(dataset, tree, "q1"), "of two, the one that has items"
    assert walk(dataset, tree, "<b>cup</b>") == walk(dataset, tree, "q2")
    assert walk(dataset, tree, "cup", split="test").query == "cup"


def test_without_a_name_a_telling_query_is_chosen(dataset, tree):
    assert walk(dataset, tree).query == "mug"


@pytest.mark.parametrize("query", ["teapot", "nobody", "q3", ""])
def test_an_unknown_query_is_one_sentence(dataset, tree, query):
    with pytest.raises(RarsError) as error:
        walk(dataset, tree, query)
    assert str(error.value) == f"No train query with a positive item has the id or text {query!r}."
    with pytest.raises(RarsError, match="The split 'validation' of .* has no query"):
        walk(dataset, tree, query, split="validation")


def test_html_is_escaped_and_each_text_has_its_own_direction(dataset, tree):
    page = walk(dataset, tree, "q1")._repr_html_()
    assert "<script>" not in page
    assert "Red &lt;script&gt;alert(1)&lt;/script&gt; mug" in page
    assert "Blue &amp; green mug" in page
    assert page.count('<span dir="auto">') == 4
    assert '<b dir="auto">mug</b>' in page
    assert '<b dir="auto">&lt;b&gt;cup&lt;/b&gt;</b>' in walk(dataset, tree, "q2")._repr_html_()
    for tag in ("ul", "li", "details", "summary", "div", "span"):
        assert len(re.findall(rf"<{tag}[ >]", page)) == page.count(f"</{tag}>"), tag
