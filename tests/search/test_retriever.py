"""Rules are what they say, restrictions hold, explanations add up, and threads do not meet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from rars.errors import RarsError
from rars.search.beam import Begun, Guide, beam_search, items_of
from rars.search.evidence import Evidence, combine
from rars.search.evidence.parts import Bound
from rars.search.retriever import Retriever
from rars.search.routing import Shared, admit_leaves
from rars.search.rules import HybridSettings, plan
from tests.search.trained import make_run

SHARED = (
    "model.categories=off",
    "objective.terms.category-class=false",
    "objective.terms.category-contrast=false",
    "identifiers.sizes=[8, 8]",
    "identifiers.collisions=share",
    "training.epochs=1",
)
TEXTS = ["black bottle 0.75 l", "running shoes", "gift for my sister", "usb c cable 2 m"]


def direct(retriever, text, k, **guide):
    """The same search by hand: encode, decode, expand."""
    normaliser = retriever.ready.architecture.normaliser
    with torch.inference_mode():
        encoded, projected = retriever.reader.encode([text])
        found = beam_search(
            retriever.ready.model,
            retriever.tree,
            retriever.ready.architecture.vocabulary,
            Begun.of(retriever.ready.model, encoded),
            projected=projected,
            width=100,
            guide=Guide(normaliser=normaliser, **guide),
        )
    order = guide.get("evidence", [None])[0] if any(guide.get("mask", ())) else None
    items, places = items_of(retriever.tree, found.leaves[0], k, order)
    return items.tolist(), found.scores[0][places].tolist()


def shown(retriever, hits):
    ids = retriever.index.items.ids.to_pylist()
    return [ids.index(hit.item_id) for hit in hits], [hit.score for hit in hits]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("rule", ["ar", "all", "010"])
def test_a_rule_is_a_mask_over_the_papers_evidence(retriever, text, rule):
    mask = {"ar": "000", "all": "111"}.get(rule, rule)
    evidence = [retriever.index.evidence.compatibility(text)]
    guide = {"evidence": evidence, "mask": tuple(c == "1" for c in mask), "weight": 2.0}
    expected = direct(retriever, text, 20, **guide)
    found = shown(retriever, retriever.search(text, 20, rule=rule, categories="all"))
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], abs=1e-5)


def test_hybrid_is_the_weighted_sum_of_all_evidence(retriever):
    text, hybrid = TEXTS[0], retriever.hybrid
    index, vectors = retriever.index.evidence, retriever.index.vectors
    asked = retriever.reader.vectors([text])
    dense = asked @ np.concatenate(vectors.segments)[vectors.rows].T
    evidence = combine(
        [
            (hybrid.bm25, index.bm25(text)),
            (hybrid.paper, index.compatibility(text)),
            (hybrid.dense, index.dense(dense[0])),
            (hybrid.neighbours, retriever.index.judged.evidence(asked, index.ancestry)[0]),
            (hybrid.letters, index.dense(retriever.catalogue.letters.likeness(text))),
        ]
    )
    guide = {"evidence": [evidence], "mask": (True,) * 3, "weight": hybrid.weight}
    expected = direct(retriever, text, 20, **guide)
    found = shown(retriever, retriever.search(text, 20, rule="hybrid"))
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], abs=1e-4)


def test_bounds_telescope_to_the_evidence_of_the_best_item_below(retriever):
    tree = retriever.tree
    scores = np.random.default_rng(0).normal(size=tree.n_items)
    plain = Evidence.from_dense(retriever.index.evidence.ancestry, scores)
    bound = Bound.on(plain)
    node, total = tree.leaves_of([7]), 0.0
    for depth in range(tree.depth, 0, -1):
        total += bound.prefix_maxima(depth, node)[0]
        node = tree.parents(depth, node)
    assert total == pytest.approx(plain.prefix_maxima(tree.depth, tree.leaves_of([7]))[0])


def test_routing_admits_the_best_categories_alone(retriever):
    index = retriever.index
    names = [tuple(path) for path in index.items.table["category"].to_pylist()]
    for hits in retriever.search_many(TEXTS, 30, rule="ar", categories=2, explain=True):
        admitted = {path for path, _ in hits[0].explanation.categories}
        assert len(admitted) == 2
        assert {" > ".join(hit.category[:3]) for hit in hits} <= admitted
    every = retriever.search(TEXTS[0], len(names), rule="ar", categories="all")
    assert len(every) == len(names)
    assert every[0].explanation is None


def test_admitting_shared_leaves_equals_admitting_them_for_each_query(retriever):
    tree = retriever.tree
    leaves = np.random.default_rng(1).random(tree.n_leaves) < 0.05
    one = Shared.of(tree, leaves)
    chosen = np.flatnonzero(leaves)
    other = admit_leaves(tree, np.zeros(len(chosen), np.int64), chosen)
    for depth in range(tree.depth):
        nodes = np.arange(tree.n_nodes(depth + 1))
        query = np.zeros(len(nodes), np.int64)
        assert (
            one.allows(depth, query, nodes).tolist() == other.allows(depth, query, nodes).tolist()
        )


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_a_category_filter_holds_at_any_level(retriever, rule):
    path = retriever.search(TEXTS[0], 1)[0].category
    for level in (1, 2, len(path)):
        wanted = " > ".join(path[:level])
        hits = retriever.search("anything", 50, rule=rule, category=wanted)
        assert hits
        assert all(hit.category[:level] == path[:level] for hit in hits)


def test_denied_items_never_appear_and_others_move_up(retriever):
    first = [hit.item_id for hit in retriever.search(TEXTS[0], 10, rule="ar")]
    hits = [hit.item_id for hit in retriever.search(TEXTS[0], 8, rule="ar", deny=first[:2])]
    assert hits == first[2:]
    # An id that the catalogue does not have cannot be found anyway.
    assert len(retriever.search(TEXTS[0], 10, deny=["no such item"])) == 10


def test_only_allowed_items_appear(retriever):
    ids = retriever.index.items.ids.to_pylist()[::40]
    hits = retriever.search(TEXTS[0], 1000, rule="all", categories="all", allow=ids)
    assert sorted(hit.item_id for hit in hits) == sorted(ids)
    # Also within the model's categories: what may not be found takes no place in the beam.
    hits = retriever.search(TEXTS[0], len(ids), rule="all", categories=10**6, allow=ids)
    assert sorted(hit.item_id for hit in hits) == sorted(ids)
    assert retriever.search(TEXTS[0], allow=[]) == []
    assert retriever.search(TEXTS[0], rule="ar", categories=1, allow=[]) == []


@pytest.mark.parametrize("rule", ["ar", "all", "101", "hybrid"])
def test_an_explanation_adds_up_to_the_score(retriever, rule):
    for hit in retriever.search(TEXTS[0], 5, rule=rule, explain=True):
        steps = hit.explanation.steps
        assert sum(step.term for step in steps) == pytest.approx(hit.score, abs=1e-6)
        assert tuple(step.code for step in steps) == hit.identifier
        assert all(0 <= step.probability <= 1 for step in steps)


def test_a_printed_explanation_has_a_line_a_code_and_every_reason(retriever):
    why = retriever.search(TEXTS[0], 1, rule="all", categories="all", explain=True)[0].explanation
    *codes, item = str(why).splitlines()
    assert len(codes) == len(why.steps)
    for line, step, letter in zip(codes, why.steps, "abcdefgh", strict=False):
        assert line.split()[0] == f"{letter}{step.code}"
        assert f"{100 * step.probability:.1f} %" in line
        assert f"{step.evidence:+.2f}" in line
    for match in why.reasons:
        marked = ("+" if match.matched else "-") + match.text
        assert item.count(marked) >= 1


def test_an_explanation_names_what_matched(retriever):
    hit = retriever.search(TEXTS[0], 1, rule="all", categories="all", explain=True)[0]
    reasons = {(match.kind, match.text): match.matched for match in hit.explanation.reasons}
    assert ("color", "black") in reasons
    assert ("measure", "0.75 l") in reasons
    item = retriever.index.items.rows_of([hit.item_id])
    evidence = retriever.index.evidence.compatibility(TEXTS[0])
    assert hit.explanation.parts["f"] == pytest.approx(float(evidence.of(item)[0]))


def test_many_texts_give_what_one_at_a_time_gives(retriever):
    many = retriever.search_many(TEXTS * 12, 10, rule="hybrid")
    for text, hits in zip(TEXTS * 12, many, strict=True):
        alone = retriever.search(text, 10, rule="hybrid")
        assert [hit.item_id for hit in hits] == [hit.item_id for hit in alone]
        assert [h.score for h in hits] == pytest.approx([h.score for h in alone], abs=1e-4)


def test_progress_is_reported(retriever):
    seen = []
    retriever.search_many(TEXTS * 10, 5, advance=lambda done, total: seen.append((done, total)))
    assert seen == [(32, 40), (40, 40)]


def test_threads_do_not_meet(retriever):
    jobs = [(text, rule) for text in TEXTS for rule in ("ar", "all", "hybrid")] * 4
    alone = [retriever.search(text, 10, rule=rule) for text, rule in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda job: retriever.search(job[0], 10, rule=job[1]), jobs))
    assert together == alone


@pytest.mark.parametrize(
    "text",
    [
        "the of and with",
        "red\x00mug\x1b[31m\n",
        "🎁🎄 🧦",
        "חולצה שחורה",
        "قميص أسود",
        "x" * 10_000,
        "mug " * 3_000,
        "\ud800 mug",
        "'; drop table items; --",
        "％ｂｌａｃｋ　ｍｕｇ",
    ],
)
@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_odd_texts_are_answered(retriever, text, rule):
    hits = retriever.search(text, 5, rule=rule, explain=True)
    assert len({hit.item_id for hit in hits}) == 5
    assert all(np.isfinite(hit.score) for hit in hits)


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", {}, "The query is empty."),
        (" \t\u3000\n", {}, "The query is empty."),
        ("\x00", {}, "The query is empty."),
        (None, {}, "A query must be text, not None"),
        ("mug", {"k": 0}, "k must be at least 1, not 0."),
        ("mug", {"k": -3}, "k must be at least 1, not -3."),
        ("mug", {"rule": "best"}, "--rule 'best' is none of ar, all, hybrid"),
        ("mug", {"rule": ""}, "--rule '' is none of"),
        ("mug", {"rule": "0110"}, "--rule 0110 has 4 digits, but identifiers have 3 codes."),
        ("mug", {"categories": 0}, "at least 1 category, not 0"),
        ("mug", {"category": "Astrology"}, "There is no category 'Astrology'"),
        ("mug", {"category": ""}, "There is no category ''"),
    ],
)
def test_a_mistake_is_one_sentence(retriever, text, options, sentence):
    with pytest.raises(RarsError) as error:
        retriever.search(text, **options)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_category_named_by_its_leaf_is_offered_with_its_path(retriever):
    path = retriever.search(TEXTS[0], 1)[0].category
    with pytest.raises(RarsError) as error:
        retriever.search("mug", category=path[-1].upper())
    assert " > ".join(path) in str(error.value)


def test_an_empty_query_among_many_is_named(retriever):
    with pytest.raises(RarsError, match="Query 2 of 3 is empty"):
        retriever.search_many(["mug", " ", "cup"])


def test_k_larger_than_the_catalogue_gives_what_there_is(retriever):
    hits = retriever.search("mug", 10**9, rule="all", categories="all")
    assert len({hit.item_id for hit in hits}) == len(hits) == len(retriever)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_rules_know_how_long_identifiers_are():
    assert plan("hybrid", 5, {"hybrid": HybridSettings(weight=3.0)}).weight == 3.0
    assert plan("all", 5).mask == (True,) * 5
    assert not plan("00000", 5).guides


def test_induced_categories_are_searched_until_they_hold_enough(retriever):
    """Three clusters may hold a handful of items: more of them, in the model's order, none too many."""
    induced = replace(retriever.index.categories, induced=True)
    index = replace(retriever.index, categories=induced)
    narrow = retriever.with_index(index).with_width(1)
    routes = narrow.router.routes
    held = {
        name: set(routes.leaves[routes.start[t] : routes.start[t + 1]].tolist())
        for t, name in enumerate(routes.names)
    }
    for hits in narrow.search_many(TEXTS, 1, rule="ar", explain=True):
        paths = [path for path, _ in hits[0].explanation.categories]
        assert len(set().union(*(held[path] for path in paths))) >= 20
        assert len(paths) == 3 or len(set().union(*(held[path] for path in paths[:-1]))) < 20
    for count in (1, 2):
        hits = narrow.search(TEXTS[0], 1, rule="ar", categories=count, explain=True)
        assert len(hits[0].explanation.categories) == count
    own = retriever.with_width(1).search(TEXTS[0], 1, rule="ar", explain=True)
    assert len(own[0].explanation.categories) == 3
    wide = retriever.with_index(index).search_many(TEXTS, 20, rule="all")
    assert wide == retriever.search_many(TEXTS, 20, rule="all", categories="all")


def test_a_search_may_be_told_its_categories_once_for_all(retriever):
    for categories in (1, 2, "all"):
        told = retriever.with_categories(categories)
        found = told.search_many(TEXTS, 10, rule="ar")
        assert found == retriever.search_many(TEXTS, 10, rule="ar", categories=categories)
        assert told.facts("ar") != retriever.facts("ar")
    with pytest.raises(RarsError, match="at least 1 category"):
        retriever.with_categories(0)


def test_a_run_with_shared_identifiers_and_no_categories_is_searched_too(trained):
    # Shared identifiers: 8 x 8 = 64 of them for the whole shop.
    home = trained.parent
    shared = Retriever.load(make_run(home, "shared", *SHARED))
    hits = shared.search(TEXTS[0], 40, rule="all", explain=True)
    assert len({hit.item_id for hit in hits}) == 40
    assert hits[0].explanation.categories == ()
    evidence = shared.index.evidence.compatibility(TEXTS[0])
    by_identifier = {}
    for hit in hits:
        value = float(evidence.of(shared.index.items.rows_of([hit.item_id]))[0])
        by_identifier.setdefault(hit.identifier, []).append(value)
    assert max(map(len, by_identifier.values())) > 1
    for values in by_identifier.values():
        assert values == sorted(values, reverse=True)
    # By the model alone nothing tells them apart: they stand as in the catalogue, explained or not.
    for explain in (False, True):
        alone = shared.search(TEXTS[0], 40, rule="ar", explain=explain)
        rows = shared.catalogue.rows_of([hit.item_id for hit in alone]).tolist()
        same = {hit.identifier: [] for hit in alone}
        for hit, row in zip(alone, rows, strict=True):
            same[hit.identifier].append(row)
        assert max(map(len, same.values())) > 1
        assert all(places == sorted(places) for places in same.values())
    # Of items that share an identifier, a denied one is left out and the others stay.
    gone = [hit.item_id for hit in alone][::2]
    left = [h.item_id for h in shared.search(TEXTS[0], 20, rule="ar", deny=gone)]
    assert left == [hit.item_id for hit in alone][1::2]
    assert not {h.item_id for h in shared.search(TEXTS[0], 20, rule="all", deny=gone)} & {*gone}
    path = " > ".join(hits[0].category)
    for hit in shared.search(TEXTS[0], 20, category=path):
        assert hit.category == hits[0].category


def test_the_public_names_are_imported_when_asked_for():
    import rars

    assert rars.Retriever is Retriever
    with pytest.raises(AttributeError, match="no attribute 'Astrology'"):
        _ = rars.Astrology


@pytest.mark.parametrize("rule", ["ar", "all"])
def test_a_batch_thinks_once_for_routing_and_search(retriever, monkeypatch, rule):
    # Routing reads the states that the search starts from; it used to decode them a second time.
    model = retriever.ready.model
    calls = []
    for part, name in ((model, "think"), (model.decoder, "sequence")):
        plain = getattr(type(part), name)

        def counted(self, *given, name=name, plain=plain):
            calls.append(name)
            return plain(self, *given)

        monkeypatch.setattr(type(part), name, counted)
    routed = retriever.search_many(TEXTS, 10, rule=rule, categories=3, explain=True)
    together = calls.copy()
    calls.clear()
    retriever.search_many(TEXTS, 10, rule=rule, categories="all")
    assert together == calls
    assert together.count("think") == 1
    for text, hits in zip(TEXTS, routed, strict=True):
        with torch.inference_mode():  # the same by hand, in two passes
            encoded, _ = retriever.reader.encode([text])
            memory = model.decoder.memory(encoded.states, encoded.mask)
            inputs = model.think(memory).inputs
            states = model.decoder.sequence(inputs, memory)[0][:, : model.latent_rows]
            chances = [v.numpy() for v in model.categories.log_probabilities(states)]
        best = retriever.router.routes.best(chances, 3)
        names = [retriever.router.routes.names[terminal] for terminal in best[0]]
        assert [path for path, _ in hits[0].explanation.categories] == names
        evidence = [retriever.index.evidence.compatibility(text)]
        mask = (rule == "all",) * retriever.tree.depth
        guide = {"evidence": evidence, "mask": mask, "weight": 2.0}
        expected = direct(
            retriever, text, 10, admitted=retriever.router.routes.admit(best), **guide
        )
        found = shown(retriever, hits)
        assert found[0] == expected[0]
        assert found[1] == pytest.approx(expected[1], abs=1e-4)


def test_searches_and_mistakes_change_nothing_on_disk(retriever):
    folder = retriever.run.folder
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    retriever.search("🎁 חולצה \x00" + "x" * 10_000, 10**6)
    retriever.search("mug", locale="ja", exact=True, rule="all")
    for text, options in [
        ("", {}),
        ("mug", {"k": 0}),
        ("mug", {"category": "Astrology"}),
        ("mug", {"locale": "xx"}),
    ]:
        with pytest.raises(RarsError):
            retriever.search(text, **options)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("part", ["model/model.safetensors", "model/config.json"])
def test_a_truncated_model_is_named(run, part):
    path = run / part
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RarsError, match=path.name):
        Retriever.load(run)


def test_a_search_in_a_program_takes_the_threads_that_are_best(retriever, monkeypatch):
    """With all cores a small model answered three times as slowly beside one other process."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    seen = []
    answered = Retriever._answered

    def watched(self, plans):
        seen.append(torch.get_num_threads())
        return answered(self, plans)

    monkeypatch.setattr(Retriever, "_answered", watched)
    torch.set_num_threads(2)
    try:
        replace(retriever).search("black bottle")
        assert (seen, torch.get_num_threads()) == ([1], 2)
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        replace(retriever).search("black bottle")
        assert seen == [1, 3]
    finally:
        torch.set_num_threads(before)
