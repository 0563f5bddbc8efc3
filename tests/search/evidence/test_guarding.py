"""Extraction never fails: units however they are joined, and an extractor that cannot read a text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.data import Dataset
from rars.errors import RarsError, RarsWarning
from rars.search.evidence import EvidenceIndex, Quantities
from rars.search.evidence import units as unit_names
from rars.search.evidence.colors import canonical
from rars.search.evidence.quantities import quantities
from rars.tree import PrefixTree
from tests.hostile import texts as hostile

PIECES = hostile._pieces()


def index_of(titles, extractors=None):
    dataset = Dataset.of(
        [{"id": str(n), "title": title} for n, title in enumerate(titles)],
        [{"id": "q", "text": "x"}],
    )
    tree = PrefixTree.build(np.arange(len(titles))[:, None])
    return EvidenceIndex.build(dataset, tree, extractors=extractors)


@pytest.mark.parametrize("written", ["12 fl.-oz", "12 fl-oz", "12-fl-oz", "12-fl.-oz", "12 FL. OZ"])
def test_a_unit_of_several_words_may_be_joined_by_hyphens(written):
    index = index_of([f"Cleaner {written}", "Cleaner 5 kg"])
    assert index.compatibility("355 ml cleaner").of([0, 1]).argmax() == 0


def test_every_name_is_read_however_its_words_are_joined():
    for name, meant in unit_names.names().items():
        plain = name.removeprefix("+")
        wanted = tuple(unit for unit in meant if unit != unit_names.COUNT)
        for written in {plain, plain.replace(" ", "-")}:
            found = quantities(f"7{written}")
            units = None if unit_names.NOTHING in meant else wanted
            assert [one.units for one in found] == ([] if units is None else [units]), written


@given(st.text(), st.sampled_from(hostile.NUMBERS), st.sampled_from(PIECES[1]), st.text(max_size=5))
def test_any_text_is_read(before, number, unit, behind):
    text = before + number + unit + behind
    hostile._read(text, INDEX, None)
    assert canonical(text) is None or isinstance(canonical(text), str)


INDEX = index_of(["Acme red mug 12 fl.-oz", "1/2-in x 3-1/4 in. bolt", "10 000 mAh №5"])


class Picky(Quantities):
    """Cannot read the letter z."""

    def items(self, rows):
        if any("z" in title for title in rows["title"].to_pylist()):
            raise KeyError("z")
        return super().items(rows)

    def mentions(self, folded, tokens, known):
        if "z" in folded:
            raise KeyError("z")
        return super().mentions(folded, tokens, known)


def test_a_text_that_cannot_be_read_costs_that_text_alone():
    titles = [f"mug {n + 1} ml" for n in range(9)]
    titles[3], titles[7] = "zzz 4 ml", "zz 8 ml"
    with pytest.warns(RarsWarning, match=r"^2 items were not read .*'quantity' \(row 4: KeyError"):
        index = index_of(titles, [Picky()])
    for n in range(9):
        assert bool(index.keys.items(f"number {n + 1}")) == (n not in (3, 7))
        asked = index.read(f"mug {n + 1} ml")
        assert len(asked.constraints) == 1
    with pytest.warns(RarsWarning, match="The query 'z 3 ml' was not read"):
        assert index.read("z 3 ml").constraints == ()


def test_what_an_extractor_says_to_the_user_is_said():
    class Refuses(Quantities):
        def items(self, rows):
            raise RarsError("The price list is missing.")

    with pytest.raises(RarsError, match="price list"):
        index_of(["mug"], [Refuses()])


def test_names_beyond_any_query_cost_no_time():
    """A brand of thousands of words would be walked anew from every word of a query."""
    items = [
        {"id": "a", "title": "x", "brand": "a " * 5000},
        {"id": "b", "title": "y", "brand": "b"},
    ]
    dataset = Dataset.of(items, [{"id": "q", "text": "x"}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index = EvidenceIndex.build(dataset, PrefixTree.build([[0], [1]]))
    begun = []
    terms = index.keys.terms
    first = type(terms).first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(terms), "first", lambda s, p: begun.append(len(p)) or first(s, p))
        index.read("a " * 2000)
    assert max(begun) < 1000
