"""The weights of ``hybrid``: fitted on the scores that a search adds up, and kept whole or not at all."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from rars.evaluation.ranking import queries_of
from rars.evaluation.truth import Truth
from rars.search import tuning
from rars.search.exact import exact_search
from rars.search.fitting import Candidates
from rars.search.gathering import MODEL, Gathered, gather
from rars.search.retriever import Retriever
from rars.search.rules import HybridSettings
from rars.search.tuning import LEAST, MOST, PARTS, choose_hybrid, fitted_hybrid


@pytest.fixture
def run(practical, tmp_path):
    return shutil.copytree(practical, tmp_path / "run")


@pytest.fixture
def retriever(run):
    return Retriever.load(run)


def asked(retriever, count=9):
    dataset = retriever.run.dataset()
    truth = Truth.of(dataset, "validation")
    judged = dataset.judged("validation")
    rows = truth.queries[:count]
    truth = Truth.of_judgments(judged.where(np.isin(judged.query, rows)), rows, dataset.n_items)
    return queries_of(retriever, dataset, rows, 100), truth


def test_candidates_have_the_scores_that_a_search_adds_up(retriever):
    """The model's terms against a search that scores every identifier, evidence against a plain sum."""
    queries, truth = asked(retriever)
    found = gather(retriever, queries, truth)
    assert set(found.names) == {MODEL, *PARTS}
    tree, pointers = retriever.tree, found.candidates.pointers
    hybrid = HybridSettings(bm25=0.4, dense=0.3, paper=0.2, neighbours=0.1, weight=7.0, bound=True)
    searcher = replace(retriever, hybrid=hybrid)
    for row, query in enumerate(queries):
        readied = searcher.readied([replace(query, rule="hybrid")])
        assert readied.guide.prior is None  # dense evidence stands for it
        every = exact_search(
            retriever.ready.model,
            tree,
            retriever.ready.architecture.vocabulary,
            readied.begun,
            projected=readied.projected,
            width=tree.n_leaves,
            guide=readied.guide,
        )
        best = dict(zip(every.leaves[0].tolist(), every.scores[0].tolist(), strict=True))
        mine = slice(int(pointers[row]), int(pointers[row + 1]))
        weights = [1.0, *(7.0 * getattr(hybrid, PARTS[name]) for name in PARTS)]
        totals = found.of((MODEL, *PARTS))[mine] @ weights
        # The score of an identifier is that of its best item.
        leaves = tree.leaves_of(found.items[mine])
        for leaf in np.unique(leaves).tolist():
            whole = np.diff(tree.item_ranges(tree.depth, np.array([leaf])), axis=0).item()
            if whole == (leaves == leaf).sum():
                assert totals[leaves == leaf].max() == pytest.approx(best[leaf], abs=1e-3)


def test_what_is_relevant_and_put_forward_has_its_gain(retriever):
    queries, truth = asked(retriever)
    found = gather(retriever, queries, truth)
    candidates = found.candidates
    gain = dict(zip(truth.keys.tolist(), truth.gain.tolist(), strict=True))
    key = candidates.owner * truth.size + found.items
    assert len(set(key.tolist())) == len(key)
    np.testing.assert_array_equal(candidates.gains, [gain.get(one, 0.0) for one in key.tolist()])
    # Whatever a search by one part alone finds first is among them.
    for settings in ({"bm25": 1.0}, {"dense": 1.0}, {"neighbours": 1.0}):
        none = dict.fromkeys(PARTS.values(), 0.0)
        alone = HybridSettings(**none | settings, weight=1000.0, bound=True)
        searched = replace(retriever, hybrid=alone)
        for row, query in enumerate(queries):
            [(items, _)] = searched.rank_many([query.text], 5, rule="hybrid", locale=query.locale)
            assert np.isin(row * truth.size + items, key).all()


def test_nothing_relevant_to_a_query_costs_nothing(retriever):
    queries, truth = asked(retriever)
    kept = truth.row != 4
    bare = replace(truth, row=truth.row[kept], item=truth.item[kept], gain=truth.gain[kept])
    fitted_all, fitted = (
        fitted_hybrid(gather(retriever, queries, one), 3)[1] for one in (truth, bare)
    )
    assert (fitted_all.queries, fitted.queries) == (len(queries), len(queries) - 1)


def test_the_fit_becomes_settings():
    """Relevant items drawn by known settings: the settings come back."""
    rng = np.random.default_rng(0)
    names, n, each = (MODEL, *PARTS), 1500, 30
    truth = np.array([1.0, 4.0, 3.0, 2.0, 1.0, 2.0])
    scores = rng.normal(size=(n, each, len(names)))
    total = scores @ truth + rng.gumbel(size=(n, each))
    gains = (total == total.max(axis=1, keepdims=True)).ravel()
    query = np.repeat(np.arange(n), each)
    known = Candidates.of(n, query, scores.reshape(-1, len(names)), gains)
    found = Gathered(names, np.arange(len(query)), known)
    settings, fitted = fitted_hybrid(found, 3)
    assert fitted.queries == n
    usual = HybridSettings()
    whole = usual.bm25 + usual.dense + usual.paper + usual.neighbours + usual.letters
    got = np.array([getattr(settings, PARTS[name]) for name in PARTS])
    assert got.sum() == pytest.approx(whole, rel=1e-3)
    np.testing.assert_allclose(got / whole, np.array([4, 3, 2, 1, 2]) / 12, atol=0.03)
    assert settings.weight * whole == pytest.approx(12.0, rel=0.1)


@pytest.mark.parametrize("knows", [MODEL, "bm25"])
def test_a_model_or_evidence_that_knows_nothing_leaves_a_weight_in_its_limits(knows):
    rng = np.random.default_rng(1)
    names, n = (MODEL, "bm25", "f"), 400
    scores, gains = rng.normal(size=(n * 10, 3)), np.tile(np.eye(10)[0], n)
    others = [at for at, name in enumerate(names) if name != knows]
    scores[:, others] -= gains[:, None]  # worse than nothing
    scores[:, names.index(knows)] += gains
    known = Candidates.of(n, np.repeat(np.arange(n), 10), scores, gains)
    found = Gathered(names, np.arange(len(gains)), known)
    settings = fitted_hybrid(found, 3)[0]
    assert settings.weight == (LEAST if knows == MODEL else MOST)
    assert settings.dense == HybridSettings().dense  # what the catalogue lacks stays


def test_kinds_that_are_not_taught_stay(retriever):
    queries, truth = asked(retriever)
    found = gather(retriever, queries, truth)
    settings, usual = fitted_hybrid(found, 3, ("bm25", "dense"))[0], HybridSettings()
    assert (settings.paper, settings.neighbours) == (usual.paper, usual.neighbours)
    assert settings.bm25 + settings.dense == pytest.approx(usual.bm25 + usual.dense, rel=1e-3)


def test_without_a_query_that_tells_anything_the_usual_settings_stay():
    """The usual lambda is that of sums over depths; a bound, which counts once, has as much more."""
    nothing = Candidates.of(2, np.zeros(0, dtype=int), np.zeros((0, 6)), np.zeros(0))
    names = (MODEL, *PARTS)
    settings, fitted = fitted_hybrid(Gathered(names, np.zeros(0, dtype=int), nothing), 4)
    usual = HybridSettings()
    assert fitted.queries == 0
    assert not usual.bound
    assert settings == usual.model_copy(update={"weight": 4 * usual.weight})


def test_the_same_choice_twice_and_progress_that_reaches_its_end(retriever):
    seen = []
    dataset = retriever.run.dataset()
    first = choose_hybrid(
        retriever, dataset, most=10, advance=lambda done, total: seen.append((done, total))
    )
    assert choose_hybrid(retriever, dataset, most=10) == first
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == seen[-1][1]
    assert len({total for _, total in seen}) == 1


@pytest.mark.parametrize("moment", ["tuning.fit", "tuning.rank", "weights.keep"])
def test_whatever_stops_it_leaves_the_old_settings(retriever, monkeypatch, moment):
    dataset = retriever.run.dataset()
    before = choose_hybrid(retriever, dataset, most=10, seed=1)

    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"rars.search.{moment}", stopped)
    with pytest.raises(KeyboardInterrupt):
        choose_hybrid(retriever, dataset, most=10, seed=2)
    assert Retriever.load(retriever.run.folder).hybrid == before


def test_a_large_catalogue_is_fitted_on_what_its_searches_look_at(retriever):
    """Where searches look at a part of the catalogue alone, candidates have the scores of that search."""
    settings = retriever.settings.model_copy(update={"candidates": "tree", "reach": 40})
    reaching = replace(retriever, settings=settings)
    assert reaching.near is not None
    queries, truth = asked(retriever)
    found = gather(reaching, queries, truth)
    assert set(found.names) == {MODEL, *PARTS}
    assert np.isfinite(found.candidates.scores).all()
    chosen = choose_hybrid(reaching, retriever.run.dataset(), most=10)
    assert Retriever.load(retriever.run.folder).hybrid == chosen


@pytest.mark.parametrize(("gain", "stay"), [(0.1, True), (0.0, False), (0.001, False)])
def test_letters_stay_only_where_the_search_is_better_by_more_than_chance(
    retriever, monkeypatch, gain, stay
):
    """What a search is worth is made up: queries differ by 0.01, and letters add a little."""
    calls = []

    def quality(asked, ranked):
        noise = 0.01 * (-1.0) ** np.arange(len(asked.queries))
        return (gain + noise) * calls[-1]

    monkeypatch.setattr(
        tuning, "rank", lambda found, *_, **rest: calls.append(found.hybrid.letters > 0)
    )
    monkeypatch.setattr(tuning._Asked, "quality", quality)
    monkeypatch.setattr(tuning.weights, "keep", lambda *_, **rest: None)
    chosen = choose_hybrid(retriever, retriever.run.dataset())
    assert set(calls) == {True, False}
    assert (chosen.letters > 0) == stay
