"""Looking at few items: what cells and a pass down the tree find, and searches that look at no others."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.disk import digest_file
from rars.errors import RarsError
from rars.identifiers.naive import RandomDigits
from rars.identifiers.residual import ResidualQuantizer
from rars.pipeline.catalogue import apply
from rars.runs import Run
from rars.search.candidates import CellCandidates, TreeCandidates, looked_beside, nearest
from rars.search.cells import NAMES, Cells
from rars.search.evidence import parts
from rars.search.index import build_index
from rars.search.retriever import Retriever
from rars.search.routing import Matching
from rars.search.vectors import Vectors
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
    cells, own = Cells.of(vectors[30:], [vectors[30:50], vectors[50:]], max(2, items // 20))
    rows = np.concatenate([np.arange(30), 30 + own]).astype(np.int32)
    segments = (vectors[:30], vectors[30:][np.argsort(own)])
    stored = Vectors(("a", "b"), segments, rows, cells=(None, cells))
    return tree, ResidualQuantizer(books), stored, rng.normal(size=(3, 6)).astype(np.float32)


def candidates(way, tree, quantizer, vectors, reach):
    if way == "cells":
        return CellCandidates(tree, vectors, reach)
    return TreeCandidates.of(tree, quantizer, reach)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 100), st.booleans(), st.booleans())
def test_what_is_reached_may_be_found_and_is_scored_by_its_own_vector(seed, reach, extra, narrow):
    tree, quantizer, vectors, queries = catalogue(seed, extra=extra)
    near = TreeCandidates.of(tree, quantizer, reach)
    marks = np.random.default_rng(seed).random(tree.n_items) < 0.4
    only = Matching.of(tree, marks) if narrow else None
    every = np.concatenate(vectors.segments)[vectors.rows]
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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 100), st.booleans())
def test_cells_find_what_may_be_found_and_all_that_is_in_no_cell(seed, reach, narrow):
    tree, _, vectors, queries = catalogue(seed)
    near = CellCandidates(tree, vectors, reach)
    marks = np.random.default_rng(seed).random(tree.n_items) < 0.4
    only = Matching.of(tree, marks) if narrow else None
    for query, places in zip(queries, near.positions(queries, [only] * 3), strict=True):
        assert (np.diff(places) > 0).all()
        rows = tree.order[places]
        if narrow:
            assert marks[rows].all()
            assert marks.sum() > reach or len(places) == marks.sum()
            continue
        assert np.isin(np.arange(30), rows).all()  # the first segment has no cells
        listed, celled = vectors.cells[1], vectors.rows[rows[rows >= 30]] - 30
        # Whole cells, the best first, until there are enough.
        order = np.argsort(-(listed.centroids @ query), kind="stable")
        cells = np.split(np.arange(len(vectors.segments[1])), listed.starts[1:-1])
        sizes = np.cumsum([len(cells[one]) for one in order])
        taken = [cells[one] for one in order[: np.searchsorted(sizes, reach) + 1]]
        np.testing.assert_array_equal(np.sort(celled), np.sort(np.concatenate(taken)))


def test_items_that_are_gone_are_not_found():
    tree, _, vectors, queries = catalogue(3)
    less = PrefixTree.build(np.random.default_rng(0).integers(0, 4, (tree.n_items // 2, 3)))
    half = replace(vectors, rows=vectors.rows[::2])
    near = CellCandidates(less, half, 10_000)
    assert near.positions(queries)[0].tolist() == list(range(less.n_items))


@pytest.mark.parametrize("way", ["cells", "tree"])
def test_as_an_index_it_finds_the_nearest(way):
    tree, quantizer, vectors, queries = catalogue(0, items=2000)
    every = np.concatenate(vectors.segments)[vectors.rows]
    exact = np.argsort(-(queries @ every.T), axis=1)[:, :20]
    for reach, least in ((2000, 1.0), (200, 0.9)):
        near = candidates(way, tree, quantizer, vectors, reach)
        found = nearest(near, tree, vectors, queries, 20)
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
        found = {name: part for name, _, part in weighed.parts}
        dense = found["dense"]
        assert dense.positions is not None
        assert 0 < len(dense.positions) <= 20 + looked_beside(narrow.near)
        items = narrow.tree.order[dense.positions]
        exact = narrow.index.vectors.scores(vectors[row : row + 1])[0]
        np.testing.assert_allclose(dense.scores, exact[items], atol=1e-5)
        assert dense.baseline == dense.scores.min()
        # What words put first is looked at, too.
        bm25 = found["bm25"].of(np.arange(len(narrow)))
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


# -- long lists ------------------------------------------------------------------------------------


def test_lists_that_are_long_are_looked_up_and_change_nothing_for_what_is_looked_at(
    ways, monkeypatch
):
    before = [way.rank_many(TEXTS, 100, rule="hybrid") for way in ways[:2]]
    monkeypatch.setattr(parts, "LONG", 5)
    after = ways[1].rank_many(TEXTS, 100, rule="hybrid")  # its pass reaches everything
    for whole, short, long in zip(*before, after, strict=True):
        assert whole[0].tolist() == short[0].tolist() == long[0].tolist()
        np.testing.assert_allclose(short[1], long[1], atol=1e-4)


def test_long_lists_count_for_the_items_that_are_looked_at_alone(ways, monkeypatch):
    narrow, index = ways[2], ways[2].index.evidence
    monkeypatch.setattr(parts, "LONG", 5)
    readied = narrow.readied([Query(text, rule="hybrid") for text in TEXTS])
    seen = 0
    for text, weighed in zip(TEXTS, readied.weighed, strict=True):
        found = {name: part for name, _, part in weighed.parts}
        for name, total in (("bm25", index.bm25_sum(text)), ("f", index.compatibility_sum(text))):
            if len(total) <= 5:
                continue
            seen += 1
            np.testing.assert_array_equal(found[name].positions, found["dense"].positions)
            exact = total.whole().at(found[name].positions)
            largest = exact.max(initial=0.0) or 1.0 if total.divided else 1.0
            np.testing.assert_allclose(found[name].scores, exact / largest, atol=1e-9)
    assert seen > 3


def test_without_vectors_nothing_is_left_out(ways, monkeypatch):
    narrow, index = ways[2], ways[2].index.evidence
    monkeypatch.setattr(parts, "LONG", 5)
    text = TEXTS[0]
    asked = parts.AskedOf(index, None, [text], [None], near=narrow.near)
    [weighed] = parts.weigh(asked, {"bm25": 0.5, "f": 0.25, "dense": 0.25})
    whole = 0.5 * index.bm25(text).dense() + 0.25 * index.compatibility(text).dense()
    np.testing.assert_allclose(weighed.evidence.dense(), whole)


# -- cells on disk ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def celled(practical, tmp_path_factory):
    """The run with an index that has cells."""
    folder = shutil.copytree(practical, tmp_path_factory.mktemp("cells") / "run")
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('candidates = "auto"', 'candidates = "cells"'))
    build_index(Run.open(folder))
    return folder


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_cells_that_hold_everything_change_nothing(ways, celled, rule):
    loaded = looking(Retriever.load(celled), reach=500)
    assert isinstance(loaded.near, CellCandidates)
    assert loaded.facts()["search"]["candidates"] == "cells"
    pairs = (way.rank_many(TEXTS, 100, rule=rule) for way in (ways[0], loaded))
    for a, b in zip(*pairs, strict=True):
        assert a[0].tolist() == b[0].tolist()
        np.testing.assert_allclose(a[1], b[1], atol=1e-4)


def test_cells_stay_with_their_vectors_when_the_catalogue_changes(celled, tmp_path):
    run = shutil.copytree(celled, tmp_path / "run")
    before = Retriever.load(run)
    apply(run, [{"id": "N1", "title": "Zyxquor lamp"}, {"id": "P0000004", "delete": True}])
    after = Retriever.load(run)
    old, new = before.index.vectors.cells, after.index.vectors.cells
    assert (len(old), len(new)) == (1, 2)
    np.testing.assert_array_equal(old[0].starts, new[0].starts)
    found = looking(after, reach=20).search("zyxquor lamp", 5, rule="hybrid")
    assert found[0].item_id == "N1"


@pytest.mark.parametrize("part", range(2))
def test_cells_of_other_vectors_are_refused(celled, tmp_path, part):
    run = shutil.copytree(celled, tmp_path / "run")
    [version] = (run / "index").glob("v*2")
    [path] = version.glob(f"*{NAMES[part]}.npy")
    values = np.load(path)
    np.save(path, values[:-1] if part else values[:, :-1])
    sealed = version / "manifest.json"
    manifest = json.loads(sealed.read_text())
    manifest["files"][path.name] = {"sha256": digest_file(path), "bytes": path.stat().st_size}
    sealed.write_text(json.dumps(manifest))
    with pytest.raises(RarsError, match="vectors are not those of its items"):
        Retriever.load(run)
