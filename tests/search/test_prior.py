"""Searching with a prior over identifiers: pruned or not, beside evidence, in a catalogue that changes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from rars.identifiers import Identifiers
from rars.model import prior
from rars.model.prior import OWN_PART_BESIDE, PriorMeasure
from rars.runs import Run
from rars.search import catalog
from rars.search.engine import Engine
from rars.search.retriever import Retriever
from rars.search.rules import plan
from rars.systems import Query
from tests.search.trained import make_run

TEXTS = ["black bottle 0.75 l", "running shoes", "gift for my sister"]


@pytest.fixture
def run(practical, tmp_path):
    return shutil.copytree(practical, tmp_path / "run")


def similarities(retriever, texts):
    """q . x of every item, by the definition: the reconstruction of its identifier."""
    _, projected = retriever.reader.encode(texts)
    own, slots = retriever.ready.model.prior, retriever.tree.identifiers(range(len(retriever)))
    words = [own.codewords(depth).numpy() for depth in range(retriever.tree.depth)]
    items = sum(words[depth][slots[:, depth]] for depth in range(retriever.tree.depth))
    return projected.numpy() @ items.T


def test_an_untrained_model_ranks_by_reconstruction(practical):
    retriever = Retriever.load(practical)
    assert retriever.measure is not None
    # What counts how much was learned on validation queries: let the prior alone speak here.
    retriever.ready.model.prior.own.data.zero_()
    retriever.ready.model.prior.scales.data.fill_(1.0)
    for text, expected in zip(TEXTS, similarities(retriever, TEXTS), strict=True):
        [(items, scores)] = retriever.rank_many([text], 300, rule="ar", categories="all")
        assert len(items) == 300
        np.testing.assert_allclose(
            expected[items], np.sort(expected)[::-1], atol=1e-4, err_msg="not in order"
        )
        assert np.exp(np.unique(scores.astype(np.float32))).sum() <= 1 + 1e-3


@pytest.mark.parametrize("keep", ["best", "final"])
def test_how_much_prior_and_decoder_count_was_learned(practical, keep):
    changes = ("training.learning_rate=1e-12", "training.epochs=1", f"training.keep={keep}")
    run = make_run(practical.parent, f"run-{keep}", *changes, recipe="practical")
    learned = Retriever.load(run).ready.model.prior
    assert learned.own.tolist() != pytest.approx([OWN_PART_BESIDE] * len(learned.own))
    assert learned.scales.tolist() != pytest.approx([1.0] * len(learned.scales))


def test_validation_in_a_large_catalogue_passes_over_nothing_and_finds_the_same(
    practical, monkeypatch
):
    identifiers = Identifiers.load(practical / "identifiers")
    engine = Engine.of(Retriever.load(practical).ready, identifiers)
    wanted = engine.search(TEXTS, k=50)
    monkeypatch.setattr(prior, "LARGE", 0)
    monkeypatch.setattr(PriorMeasure, "log_shares", None)
    found = engine.search(TEXTS, k=50)
    assert [one.tolist() for one in found] == [one.tolist() for one in wanted]


def test_beam_and_exact_search_agree(practical):
    retriever = Retriever.load(practical)
    for rule in ("ar", "all", "hybrid"):
        beam, exact = (
            retriever.rank_many(TEXTS, 300, rule=rule, categories="all", exact=exact)
            for exact in (False, True)
        )
        for (items, scores), (same, others) in zip(beam, exact, strict=True):
            assert items.tolist() == same.tolist()
            np.testing.assert_allclose(scores, others, atol=1e-4)


def test_hybrid_counts_as_much_of_the_prior_as_it_is_told_and_the_models_own_rules_all_of_it(
    practical,
):
    retriever = Retriever.load(practical)
    depth = retriever.tree.depth
    assert [plan(rule, depth).prior for rule in ("ar", "all", "1" * depth)] == [1.0] * 3
    assert plan("hybrid", depth).prior == 0.0
    whole, half = (
        replace(retriever, hybrid=retriever.hybrid.model_copy(update={"prior": share})).rank_many(
            TEXTS, 300, rule="hybrid"
        )
        for share in (1.0, 0.5)
    )
    assert any((a[0] != b[0]).any() for a, b in zip(whole, half, strict=True))


def test_a_prior_of_which_nothing_counts_is_not_worked_out(practical):
    retriever = Retriever.load(practical)
    for share, made in ((0.0, False), (0.5, True)):
        told = replace(retriever, hybrid=retriever.hybrid.model_copy(update={"prior": share}))
        readied = told.readied([Query(text, 10, rule="hybrid") for text in TEXTS])
        assert (readied.guide.prior is not None) == made


def test_new_items_have_their_share(run, tmp_path):
    path = tmp_path / "new.jsonl"
    path.write_text(json.dumps({"id": "N1", "title": "black bottle 0.75 l"}) + "\n")
    catalog.add_items(Run.open(run), path)
    retriever = Retriever.load(run)
    assert len(retriever) == 301
    found = retriever.search("black bottle 0.75 l", 10, rule="ar", categories="all", explain=True)
    assert "N1" in [hit.item_id for hit in found]
    assert all(hit.explanation is not None for hit in found)
