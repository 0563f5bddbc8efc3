"""A recipe says how its system answers, what is tuned wins, and a new rule or evidence is one line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rars.config import Recipe, Section
from rars.errors import RarsError
from rars.search import weights
from rars.search.evidence import Evidence
from rars.search.evidence.parts import EVIDENCE, AskedOf, EvidencePart, weigh
from rars.search.retriever import Retriever
from rars.search.rules import PARTS, RULES, HybridSettings, Rule, RulePart, plan
from rars.systems import Query

TEXT = "black bottle 0.75 l"


def changed(run, *changes):
    """A run whose recipe says something else about searching; its model stays."""
    recipe = Recipe.resolve(run / "recipe.toml", changes=changes)
    (run / "recipe.toml").write_text(recipe.to_toml())
    return Retriever.load(run)


def ids(hits):
    return [hit.item_id for hit in hits]


def test_the_recipe_says_which_rule_answers(run):
    retriever = changed(run, "search.rule=ar")
    assert retriever.rules == ("ar", "all", "hybrid")
    assert retriever.search(TEXT, 20) == retriever.search(TEXT, 20, rule="ar")
    assert ids(retriever.search(TEXT, 20)) != ids(retriever.search(TEXT, 20, rule="hybrid"))
    assert retriever.facts()["rule"] == "ar"


def test_the_recipe_says_how_many_categories_and_how_wide(run):
    retriever = changed(run, "search.rule=all", "search.categories=1", "search.width=7")
    [hits] = retriever.search_many([TEXT], 5, explain=True)
    assert len(hits[0].explanation.categories) == 1
    assert retriever.search(TEXT, 5, categories="all", explain=True)[0].explanation.categories == ()
    assert (
        len(retriever.search(TEXT, 5, categories="auto", explain=True)[0].explanation.categories)
        == 3
    )
    [checked] = retriever.planner.plans([Query(TEXT, 5)])
    assert checked.width == 7


def test_the_settings_of_the_recipes_rule_count(run):
    retriever = changed(run, "search.rule=all", "search.all.weight=0.5")
    usual = replace(retriever, settings=Recipe.resolve("rars").search)
    light, heavy = (
        {
            hit.item_id: sum(step.evidence for step in hit.explanation.steps)
            for hit in one.search(TEXT, 300, categories="all", explain=True)
        }
        for one in (retriever, usual)
    )
    assert light == pytest.approx({item: value / 4 for item, value in heavy.items()})
    # A pattern is the same evidence at other depths.
    assert retriever.search(TEXT, 10, rule="111") == retriever.search(TEXT, 10, rule="all")
    assert retriever.facts("all")["search"]["all"] == {"weight": 0.5}


def test_tuned_weights_win_over_the_recipes(run):
    retriever = changed(run, "search.rule=hybrid", "search.hybrid.weight=3")
    assert retriever.hybrid == HybridSettings(weight=3)
    weights.keep(retriever.run, retriever.index.meta["model"], HybridSettings(weight=9, bm25=0.1))
    again = Retriever.load(run)
    assert again.hybrid == HybridSettings(weight=9, bm25=0.1)
    assert again.facts()["search"]["hybrid"]["weight"] == 9
    assert again.facts() != retriever.facts()
    assert again.facts("ar") == retriever.facts("ar")


def test_raw_logits_may_be_added_up(run):
    """RIPOR's score: no code is normalised, and the exact search agrees."""
    retriever = changed(run, "search.score=logit")
    for rule in ("ar", "all", "hybrid"):
        options = {"rule": rule, "categories": "all", "explain": True}
        exact = retriever.search(TEXT, 20, exact=True, **options)
        beam = retriever.search(TEXT, len(retriever), **options)[:20]
        assert ids(exact) == ids(beam)
        for hit in exact:
            steps = hit.explanation.steps
            assert sum(step.term for step in steps) == pytest.approx(hit.score, abs=1e-5)
            assert {step.probability for step in steps} == {None}
    assert any(step.model > 0 for hit in exact for step in hit.explanation.steps)


def test_a_toy_rule_with_a_toy_evidence_needs_two_lines(run, monkeypatch):
    """One part each, put into the tables; a recipe names the rule and its settings."""

    def favour(asked: AskedOf):
        scores = np.zeros(asked.index.tree.n_items)
        scores[asked.index.tree.positions[17]] = 1.0
        return [Evidence.from_dense(asked.index.ancestry, scores)] * len(asked.texts)

    class ToySettings(Section):
        weight: float = 1.0

    def toy(settings, depth):
        return Rule("toy", (True,) * depth, settings.weight, {"favour": 1.0}, routed=False)

    monkeypatch.setitem(EVIDENCE, "favour", EvidencePart("item 17 above all", favour))
    monkeypatch.setitem(RULES, "toy", RulePart("what favour says", toy, ToySettings))
    retriever = changed(run, "search.rule=toy", "search.toy.weight=100")
    [hit] = retriever.search(TEXT, 1, explain=True)
    assert hit.item_id == retriever.catalogue.ids[17].as_py()
    assert hit.explanation.parts == {"favour": 1.0}
    assert "toy" in retriever.rules
    weak = replace(retriever, settings=retriever.settings.model_copy(update={"own": ToySettings()}))
    assert weak.search(TEXT, 1)[0].score < hit.score


@pytest.mark.parametrize("part", PARTS)
def test_hybrid_without_a_part_is_hybrid_with_that_weight_at_nothing(run, part):
    retriever = changed(run, "search.rule=hybrid", "search.hybrid.neighbours=0.5")
    less = {"weight": 1e9} if part == "model" else {part: 0.0}
    other = replace(retriever, hybrid=retriever.hybrid.model_copy(update=less))
    found = retriever.search(TEXT, 20, rule=f"hybrid-{part}")
    assert [(hit.item_id, hit.score) for hit in found] == [
        (hit.item_id, hit.score) for hit in other.search(TEXT, 20, rule="hybrid")
    ]
    assert retriever.facts(f"hybrid-{part}")["search"]["hybrid"] == retriever.hybrid.model_dump()


def test_without_the_model_evidence_alone_decides(run):
    retriever = changed(run, "search.rule=hybrid")
    hits = retriever.search(TEXT, 20, rule="hybrid-model", explain=True)
    evidence = [sum(step.evidence for step in hit.explanation.steps) for hit in hits]
    model = [sum(step.model for step in hit.explanation.steps) for hit in hits]
    assert len(set(evidence)) > 1
    assert evidence == sorted(evidence, reverse=True)
    assert model != sorted(model, reverse=True)


def test_names_nobody_knows_are_one_sentence(retriever):
    with pytest.raises(
        RarsError,
        match="is none of ar, all, hybrid, hybrid without a part .hybrid-bm25, .* or a pattern",
    ):
        plan("best", 3)
    asked = AskedOf(retriever.index.evidence, None, [TEXT], [None])
    with pytest.raises(
        RarsError, match="no evidence 'smell'; choose one of f, bm25, neighbours, letters, dense"
    ):
        weigh(asked, {"smell": 1.0})
    with pytest.raises(RarsError, match="nothing that evidence \\(dense\\) could read"):
        weigh(asked, {"dense": 1.0})
