"""Looking at few items: what a pass down the tree reaches, and searches whose evidence lists no others."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.identifiers.naive import RandomDigits
from rars.identifiers.residual import ResidualQuantizer
from rars.search.candidates import TreeCandidates
from rars.search.retriever import Retriever
from rars.search.routing import Matching
from rars.search.store import Vectors
from rars.search.why_not import why_not
from rars.systems import Query
from rars.tree import END, PrefixTree

TEXTS = ["black bottle 0.75 l", "running shoes", "gift for my sister", "zzqx"]


def catalogue(seed, items=80, extra=False):
    """Vectors near the sums of their codewords; ``extra``: one more code, which tells items apart."""
    rng = np.random.default_rng(seed)
    books = tuple(rng.normal(size=(4, 6)).astype(np.float32) / (d + 1) for d in range(3))
    codes = rng.integers(0, 4, (items, 3))
    vectors = sum(books[d][codes[:, d]] for d in range(3))
    vectors = (vectors + 0.05 * rng.normal(size=(items, 6))).astype(np.float32)
    if extra:
        codes = np.hstack([codes, rng.integers(0, 3, (items, 1))])
        codes[::7, 3] = END
    tree = PrefixTree.build(codes)
    stored = Vectors(("a", "b"), (vectors[:30], vectors[30:]), np.arange(items, dtype=np.int32))
    return tree, ResidualQuantizer(books), stored, rng.normal(size=(3, 6)).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 100), st.booleans(), st.booleans())
def test_what_is_reached_may_be_found_and_is_scored_by_its_own_vector(seed, reach, extra, narrow):
    tree, quantizer, vectors, queries = catalogue(seed, extra=extra)
    near = TreeCandidates.of(tree, quantizer, reach)
    marks = np.random.default_rng(seed).random(tree.n_items) < 0.4
    only = Matching.of(tree, marks) if narrow else None
    every = np.concatenate(vectors.segments)
    for query, places in zip(queries, near.positions(queries, [only] * 3), strict=True):
        assert (np.diff(places) > 0).all()
        assert len(places) <= reach
        if narrow:
            assert marks[tree.order[places]].all()
            assert len(places) or not marks.any()
            if marks.sum() <= reach:
                assert len(places) == marks.sum()
        elif reach >= tree.n_items:
            assert len(places) == tree.n_items
        rows = tree.order[places]
        np.testing.assert_allclose(vectors.scores_of(query, rows), every[rows] @ query, atol=1e-5)


def test_as_an_index_it_finds_the_nearest():
    tree, quantizer, vectors, queries = catalogue(0, items=2000)
    exact = np.argsort(-(queries @ np.concatenate(vectors.segments).T), axis=1)[:, :20]
    for reach, least in ((2000, 1.0), (200, 0.9)):
        near = TreeCandidates.of(tree, quantizer, reach)
        found = near.search(vectors, queries, 20)
        shares = [np.isin(exact[row], items).mean() for row, (items, _) in enumerate(found)]
        assert np.mean(shares) >= least
        assert all((np.diff(scores) <= 0).all() for _, scores in found)


def test_codes_that_say_nothing_about_vectors_cannot_be_walked():
    tree, _, _, _ = catalogue(0)
    assert not RandomDigits.additive
    assert TreeCandidates.of(tree, RandomDigits(3, seed=0), 10) is None


# -- searches --------------------------------------------------------------------------------------


def looking(retriever, **changes):
    return replace(retriever, settings=retriever.settings.model_copy(update=changes))


@pytest.fixture(scope="module")
def ways(practical):
    """The same run looking at all items, at those a pass of 500 reaches (all of them), and at 20."""
    loaded = Retriever.load(practical)
    return (
        looking(loaded, candidates="all"),
        looking(loaded, candidates="tree", reach=500),
        looking(loaded, candidates="tree", reach=20),
    )


def test_small_catalogues_look_at_everything_unless_told_otherwise(practical, ways):
    loaded = Retriever.load(practical)
    assert loaded.near is None
    assert "candidates" not in loaded.facts()["search"]
    assert ways[2].facts()["search"]["reach"] == 20


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_a_pass_that_reaches_everything_changes_nothing(ways, rule):
    for a, b in zip(*(way.rank_many(TEXTS, 100, rule=rule) for way in ways[:2]), strict=True):
        assert a[0].tolist() == b[0].tolist()
        np.testing.assert_allclose(a[1], b[1], atol=1e-4)


def test_listed_items_have_exact_scores_and_all_others_the_lowest_of_them(ways):
    _, _, narrow = ways
    readied = narrow.readied([Query(text, rule="hybrid") for text in TEXTS])
    vectors = narrow.reader.vectors(TEXTS)
    for row, weighed in enumerate(readied.weighed):
        parts = {name: part for name, _, part in weighed.parts}
        dense = parts["dense"]
        assert dense.positions is not None
        assert 0 < len(dense.positions) <= 20 + narrow.near.told
        items = narrow.tree.order[dense.positions]
        exact = narrow.index.vectors.scores(vectors[row : row + 1])[0]
        np.testing.assert_allclose(dense.scores, exact[items], atol=1e-5)
        assert dense.baseline == dense.scores.min()
        # What words put first is looked at, too.
        bm25 = parts["bm25"].of(np.arange(len(narrow)))
        assert not bm25.any() or np.isin(bm25.argmax(), items)


@pytest.mark.parametrize("reach", [20, 500])
def test_filters_and_lists_find_all_they_allow(ways, reach):
    whole, narrow = ways[0], looking(ways[0], candidates="tree", reach=reach)
    ids = whole.catalogue.ids.to_pylist()
    for options in ({"allow": ids[:15]}, {"deny": ids[15:]}, {"allow": ids[:120]}):
        for text in TEXTS:
            a, b = (way.search(text, 10, rule="hybrid", **options) for way in (whole, narrow))
            assert len(b) == len(a) == 10
            if reach > 120 or len(options.get("allow", ids)) <= 20:
                assert [hit.item_id for hit in a] == [hit.item_id for hit in b]


def test_nothing_to_find_is_nothing(ways):
    assert len(ways[2].search("black bottle", 5, rule="hybrid", allow=["no such item"])) == 0


def test_explanations_add_up_and_why_not_agrees(ways):
    narrow = ways[2]
    for text in TEXTS:
        hits = narrow.search(text, 10, rule="hybrid", explain=True)
        for hit in hits:
            assert sum(step.term for step in hit.explanation.steps) == pytest.approx(
                hit.score, abs=1e-5
            )
        for rank, hit in enumerate(hits, 1):
            why = why_not(narrow, Query(text, 10, rule="hybrid"), hit.item_id)
            assert (why.reason, why.rank) == ("found", rank)
        lost = next(
            i for i in narrow.catalogue.ids.to_pylist() if i not in {h.item_id for h in hits}
        )
        assert why_not(narrow, Query(text, 10, rule="hybrid"), lost).reason in ("pruned", "below")


def test_beam_and_exact_search_agree(ways):
    beam, exact = (
        ways[2].rank_many(TEXTS, 300, rule="hybrid", exact=exact) for exact in (False, True)
    )
    for (items, scores), (same, others) in zip(beam, exact, strict=True):
        assert items.tolist() == same.tolist()
        np.testing.assert_allclose(scores, others, atol=1e-4)


def test_a_batch_is_answered_as_its_queries_are_alone(ways):
    together = ways[2].rank_many(TEXTS, 50, rule="hybrid")
    for text, (items, _) in zip(TEXTS, together, strict=True):
        assert ways[2].rank_many([text], 50, rule="hybrid")[0][0].tolist() == items.tolist()


def test_a_recipe_may_say_so(practical, tmp_path):
    run = shutil.copytree(practical, tmp_path / "run")
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('candidates = "auto"', 'candidates = "tree"'))
    assert Retriever.load(run, verify=False).near is not None
