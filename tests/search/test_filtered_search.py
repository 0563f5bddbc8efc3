"""Filtering is part of the search: it equals filtering all scores, and k come back if k exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.baselines import running
from rars.config import Recipe
from rars.errors import FilterError
from rars.identifiers.towers import Held
from rars.runs import Run
from rars.search.beam import NOTHING, beam_search
from rars.search.evidence import Ancestry, Evidence
from rars.search.evidence.parts import Bound
from rars.search.exact import exact_search
from rars.search.restrictions import Narrow
from rars.search.routing import Matching
from rars.search.rules import plan
from rars.systems import Query, search
from rars.tree import PrefixTree
from tests.search.test_exact import catalogues
from tests.search.worlds import QUERIES, World

FILTERS = [
    "color = black",
    "color != black",
    "brand EXISTS AND material : co",
    "color IN (white, blue) OR pack = 'pack of 2'",
    "category = 'Kitchen & Dining' AND NOT color = black",
    "id = P0000007",
    "color = black AND color = white",
]
TEXTS = ["black bottle 0.75 l", "running shoes", "gift for my sister"]
RULES = ["ar", "all", "hybrid", "010"]


# -- any tree, any marks ---------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(catalogues(), st.data())
def test_counts_of_marked_items_below_every_prefix(catalogue, data):
    codes, seed = catalogue
    tree = PrefixTree.build(codes)
    marks = np.random.default_rng(seed).random(len(codes)) < data.draw(st.floats(0, 1))
    found = Matching.of(tree, marks)
    assert len(found) == marks.sum()
    assert found.has(np.arange(len(codes))).tolist() == marks.tolist()
    for depth in range(tree.depth + 1):
        expected = [marks[tree.items_below(depth, u)].sum() for u in range(tree.n_nodes(depth))]
        nodes = np.arange(tree.n_nodes(depth))
        assert found.count(depth, nodes).tolist() == expected
        if depth:
            assert found.allows(depth - 1, nodes, nodes).tolist() == [n > 0 for n in expected]
    assert found.leaves == sum(n > 0 for n in expected)


@settings(max_examples=150, deadline=None)
@given(catalogues(), st.integers(0, 3), st.booleans(), st.booleans())
def test_maxima_of_evidence_are_those_of_marked_items(catalogue, kind, dips, bound):
    """Dense, crowded, sparse or nothing listed; with scores below the baseline and without."""
    codes, seed = catalogue
    tree, rng = PrefixTree.build(codes), np.random.default_rng(seed)
    items = len(codes)
    marks = rng.random(items) < 0.6
    listed = np.flatnonzero(rng.random(items) < (1.0, 0.7, 0.3, 0.0)[kind])
    baseline = -0.5
    scores = rng.normal(size=len(listed)) if dips else rng.random(len(listed)) + baseline
    ancestry = Ancestry.of(tree)
    evidence = Evidence.sparse(ancestry, listed, scores, baseline)
    if kind == 0:
        evidence = Evidence.from_dense(ancestry, scores)
    dense = evidence.dense()
    left = (Bound.on(evidence) if bound else evidence).among(marks)
    assert isinstance(left, Bound) == bound

    def naive(depth, node):
        low, high = (int(one) for one in tree.item_ranges(depth, node))
        return dense[low:high][marks[low:high]].max(initial=-np.inf)

    for depth in range(1, tree.depth + 1):
        for node in range(tree.n_nodes(depth)):
            best = naive(depth, node)
            if best == -np.inf:
                continue  # not legal: nobody asks
            if bound and depth > 1:
                best -= naive(depth - 1, int(tree.parents(depth, np.array([node]))[0]))
            assert left.prefix_maxima(depth, [node])[0] == pytest.approx(best)
    inside = np.flatnonzero(marks)
    np.testing.assert_array_equal(left.at(inside), dense[inside])


@pytest.mark.usefixtures("float64")
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@settings(max_examples=40, deadline=None)
@given(catalogues(), st.sampled_from(["depth", "children"]), st.booleans(), st.floats(0.1, 1.0))
def test_a_filtered_search_is_the_exact_scorers_list_filtered(
    catalogue, normaliser, evidence, share
):
    """One plain path at a time: every identifier that holds a match, evidence of matching items alone."""
    torch.set_default_dtype(torch.float64)
    codes, seed = catalogue
    world = World(codes, seed, normaliser=normaliser, evidence=evidence)
    marks = np.random.default_rng(seed + 1).random(len(codes)) < share
    matching = Matching.of(world.tree, marks)
    guide = replace(
        world.guide,
        admitted=matching,
        evidence=[
            None if one is None else one.among(matching.marks) for one in world.guide.evidence
        ],
    )
    world.scores[:, ~marks] = -np.inf
    leaves = world.tree.leaves_of(np.flatnonzero(marks))
    world.allowed[:] = False
    world.allowed[:, leaves] = True
    for how in (exact_search, beam_search):
        found = world.search(how, guide, width=world.tree.n_leaves)
        for query in range(QUERIES):
            expected = world.one_by_one(query)
            kept = found.leaves[query][found.leaves[query] != NOTHING]
            assert sorted(kept.tolist()) == sorted(expected)
            scores = found.scores[query][: len(kept)]
            np.testing.assert_allclose([expected[one] for one in kept.tolist()], scores, atol=1e-6)
    # A narrow beam still fills up: each prefix it keeps leads to a match.
    width = 1 + seed % 4
    narrow = world.search(beam_search, guide, width=width)
    for row in narrow.leaves:
        kept = row[row != NOTHING]
        assert len(kept) == min(width, matching.leaves)
        assert set(kept.tolist()) <= set(leaves.tolist())


# -- the tiny shop ---------------------------------------------------------------------------------


def everything(retriever, text, rule):
    """Model terms (items, depth) and evidence (items,) of every item, from an exact search unfiltered."""
    n = len(retriever)
    [answer] = retriever.answer(
        [Query(text, n, rule=rule, categories="all", exact=True, explain=True)]
    )
    made = plan(rule, retriever.tree.depth, retriever.planner.own)
    model = np.zeros((n, retriever.tree.depth))
    evidence = np.zeros(n)
    for item, why in zip(answer.items.tolist(), answer.explanations, strict=True):
        model[item] = [step.model for step in why.steps]
        evidence[item] = sum(made.evidence.get(name, 0) * v for name, v in why.parts.items())
    return made, model, evidence


def naively(retriever, made, model, evidence, marks):
    """The score of every marked item: its model terms, and maxima over the marked items of its prefixes."""
    codes = np.asarray(retriever.index.codes)
    scores = {}
    for item in np.flatnonzero(marks).tolist():
        total = model[item].sum()
        for depth, counts in enumerate(made.mask):
            if counts and made.guides:
                below = (codes[:, : depth + 1] == codes[item, : depth + 1]).all(axis=1) & marks
                total += made.weight * evidence[below].max()
        scores[item] = total
    return scores


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_what_filtering_all_scores_finds(retriever, rule):
    for text in TEXTS[:2]:
        known = everything(retriever, text, rule)
        for asked in FILTERS:
            marks = retriever.catalogue.columns.marks(asked)
            expected = naively(retriever, *known, marks)
            for exact in (True, False):
                [found] = retriever.answer(
                    [Query(text, 300, rule=rule, categories="all", exact=exact, filter=asked)]
                )
                assert sorted(found.items.tolist()) == sorted(expected), (text, asked)
                np.testing.assert_allclose(
                    [expected[item] for item in found.items.tolist()], found.scores, atol=2e-4
                )
                assert (np.diff(found.scores) <= 0).all()


def test_under_the_model_alone_a_filter_leaves_the_order_and_the_scores(retriever):
    for text in TEXTS:
        [every] = retriever.answer([Query(text, 300, rule="ar", categories="all", exact=True)])
        for asked in FILTERS:
            stays = retriever.catalogue.columns.marks(asked)[every.items]
            [found] = retriever.answer(
                [Query(text, 300, rule="ar", categories="all", exact=True, filter=asked)]
            )
            assert found.items.tolist() == every.items[stays].tolist()
            np.testing.assert_allclose(found.scores, every.scores[stays], atol=1e-5)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 3, 40])
def test_k_come_back_if_k_exist_though_the_beam_is_narrow_and_routed(retriever, rule, k):
    narrow = replace(retriever, settings=retriever.settings.model_copy(update={"width": 2}))
    queries = [Query(text, k, rule=rule, filter=asked) for text in TEXTS for asked in FILTERS]
    for query, found in zip(queries, narrow.answer(queries), strict=True):
        marks = retriever.catalogue.columns.marks(query.filter)
        assert len(found) == min(k, marks.sum()), query
        assert marks[found.items].all()
        assert len(set(found.items.tolist())) == len(found)


def test_deny_lists_and_allow_lists_are_filters_too(retriever):
    ids = np.array(retriever.catalogue.ids.to_pylist())
    marks = retriever.catalogue.columns.marks("color = black")
    for rule in RULES:
        by_filter, by_allow, by_deny = retriever.answer(
            [
                Query("bottle", 9, rule=rule, filter="color = black"),
                Query("bottle", 9, rule=rule, allow=ids[marks].tolist()),
                Query("bottle", 9, rule=rule, deny=ids[~marks].tolist()),
            ]
        )
        assert by_filter.items.tolist() == by_allow.items.tolist() == by_deny.items.tolist()
        np.testing.assert_allclose(by_filter.scores, by_deny.scores, atol=1e-5)


def test_an_explained_prefix_names_an_item_that_may_be_found(retriever):
    hits = retriever.search("black bottle", 5, rule="hybrid", filter="color != black", explain=True)
    ids = retriever.catalogue.ids.to_pylist()
    marks = retriever.catalogue.columns.marks("color != black")
    for hit in hits:
        assert sum(step.term for step in hit.explanation.steps) == pytest.approx(
            hit.score, abs=1e-4
        )
        assert all(marks[ids.index(step.best_id)] for step in hit.explanation.steps)


def test_more_categories_are_chosen_only_where_those_few_hold_too_little(retriever):
    def chosen(**options):
        [hit, *_] = retriever.search(TEXTS[0], rule="ar", explain=True, **options)
        return [path for path, _ in hit.explanation.categories]

    plain = chosen(k=10)
    assert len(plain) == 3
    assert chosen(k=1, filter="id EXISTS") == plain
    assert len(chosen(k=60, filter="color EXISTS")) > 3
    assert len(chosen(k=60, filter="color EXISTS", categories=2)) == 2, "what is asked for stays"


def test_filters_are_kept_for_a_version_and_errors_are_not(retriever):
    narrow = Narrow(filter="color = black")
    assert retriever.planner.matching(narrow) is retriever.planner.matching(
        Narrow(filter="color = black")
    )
    for _ in range(2):
        with pytest.raises(FilterError, match="character 1: there is no column 'prise'"):
            retriever.search("mug", filter="prise < 3")


# -- other systems ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dataset(trained):
    return Run.open(trained).dataset()


@pytest.mark.parametrize("name", ["bm25", "dense", "fusion"])
def test_a_comparison_system_finds_what_filtering_all_its_scores_finds(
    dataset, tmp_path, monkeypatch, name
):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    changes = ["fusion.depth=300"] if name == "fusion" else []
    recipe = Recipe.resolve(name, changes=changes)
    run = Run.start(tmp_path / "run", recipe, dataset)
    running.make(run, recipe, dataset, Held(dataset.queries_in("validation"), lambda found: 0.0))
    system = running.Baseline.load(run.folder)
    columns = system.catalogue.columns
    ids = np.array(system.catalogue.ids.to_pylist())
    for text in TEXTS:
        [every] = system.answer([Query(text, 300)])
        for asked in FILTERS[:5]:
            marks = columns.marks(asked)
            [found] = system.answer([Query(text, 300, filter=asked)])
            stays = marks[every.items]
            assert sorted(found.items.tolist()) == sorted(every.items[stays].tolist())
            if name != "fusion":  # whose scale is that of the items it adds up
                assert found.items.tolist() == every.items[stays].tolist()
                np.testing.assert_array_equal(found.scores, every.scores[stays])
            [few] = system.answer([Query(text, 5, deny=ids[~marks].tolist())])
            assert len(few) == min(5, stays.sum())
            assert marks[few.items].all()
    hits = search(system, "bottle", 3, category="Kitchen & Dining")
    assert {hit.category[0] for hit in hits} == {"Kitchen & Dining"}
    with pytest.raises(FilterError, match="character 1: there is no column"):
        search(system, "bottle", filter="prise < 3")
