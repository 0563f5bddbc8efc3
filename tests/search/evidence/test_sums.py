"""Sums over posting lists: the same scores for all items and for some, whatever the lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.lists import GONE, Moves, PostingList, Run
from rars.search.evidence.sums import PostingSum, Term
from rars.tree import PrefixTree

ITEMS = 40
TREE = PrefixTree.build(np.random.default_rng(0).integers(0, 4, (ITEMS, 3)))

MOVED = Moves(np.where(np.arange(ITEMS) == 3, GONE, np.arange(ITEMS)).astype(np.int32), ITEMS)

places_of = st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=ITEMS).map(
    lambda places: np.array(sorted(places), dtype=np.int32)
)
lists = places_of.map(PostingList.of)


@st.composite
def sums(draw):
    """A sum of terms that are worth the same to all, and of one whose worth follows its counts."""
    terms = [
        Term.worth(
            "word", f"w{n}", tuple(draw(st.lists(lists, max_size=3))), draw(st.floats(-2, 2))
        )
        for n in range(draw(st.integers(0, 3)))
    ]
    counted = draw(places_of)
    listed = PostingList.of(counted, np.arange(len(counted), dtype=np.uint8))
    lengths = np.linspace(1, 2, ITEMS)
    terms.append(Term("bm25", "c", (listed,), lambda counts, places: counts / lengths[places]))
    return PostingSum(Ancestry.of(TREE), tuple(terms), draw(st.floats(-1, 1)), draw(st.booleans()))


def by_definition(total: PostingSum) -> list[float]:
    scores = []
    for item in range(ITEMS):
        held = [t for t in total.terms if any(item in one.positions for one in t.lists)]
        scores.append(total.baseline + sum(float(t.at(np.array([item]))[0]) for t in held))
    return scores


@settings(max_examples=100, deadline=None)
@given(sums(), places_of)
def test_some_items_score_as_they_do_among_all(total, places):
    plain = PostingSum(total.ancestry, total.terms, total.baseline)
    np.testing.assert_allclose(plain.whole().dense(), by_definition(plain), atol=1e-12)
    some = plain.at(places)
    np.testing.assert_allclose(some.at(places), plain.whole().at(places), atol=1e-12)
    others = np.setdiff1d(np.arange(ITEMS), places)
    assert (some.at(others) == plain.baseline).all()


@settings(max_examples=100, deadline=None)
@given(sums(), places_of)
def test_divided_by_the_largest_that_is_looked_at(total, places):
    plain = PostingSum(total.ancestry, total.terms, total.baseline).at(places).scores
    divided = (
        PostingSum(total.ancestry, total.terms, total.baseline, divided=True).at(places).scores
    )
    highest = plain.max(initial=0.0)
    np.testing.assert_allclose(divided * (highest or 1.0), plain, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(sums(), st.integers(0, 3 * ITEMS), st.booleans())
def test_who_is_on_the_shortest_lists_leads(total, most, always):
    led = total.led(most, always=always)
    lists = (one for term in total.terms for one in term.lists)
    every = sorted(filter(len, lists), key=len)
    wanted, used = set(), 0
    for number, one in enumerate(every):
        used += len(one)
        if used > most and not (always and number == 0):
            break
        wanted |= set(one.positions.tolist())
    assert led.tolist() == sorted(wanted)


@settings(max_examples=100, deadline=None)
@given(sums(), st.integers(1, ITEMS))
def test_of_a_list_that_is_long_in_any_case_those_lead_to_which_it_is_worth_most(total, wide):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rars.search.evidence.sums.WIDE", wide)
        led = total.led(0, always=True)
    every = [(one, term) for term in total.terms for one in term.lists if len(one)]
    if not every:
        assert not len(led)
        return
    shortest, term = min(every, key=lambda pair: len(pair[0]))
    places, counts = shortest.now()
    values = term.values(counts, places)
    assert led.tolist() == sorted(set(led.tolist()) & set(places.tolist()))
    assert len(led) == min(wide, len(places))
    kept = np.isin(places, led)
    assert values[kept].min() >= values[~kept].max(initial=-np.inf)


def test_a_word_that_no_item_has_any_more_does_not_lead():
    """Its list is the shortest, and names nobody."""
    gone = Run(np.array([3], dtype=np.int32), np.ones(1, dtype=np.uint8), 0, MOVED)
    there = PostingList.of(np.arange(5, dtype=np.int32))
    terms = [Term.worth("word", "w", (one,), 1.0) for one in (PostingList((gone,)), there)]
    total = PostingSum(Ancestry.of(TREE), tuple(terms))
    assert total.led(2, always=True).tolist() == [0, 1, 2, 3, 4]


def test_a_reason_is_any_of_its_lists():
    lists = tuple(PostingList.of(np.array(one, dtype=np.int32)) for one in ([1, 5], [5, 7]))
    total = PostingSum(Ancestry.of(TREE), (Term.worth("color", "black", lists, 1.0),))
    found = [total.whole().explain(int(TREE.order[place]))[0].matched for place in (0, 1, 5, 7)]
    assert found == [False, True, True, True]
    assert total.whole().at([1, 5, 7]).tolist() == [1.0, 1.0, 1.0]
