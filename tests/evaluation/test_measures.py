"""Measures agree with their definitions and with outside tools, in every awkward case."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data import Judgments
from rars.errors import RarsError
from rars.evaluation import (
    MEASURES,
    Measure,
    PerQuery,
    Ranking,
    Truth,
    identifier_ranking,
    measure,
    quality,
    rescored,
    rescored_means,
    write_qrels,
    write_run,
)
from rars.systems import Ranked
from rars.tree import PrefixTree
from tests.evaluation.worlds import (
    grades_of,
    make_dataset,
    plain_measure,
    random_judgments,
    random_ranking,
)

SMALL = tuple(Measure(kind, k) for kind in ("Recall", "nDCG", "MRR") for k in (1, 3, 10))


def truth_of(pairs, asked=None, size=100, gains="linear"):
    query, item, grade = (np.array(column) for column in zip(*pairs, strict=True))
    judged = Judgments.merged(query, item, grade.astype(float))
    asked = np.unique(query) if asked is None else np.asarray(asked)
    return Truth.of_judgments(judged, asked, size, gains=gains)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), n_items=st.integers(1, 40), most=st.integers(0, 15))
def test_measures_equal_their_definitions(seed, n_items, most):
    rng = np.random.default_rng(seed)
    judged = random_judgments(rng, 6, n_items)
    ranking = random_ranking(rng, 6, n_items, most)
    found = measure(ranking, Truth.of_judgments(judged, np.arange(6), n_items), SMALL)
    grades = grades_of(judged)
    useful = [q for q in range(6) if any(g > 0 for g in grades.get(q, {}).values())]
    assert found.queries.tolist() == useful
    assert found.left_out == 6 - len(useful)
    for one in SMALL:
        expected = [
            plain_measure(one.kind, one.k, ranking.ranked.row(q)[0].tolist(), grades[q])
            for q in useful
        ]
        np.testing.assert_allclose(found.values[one.name], expected, rtol=0, atol=1e-12)


def test_outside_tools_give_the_same_numbers_from_the_files(tmp_path):
    """Ties, fewer than K results, unanswered queries, queries without positives, duplicate judgments."""
    rng = np.random.default_rng(5)
    n_queries, n_items = 80, 300
    judged = random_judgments(rng, n_queries, n_items, per_query=20)
    barren = np.isin(judged.query, [3, 9])  # judged, but nothing relevant
    judged = Judgments(judged.query, judged.item, np.where(barren, 0, judged.grade).astype("f4"))
    items, queries = [f"i{n}" for n in range(n_items)], [f"q{n}" for n in range(n_queries)]
    pairs = [
        (queries[q], items[i], g)
        for q, i, g in zip(judged.query, judged.item, judged.grade.tolist(), strict=True)
    ]
    dataset = make_dataset(tmp_path / "data", items, queries, pairs + pairs[:40])
    ranking = random_ranking(rng, n_queries, n_items, 150)
    truth = Truth.of(dataset, "test")
    ours = measure(ranking, truth)
    assert ours.left_out == 2
    assert ours.unanswered > 0
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    write_run(run, ranking, dataset)
    write_qrels(qrels, dataset.judged("test"), dataset)

    by_query = rescored(run, qrels)
    for name, values in by_query.items():
        assert len(values) == len(ours)
        theirs = [values[queries[q]] for q in ours.queries]
        np.testing.assert_allclose(ours.values[name], theirs, rtol=0, atol=1e-6)
    means = rescored_means(run, qrels)
    assert means == pytest.approx({name: ours.mean(name) for name in ours.names}, abs=1e-6)

    with run.open() as shown, qrels.open() as known:
        results, grades = pytrec_eval.parse_run(shown), pytrec_eval.parse_qrel(known)
    wanted = {"recall.5,10,100", "ndcg_cut.10,100"}
    per_query = pytrec_eval.RelevanceEvaluator(grades, wanted).evaluate(results)
    names = {"Recall": "recall", "nDCG": "ndcg_cut"}
    for one in (m for m in MEASURES if m.kind in names):
        theirs = [
            per_query.get(queries[q], {}).get(f"{names[one.kind]}_{one.k}", 0.0)
            for q in ours.queries
        ]
        np.testing.assert_allclose(ours.values[one.name], theirs, rtol=0, atol=1e-6)


def test_challenge_gains_agree_with_an_outside_tool(tmp_path):
    """1 / 0.1 / 0.01: nDCG does not change when all gains are a hundred times larger."""
    rng = np.random.default_rng(2)
    judged = random_judgments(rng, 20, 50, per_query=15)
    ranking = random_ranking(rng, 20, 50, 40, ties=False)
    ours = measure(ranking, Truth.of_judgments(judged, np.arange(20), 50, gains="esci"))
    qrels = {str(q): {str(i): int(g) for i, g in by.items()} for q, by in grades_of(judged).items()}
    run = {
        str(q): {str(i): float(s) for i, s in zip(*ranking.ranked.row(q), strict=True)}
        for q in range(20)
    }
    outside = ir_measures.nDCG(gains={3: 100, 2: 10, 1: 1, 0: 0}) @ 10
    theirs = {m.query_id: m.value for m in ir_measures.iter_calc([outside], qrels, run)}
    expected = [theirs[str(q)] for q in ours.queries]
    np.testing.assert_allclose(ours.values["nDCG@10"], expected, rtol=0, atol=1e-6)
    linear = measure(ranking, Truth.of_judgments(judged, np.arange(20), 50))
    assert not np.allclose(ours.values["nDCG@10"], linear.values["nDCG@10"])
    assert np.array_equal(ours.values["Recall@10"], linear.values["Recall@10"])


def test_fewer_than_k_results_are_judged_by_what_is_there():
    truth = truth_of([(0, 1, 3), (0, 2, 1)])
    found = measure(Ranking.of([0], Ranked.of_lists([[1]])), truth)
    assert found.mean("Recall@100") == 0.5
    assert found.mean("MRR@100") == 1.0
    assert found.mean("nDCG@100") == pytest.approx(3 / (3 + 1 / np.log2(3)))


def test_the_ideal_order_is_cut_at_k():
    """Twelve Exact items: ten of them on top are perfect at 10, though recall is 10 / 12."""
    truth = truth_of([(0, item, 3) for item in range(12)])
    found = measure(Ranking.of([0], Ranked.of_lists([list(range(10))])), truth)
    assert found.mean("nDCG@10") == pytest.approx(1)
    assert found.mean("Recall@10") == pytest.approx(10 / 12)


def test_queries_without_positives_are_left_out_and_counted():
    truth = truth_of([(0, 1, 3), (1, 1, 0), (1, 2, 0)], asked=[0, 1, 2])
    found = measure(Ranking.of([0, 1, 2], Ranked.of_lists([[1], [1], [1]])), truth)
    assert (len(found), found.left_out, found.unanswered) == (1, 2, 0)
    assert found.mean("Recall@5") == 1.0


def test_a_query_missing_from_the_ranking_counts_zero():
    truth = truth_of([(0, 1, 3), (4, 1, 3)])
    missing = measure(Ranking.of([0], Ranked.of_lists([[1]])), truth)
    empty = measure(Ranking.of([4, 0], Ranked.of_lists([[], [1]])), truth)
    for found in (missing, empty):
        assert (found.mean("Recall@5"), found.unanswered) == (0.5, 1)


def test_of_duplicate_judgments_the_highest_grade_counts_once():
    truth = truth_of([(0, 1, 1), (0, 1, 3), (0, 2, 1), (0, 1, 0)])
    assert truth.counts.tolist() == [2]
    found = measure(Ranking.of([0], Ranked.of_lists([[1, 2]])), truth)
    assert found.mean("Recall@5") == 1.0
    assert found.mean("nDCG@10") == pytest.approx(1)


def test_an_item_ranked_twice_is_refused():
    """Counted twice it would push recall above 1."""
    with pytest.raises(
        RarsError, match="Item number 7 is ranked more than once for query number 4"
    ):
        Ranking.of([2, 4], Ranked.of_lists([[7], [7, 1, 7]]))


@pytest.mark.parametrize(
    ("queries", "ranked", "words"),
    [
        ([0], Ranked.of_lists([[1, 2]], [[1.0, 2.0]]), "not sorted by falling score"),
        ([0], Ranked.of_lists([[1]], [[np.nan]]), "must be finite"),
        ([0, 0], Ranked.of_lists([[1], [2]]), "more than one ranking"),
        ([0, 1], Ranked.of_lists([[1]]), "2 queries but 1 rankings"),
        ([0], Ranked.of_lists([[-1]]), "negative number"),
    ],
)
def test_a_ranking_that_cannot_be_measured_is_refused(queries, ranked, words):
    with pytest.raises(RarsError, match=words):
        Ranking.of(queries, ranked)


def test_a_ranking_of_other_queries_is_an_error_not_a_zero():
    with pytest.raises(RarsError, match="another split"):
        measure(Ranking.of([5], Ranked.of_lists([[1]])), truth_of([(0, 1, 3)]))


def test_a_ranking_of_another_catalogue_is_an_error():
    with pytest.raises(RarsError, match="item number 100 of only 100"):
        measure(Ranking.of([0], Ranked.of_lists([[100]])), truth_of([(0, 1, 3)]))


def test_one_identifier_for_everything_is_perfect_only_at_identifier_level():
    """Items that share an identifier count one by one; a collapsed tree cannot hide behind hits."""
    tree = PrefixTree.build(np.zeros((100, 2), dtype=int))
    truth = truth_of([(0, item, 3) for item in range(50, 60)])
    items = Ranking.of([0], Ranked.of_lists([list(range(20))]))
    assert measure(items, truth).mean("Recall@100") == 0.0
    level = measure(identifier_ranking(items, tree), truth.at_identifiers(tree), prefix="SID ")
    assert level.mean("SID Recall@5") == 1.0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), codes=st.integers(1, 4))
def test_identifier_level_equals_its_definition_under_collisions(seed, codes):
    rng = np.random.default_rng(seed)
    n_items = 30
    tree = PrefixTree.build(rng.integers(codes, size=(n_items, 2)))
    judged = random_judgments(rng, 5, n_items)
    ranking = random_ranking(rng, 5, n_items, 20)
    truth = Truth.of_judgments(judged, np.arange(5), n_items)
    found = measure(identifier_ranking(ranking, tree), truth.at_identifiers(tree), SMALL)
    sids = [tuple(row) for row in tree.identifiers(np.arange(n_items)).tolist()]
    grades = grades_of(judged)
    for place, query in enumerate(truth.queries.tolist()):
        best: dict = {}
        for item, grade in grades[query].items():
            best[sids[item]] = max(grade, best.get(sids[item], 0))
        shown = list(dict.fromkeys(sids[item] for item in ranking.ranked.row(query)[0]))
        for one in SMALL:
            expected = plain_measure(one.kind, one.k, shown, best)
            assert found.values[one.name][place] == pytest.approx(expected, abs=1e-12)


def test_a_tree_of_another_catalogue_is_refused():
    with pytest.raises(RarsError, match="holds 2 items"):
        truth_of([(0, 1, 3)]).at_identifiers(PrefixTree.build([[0], [1]]))


def test_quality_is_the_mean_of_the_chosen_measure():
    truth = truth_of([(3, 1, 3), (6, 2, 3)])
    good = quality(truth, [6, 3], Measure("Recall", 5))
    assert good(Ranked.of_lists([[2], [9]])) == 0.5
    assert good(Ranked.of_lists([[2], [1]])) == 1.0


def test_measures_of_a_subset_and_side_by_side():
    one = PerQuery(np.array([1, 4, 6], np.int32), {"a": np.array([0.0, 0.5, 1.0])}, left_out=2)
    both = one.beside(PerQuery(one.queries, {"b": np.ones(3)}))
    assert both.names == ("a", "b")
    assert both.of(np.array([6, 4])).mean("a") == 0.75
    assert both.as_dict()["means"] == {"a": 0.5, "b": 1.0}
    with pytest.raises(RarsError, match="different queries"):
        one.beside(PerQuery(np.array([1, 4, 7], np.int32), {"b": np.ones(3)}))
    with pytest.raises(RarsError, match="c was not measured; there is a, b"):
        both.mean("c")


def test_nothing_to_find_at_all_is_said():
    truth = truth_of([(0, 1, 0)])
    found = measure(Ranking.of([0], Ranked.of_lists([[1]])), truth)
    assert found.as_dict() == {"queries": 0, "left_out": 1, "unanswered": 0, "means": {}}
    with pytest.raises(RarsError, match="nothing to average"):
        found.mean("Recall@5")


@pytest.mark.parametrize("name", ["Recall", "Recall@0", "Precision@5", "nDCG@-1", "@5"])
def test_an_unknown_measure_is_named(name):
    with pytest.raises(RarsError, match="Unknown measure"):
        Measure.parse(name)


def test_measure_names_go_both_ways():
    assert [Measure.parse(one.name.lower()) for one in MEASURES] == list(MEASURES)
