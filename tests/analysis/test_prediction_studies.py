"""Alignment, coverage and cases on a run that was trained for a moment, against loops over rankings."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rars.analysis import alignment, cases, coverage
from rars.analysis.alignment import AlignmentSettings
from rars.analysis.cases import CasesSettings
from rars.analysis.coverage import CoverageSettings
from rars.analysis.population import Population
from rars.analysis.predictions import by_query
from rars.analysis.study import Scene
from rars.analysis.writing import Analysed, write
from rars.errors import RarsError
from rars.evaluation.measures import Measure
from rars.evaluation.measures import measure as measured
from rars.evaluation.statistics import holm
from rars.evaluation.truth import Truth
from rars.pipeline.studies import tree_of
from rars.progress import SILENT
from rars.search.paths import best_identifiers
from rars.systems import Query

FEW = {"draws": 200}


@pytest.fixture(scope="session")
def scene(run_of, shop):
    run = run_of("rars")
    return Scene("tiny", shop, tree_of(run), run)


@pytest.fixture(scope="session")
def aligned(scene):
    return alignment.measure(scene, AlignmentSettings(**FEW))


def test_alignment_compares_the_means_of_its_parents(scene, aligned):
    assert 0 < aligned.ambiguous <= aligned.sampled <= aligned.applicable <= aligned.queries
    assert {depth for _, depth in aligned.compared} <= {1, 2, 3}
    for (measure, depth), found in aligned.compared.items():
        means = by_query(aligned.parents, depth)
        values = means.js if measure == "js" else means.support
        assert (found.ar, found.all) == pytest.approx(tuple(values.mean(axis=0)))
        sign = -1 if measure == "js" else 1
        assert found.improvement.mean == pytest.approx(sign * (found.all - found.ar))
        assert found.improvement.low <= found.improvement.mean <= found.improvement.high
        assert found.queries == len(means.rows)


def test_a_sample_is_of_applicable_queries_and_comes_from_the_seed(scene, aligned):
    people = Population.of(scene, AlignmentSettings())
    usable = alignment.applicable(scene, people.queries)
    assert usable.sum() == aligned.applicable
    index = scene.retriever.index.evidence
    for number, applies in zip(people.queries[:20], usable[:20], strict=True):
        text = scene.dataset.query_texts[int(number)].as_py()
        locale = scene.dataset.query_locales[int(number)]
        assert bool(index.read(text, language=locale).constraints) == applies
    settings = AlignmentSettings(queries=10, seed=4, **FEW)
    first, second = (alignment.measure(scene, settings) for _ in range(2))
    assert first.sampled == 10
    np.testing.assert_array_equal(first.parents.js_ar, second.parents.js_ar)


def test_the_family_of_alignment_is_every_scene_and_depth(scene, aligned):
    found = alignment.corrected({"a": aligned, "b": aligned})
    for measure in alignment.MEASURES:
        p = [
            one.p for name in "ab" for key, one in found[name].compared.items() if key[0] == measure
        ]
        adjusted = [
            one.p_holm
            for name in "ab"
            for key, one in found[name].compared.items()
            if key[0] == measure
        ]
        np.testing.assert_allclose(adjusted, holm(p))


def test_alignment_is_told_in_the_papers_layout(scene, aligned, tmp_path):
    settings = AlignmentSettings(**FEW)
    result = alignment.run([scene, replace(scene, name="again")], settings, SILENT)
    js, support = result.tables()[:2]
    assert js.blocks[0].rows[0].labels == ("tiny", "L1")
    assert len(js.blocks) == len(support.blocks) == 2
    made = Analysed(alignment.STUDY, settings, [scene], result, 0.0, tmp_path / "alignment")
    write(made)
    kept = json.loads((tmp_path / "alignment" / "results.json").read_text())
    assert kept["results"]["scenes"]["tiny"]["sampled"] == aligned.sampled
    for ending in ("png", "svg"):
        assert (tmp_path / "alignment" / f"alignment.{ending}").stat().st_size > 5000
    assert "again" in (tmp_path / "alignment" / "table.tex").read_text()


def test_best_identifiers_are_those_of_a_search(scene):
    retriever = scene.retriever
    queries = [Query(text, 20, rule="all") for text in ("black bottle 0.75 l", "mug", "lamp")]
    ranked = best_identifiers(retriever, queries, 20)
    for row, answer in enumerate(retriever.answer(queries)):
        leaves = retriever.tree.leaves_of(answer.items)
        distinct = list(dict.fromkeys(leaves.tolist()))
        assert ranked.row(row)[0].tolist()[: len(distinct)] == distinct


def test_coverage_is_that_of_plain_sets_and_ends_in_the_recall_of_identifiers(scene):
    settings = CoverageSettings(k=20, **FEW)
    found = coverage.measure(scene, settings)
    truth = Truth.of(scene.dataset, "test")
    wanted = truth.at_identifiers(scene.tree)
    last = f"Coverage@L{scene.tree.depth}"
    codes = scene.tree.paths(scene.tree.depth, np.arange(scene.tree.n_leaves))
    for rule in coverage.RULES:
        ranking = coverage.ranked(scene, truth, rule, 20)
        recall = measured(ranking, wanted, [Measure("Recall", 20)]).values["Recall@20"]
        np.testing.assert_allclose(found.per_query[rule].values[last], recall)
        for row in range(0, len(truth), 7):
            relevant = {tuple(codes[leaf]) for leaf in wanted.item[wanted.row == row]}
            shown = {tuple(codes[leaf]) for leaf in ranking.ranked.row(row)[0]}
            for depth in range(1, scene.tree.depth + 1):
                need = {sid[:depth] for sid in relevant}
                have = need & {sid[:depth] for sid in shown}
                value = found.per_query[rule].values[f"Coverage@L{depth}"][row]
                assert value == pytest.approx(len(have) / len(need))
    p = [one.p for one in found.compared.values()]
    assert len(p) == 2 * scene.tree.depth - 1
    np.testing.assert_allclose([one.p_holm for one in found.compared.values()], holm(p))
    result = coverage.Coverage({"tiny": found}, settings)
    [table] = result.tables()
    assert [len(block.rows) for block in table.blocks] == [scene.tree.depth, scene.tree.depth - 1]
    assert len(result.findings()) == len(p)


def test_cases_are_chosen_by_depth_gain_and_loss(scene):
    found = cases.measure(scene, CasesSettings(gains=2, losses=1))
    assert len({one.query_id for one in found}) == len(found)
    reasons = [one.reason for one in found]
    assert "separates at L1" in reasons
    truth = Truth.of(scene.dataset, "test")
    plain, scored = cases._systems(scene, truth, CasesSettings(), None)
    change = scored.measured.values[cases.NDCG] - plain.measured.values[cases.NDCG]
    for one in found:
        delta = one.ndcg[1] - one.ndcg[0]
        assert one.systems == ("AR-only", "All-level")
        if "gain" in one.reason:
            assert delta > 0
        if "loss" in one.reason:
            assert delta < 0
    best = [one for one in found if one.reason == "largest gain"]
    fit = (truth.counts >= cases.FEW) & (truth.counts <= cases.MANY)
    taken = [one.query_id for one in found if one.reason.startswith("separates")]
    ids = np.array([scene.dataset.query_ids[int(q)].as_py() for q in truth.queries])
    rest = fit & ~np.isin(ids, taken)
    assert not best or best[0].ndcg[1] - best[0].ndcg[0] == pytest.approx(change[rest].max())
    for one in found:
        for item in one.items():
            row = int(np.flatnonzero(ids == one.query_id)[0])
            number = np.flatnonzero(np.asarray(scene.dataset.item_ids) == item.item_id)[0]
            ranked = plain.ranking.ranked.row(row)[0].tolist()
            place = ranked.index(number) + 1 if number in ranked else None
            assert item.ranks[0] == place


def test_named_cases_are_shown_and_unknown_ones_refused(scene):
    truth = Truth.of(scene.dataset, "test")
    name = scene.dataset.query_ids[int(truth.queries[3])].as_py()
    settings = cases.STUDY.asked([f"queries={name!r}", "rules=all,ar"])
    [one] = cases.measure(scene, settings)
    assert (one.query_id, one.reason, one.systems) == (name, "chosen", ("All-level", "AR-only"))
    with pytest.raises(RarsError, match="id or text 'nobody'"):
        cases.measure(scene, CasesSettings(queries=("nobody",)))
    with pytest.raises(RarsError, match="two rules, not 1"):
        cases.measure(scene, CasesSettings(rules=("ar",)))


def test_cases_of_two_runs_are_named_by_their_recipes(scene, run_of, tmp_path):
    both = replace(scene, other=run_of("base"))
    result = cases.run([both], CasesSettings(gains=1, losses=1, depths=False), SILENT)
    found = result.scenes["tiny"]
    assert all(one.systems == ("base", "rars") for one in found)
    write(Analysed(cases.STUDY, CasesSettings(), [both], result, 0.0, tmp_path / "cases"))
    section = (tmp_path / "cases" / "section.html").read_text()
    assert section.count("<article") == len(found)
    assert "<img" not in section  # what folds stands in the place of the figures
    assert (tmp_path / "cases" / "case-1.svg").exists() == bool(found)
