"""Marks of a comparison."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rars.serving.page.beside import beside
from rars.serving.schemas import Hit, SearchResponse, Timings

TOOK = Timings(queue=0, search=0, show=0, total=0, batch=1)


def answer(ids, measures=None):
    hits = [Hit(rank=at, item_id=one, score=-at, title=one) for at, one in enumerate(ids, 1)]
    shared = {"query": "q", "system": "s", "version": None, "rule": "r", "k": 9, "degraded": False}
    return SearchResponse(
        **shared, count=len(hits), hits=hits, measures=measures, timings=TOOK, request_id=""
    )


def test_what_moved_is_marked():
    found = beside(answer("abcd"), answer("bae"))
    assert [one.mark for one in found.right] == ["▲ 1", "▼ 1", "new"]
    assert [one.mark for one in found.left] == ["→ 2", "→ 1", "gone", "gone"]
    assert found.shared == 2
    assert not found.alike


def test_measures_are_compared_where_both_have_them():
    found = beside(answer("a", {"nDCG@10": 0.2, "MRR@5": 1.0}), answer("a", {"nDCG@10": 0.5}))
    [one] = found.measures
    assert (one.name, round(one.difference, 6)) == ("nDCG@10", 0.3)
    assert beside(answer("a", {"nDCG@10": 0.2}), answer("a")).measures == ()


@given(st.permutations("abcdef"), st.permutations("abcdef"))
def test_ranks_lead_to_the_same_item_on_the_other_side(one, two):
    found = beside(answer(one), answer(two))
    for here, there in ((found.left, found.right), (found.right, found.left)):
        for place in here:
            assert there[place.there - 1].hit.item_id == place.hit.item_id
    assert found.alike == (one == two)
