"""A batch of unlike queries is answered as each would be alone, and as fast as one of like queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.search import retriever as public
from rars.systems import Query, rank, search, search_many

TEXTS = ["black bottle 0.75 l", "running shoes", "bolso tan grande", "usb c cable 2 m", "mug"]


@st.composite
def queries(draw, retriever):
    ids = retriever.catalogue.ids.to_pylist()
    paths = sorted({" > ".join(p[:2]) for p in retriever.catalogue.table["category"].to_pylist()})
    some = st.none() | st.lists(st.sampled_from(ids), max_size=40, unique=True)
    category = draw(st.none() | st.sampled_from(paths))
    return Query(
        draw(st.sampled_from(TEXTS)),
        draw(st.sampled_from([1, 5, 20, 150])),
        rule=draw(st.sampled_from([None, "ar", "all", "hybrid", "010"])),
        categories=draw(st.sampled_from([None, "auto", "all", 1, 2, 5])),
        category=category,
        allow=draw(some),
        deny=draw(some),
        locale=draw(st.sampled_from([None, "en", "es"])),
        exact=draw(st.booleans()),
        explain=draw(st.booleans()),
    )


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_unlike_queries_together_get_what_each_gets_alone(retriever, data):
    asked = data.draw(st.lists(queries(retriever), min_size=2, max_size=8))
    for query, together in zip(asked, retriever.answer(asked), strict=True):
        [alone] = retriever.answer([query])
        assert together.items.tolist() == alone.items.tolist()
        np.testing.assert_allclose(together.scores, alone.scores, atol=1e-4)
        assert together.identifiers.tolist() == alone.identifiers.tolist()
        assert (together.explanations is None) == (not query.explain)
        for one, other in zip(together.explanations or (), alone.explanations or (), strict=True):
            assert [step.code for step in one.steps] == [step.code for step in other.steps]
            terms = ([step.term for step in why.steps] for why in (one, other))
            np.testing.assert_allclose(*terms, atol=1e-4)
            assert (one.reasons, one.parts.keys()) == (other.reasons, other.parts.keys())
            assert [path for path, _ in one.categories] == [path for path, _ in other.categories]


def test_queries_that_differ_inside_a_beam_share_one_search(retriever, monkeypatch):
    """Only another width or an exact search needs a batch of its own."""
    calls = []
    for name in ("beam_search", "exact_search"):
        plain = getattr(public, name)

        def counted(*given, name=name, plain=plain, **options):
            calls.append((name, len(given[3])))
            return plain(*given, **options)

        monkeypatch.setattr(public, name, counted)
    path = " > ".join(retriever.search("bottle", 1)[0].category)
    calls.clear()
    retriever.answer(
        [
            Query("mug", 3, rule="ar", categories=2),
            Query("mug", 200, rule="ar"),
            Query("mug", 7, rule="all", locale="es"),
            Query("mug", 1, rule="hybrid", category=path, explain=True),
            Query("mug", 3, rule="hybrid", exact=True),
        ]
    )
    assert calls == [("beam_search", 3), ("beam_search", 1), ("exact_search", 1)]


def test_a_rule_without_evidence_looks_at_none_unless_asked_why(retriever, monkeypatch):
    asked = []
    index = type(retriever.index.evidence)
    plain = index.compatibility_sum
    monkeypatch.setattr(
        index, "compatibility_sum", lambda *g, **o: asked.append(1) or plain(*g, **o)
    )
    retriever.search_many(TEXTS, 5, rule="ar")
    assert not asked
    hits = retriever.search("mug", 5, rule="ar", explain=True)
    assert asked == [1]
    assert all(step.evidence == 0 for hit in hits for step in hit.explanation.steps)


def test_a_mistake_in_one_query_is_found_before_any_is_searched(retriever, monkeypatch):
    monkeypatch.setattr(public, "beam_search", None)
    for wrong in (
        Query("mug", 0),
        Query("mug", rule="best"),
        Query(" "),
        Query("mug", locale="xx"),
    ):
        with pytest.raises(RarsError):
            retriever.answer([Query("mug"), wrong])


def test_functions_over_any_system_are_what_the_methods_do(retriever):
    options = {"rule": "all", "categories": 2}
    assert search(retriever, "mug", 5, **options) == retriever.search("mug", 5, **options)
    many = search_many(retriever, TEXTS, 5, **options)
    assert many == retriever.search_many(TEXTS, 5, **options)
    assert [hits.query for hits in many] == TEXTS
    ranked = rank(retriever, [Query(text, 5, **options) for text in TEXTS])
    for at, (items, scores) in enumerate(retriever.rank_many(TEXTS, 5, **options)):
        assert ranked.row(at)[0].tolist() == items.tolist()
        np.testing.assert_allclose(ranked.row(at)[1], scores, rtol=1e-6)
    with pytest.raises(RarsError, match="no option 'colour'"):
        search(retriever, "mug", colour="red")
