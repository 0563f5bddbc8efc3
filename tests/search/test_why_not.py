"""Why an item is not shown is what a beam traced by hand shows: same code, same rank, same scores."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from rars.baselines import running
from rars.config import Recipe
from rars.errors import RarsError
from rars.identifiers.towers import Held
from rars.runs import Run
from rars.search.why_not import why_not
from rars.systems import Query
from tests.search.test_filtered_search import everything
from tests.search.test_retriever import SHARED
from tests.search.trained import make_run

CLOSE = 1e-3
"""Scores nearer than this may change places between two ways to compute them."""


class Traced:
    """A beam in plain Python: dictionaries of prefixes, sorted lists, nothing shared with the search."""

    def __init__(self, retriever, text, rule, width, known):
        made, model, evidence = known
        codes = [tuple(row) for row in np.asarray(retriever.index.codes).tolist()]
        self.codes, self.lost, self.scores, self.cutoff = codes, {}, {}, {}
        prefix_score = {(): 0.0}
        kept = [()]
        for depth in range(retriever.tree.depth):
            offered = {}
            for item, code in enumerate(codes):
                if code[:depth] in kept:
                    prefix = code[: depth + 1]
                    below = [n for n, other in enumerate(codes) if other[: depth + 1] == prefix]
                    gain = model[item][depth]
                    if made.guides and made.mask[depth]:
                        gain += made.weight * max(evidence[n] for n in below)
                    offered[prefix] = prefix_score[code[:depth]] + gain
            order = sorted(offered, key=lambda one: (-offered[one], one))
            kept = order[:width]
            prefix_score = offered
            self.cutoff[depth + 1] = offered[kept[-1]]
            for place, prefix in enumerate(order):
                self.scores[prefix] = offered[prefix], place + 1, len(order)
                if place >= width:
                    self.lost[prefix] = depth + 1
        ranked = []
        for prefix in kept:
            own = [n for n, code in enumerate(codes) if code == prefix]
            if made.guides:
                own.sort(key=lambda n: (-evidence[n], n))
            ranked += [(n, prefix_score[prefix]) for n in own]
        self.ranked = ranked

    def of(self, item):
        """The depth at which an item was lost, or None and its rank."""
        for depth in range(1, len(self.codes[item]) + 1):
            if self.codes[item][:depth] in self.lost:
                return self.lost[self.codes[item][:depth]], None
        return None, 1 + [n for n, _ in self.ranked].index(item)


@pytest.fixture(scope="module")
def judged(trained):
    """Every judged query of the tiny shop's test split, and its relevant items."""
    dataset = Run.open(trained).dataset()
    query, item, _ = dataset.positives("test")
    texts = dataset.query_texts.to_pylist()
    found = {}
    for q, i in zip(query.tolist(), item.tolist(), strict=True):
        found.setdefault(texts[q], []).append(i)
    return found


@pytest.mark.parametrize(("rule", "width"), [("ar", 5), ("all", 12), ("hybrid", 12), ("011", 40)])
def test_every_judged_item_that_a_search_misses_was_lost_where_it_says(
    retriever, judged, rule, width
):
    narrow = retriever.with_width(width)
    ids = retriever.catalogue.ids.to_pylist()
    reasons = Counter()
    for text, items in list(judged.items())[:7]:
        traced = Traced(retriever, text, rule, width, everything(retriever, text, rule))
        query = Query(text, 5, rule=rule, categories="all")
        [answer] = narrow.answer([query])
        for item in items:
            why = why_not(narrow, query, ids[item])
            depth, rank = traced.of(item)
            reasons[why.reason] += 1
            assert (why.reason == "found") == (item in answer.items)
            if why.reason == "pruned":
                prefix = traced.codes[item][: why.depth]
                score, place, offered = traced.scores[prefix]
                cutoff = traced.cutoff[why.depth]
                if depth != why.depth:
                    assert abs(score - cutoff) < CLOSE
                    continue
                assert why.score == pytest.approx(score, abs=CLOSE)
                assert why.needed == pytest.approx(cutoff, abs=CLOSE)
                step = why.steps[why.depth - 1]
                assert (step.kept, step.candidates) == (False, offered)
                assert abs(step.rank - place) <= 1
                assert all(one.kept for one in why.steps[: why.depth - 1])
                assert all(one.rank is None for one in why.steps[why.depth :])
                assert [one.rank for one in why.beaten_by][-1] == min(width, offered)
                assert why.beaten_by[-1].score == pytest.approx(cutoff, abs=CLOSE)
                assert f"at code {depth} of 3" in why.sentence
            else:
                assert depth is None
                score = dict(traced.ranked)[item]
                assert why.score == pytest.approx(score, abs=CLOSE)
                near = sum(abs(other - score) < CLOSE for _, other in traced.ranked)
                assert abs(why.rank - rank) < near
                if why.reason == "below":
                    assert why.rank > 5
                    assert why.needed == pytest.approx(traced.ranked[4][1], abs=CLOSE)
                    assert [one.rank for one in why.beaten_by] == [1, 2, 3, 5]
            total = sum(step.model + step.evidence for step in why.steps[: why.depth])
            assert why.score == pytest.approx(total, abs=CLOSE)
    assert reasons["pruned"], reasons
    assert reasons["found"], reasons


def test_an_item_outside_the_chosen_categories_is_said_to_be(retriever, judged):
    ids = retriever.catalogue.ids.to_pylist()
    paths = retriever.catalogue.paths().to_pylist()
    seen = Counter()
    for text, items in judged.items():
        query = Query(text, 5, rule="ar")
        [hit] = retriever.search(text, 1, rule="ar", explain=True)
        chosen = [path for path, _ in hit.explanation.categories]
        for item in items:
            why = why_not(retriever, query, ids[item])
            seen[why.reason] += 1
            # The tiny shop's identifiers are unique, so an item is admitted by its own category alone.
            assert (why.reason == "routed") == (paths[item] not in chosen)
            if why.reason == "routed":
                assert [one.path for one in why.categories] == chosen
                assert [one.rank for one in why.categories] == [1, 2, 3]
                assert why.category.path == paths[item]
                assert why.category.rank > 3
                assert why.category.probability <= why.categories[-1].probability
    assert seen["routed"]


def test_the_clause_that_leaves_an_item_out_is_named(retriever):
    asked = "color = black AND (brand = x OR material : steel) AND id EXISTS"
    why = why_not(retriever, Query("mug", filter=asked), "P0000001")
    assert (why.reason, why.because) == ("filtered", "filter")
    assert [clause.text for clause in why.clauses] == [
        "color = black",
        "(brand = x OR material : steel)",
    ]
    assert why.clauses[0].values == {"color": ["white"]}
    assert "its color is white" in why.sentence
    assert "it has no material" in why.sentence
    why = why_not(
        retriever, Query("mug", deny=["P0000001"], category="Kitchen & Dining"), "P0000001"
    )
    assert [clause.kind for clause in why.clauses] == ["category", "deny"]
    why = why_not(retriever, Query("mug", allow=["P0000002"]), "P0000001")
    assert "it is not on the list of items to allow" in why.sentence


def test_an_item_that_is_there_or_nowhere_is_said_to_be(retriever):
    first = retriever.search("black bottle", 3, rule="hybrid")[1]
    why = why_not(retriever, Query("black bottle", 3, rule="hybrid"), first.item_id)
    assert (why.reason, why.rank) == ("found", 2)
    assert why.score == pytest.approx(first.score, abs=1e-4)
    for wrong in ("nowhere", "", "\ud800"):
        why = why_not(retriever, Query("mug"), wrong)
        assert why.reason == "unknown"
        assert str(why) == f"There is no item {wrong!r} in the catalogue."
    with pytest.raises(RarsError, match="The query is empty"):
        why_not(retriever, Query(" "), "P0000001")


def test_an_exact_search_prunes_nothing(retriever):
    query = Query("black bottle", 3, rule="all", categories="all", exact=True)
    [every] = retriever.answer([replace(query, k=300)])
    ids = retriever.catalogue.ids.to_pylist()
    for place in (40, 290):
        why = why_not(retriever, query, ids[every.items[place]])
        assert (why.reason, why.rank) == ("below", place + 1)
        assert why.needed == pytest.approx(float(every.scores[2]), abs=1e-4)


def test_what_is_said_are_plain_json_values(retriever):
    for asked in (Query("bottle", 1, rule="hybrid"), Query("bottle", 1, filter="color = black")):
        why = why_not(retriever.with_width(3), asked, "P0000001")
        told = json.loads(json.dumps(why.as_dict()))
        assert told["reason"] == why.reason
        assert told["sentence"].endswith(".")
        assert "\n" not in told["sentence"]


def test_items_that_share_an_identifier_stand_in_an_order_that_is_told(trained):
    shared = make_run(trained.parent, "shared-why", *SHARED)
    from rars.search.retriever import Retriever

    retriever = Retriever.load(shared)
    ids = retriever.catalogue.ids.to_pylist()
    [answer] = retriever.answer([Query("running shoes", 300, rule="ar")])
    leaves = retriever.tree.leaves_of(answer.items)
    at = next(n for n in range(1, 300) if leaves[n] == leaves[n - 1])
    why = why_not(retriever, Query("running shoes", at, rule="ar"), ids[answer.items[at]])
    assert (why.reason, why.because, why.rank) == ("below", "order", at + 1)
    assert "both have the same identifier, whose items stand as in the catalogue" in why.sentence
    assert why.shares == (leaves == leaves[at]).sum() - 1


@pytest.mark.parametrize("name", ["bm25", "dense"])
def test_another_system_says_the_rank_and_the_score_that_is_needed(
    trained, tmp_path, monkeypatch, name
):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    dataset = Run.open(trained).dataset()
    recipe = Recipe.resolve(name)
    run = Run.start(tmp_path / "run", recipe, dataset)
    running.make(run, recipe, dataset, Held(dataset.queries_in("validation"), lambda found: 0.0))
    system = running.Baseline.load(run.folder)
    ids = system.catalogue.ids.to_pylist()
    [every] = system.answer([Query("black bottle", 300)])
    for rank in (1, 4, 30, len(every)):
        why = why_not(system, Query("black bottle", 3), ids[every.items[rank - 1]])
        assert (why.reason, why.rank) == ("found" if rank <= 3 else "below", rank)
        if rank > 3:
            assert why.needed == pytest.approx(float(every.scores[2]))
            assert why.score == pytest.approx(float(every.scores[rank - 1]))
            assert [one.rank for one in why.beaten_by] == [1, 2, 3]
    absent = sorted(set(range(300)) - set(every.items.tolist()))
    if absent:
        assert why_not(system, Query("black bottle", 3), ids[absent[0]]).reason == "unscored"
    why = why_not(system, Query("black bottle", 3, filter="color = black"), "P0000001")
    assert why.reason == "filtered"
    assert why_not(system, Query("mug"), "nowhere").reason == "unknown"
