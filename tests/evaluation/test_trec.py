"""TREC files hold what was ranked and judged, and a broken line is named."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.evaluation import Ranking, Truth, measure, read_qrels, read_run, write_qrels, write_run
from rars.evaluation.trec import falling
from rars.systems import Ranked
from tests.evaluation.worlds import make_dataset, random_ranking

ITEMS = ["a", "b", "c", "blue mug", "50%off", "x%20y", "広い 箱", "z\u3000z"]
QUERIES = ["q1", "q 2", "q3"]
JUDGED = [("q1", "a", 3), ("q1", "b", 0), ("q 2", "blue mug", 2), ("q3", "c", 0)]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("trec") / "data", ITEMS, QUERIES, JUDGED)


def test_a_run_comes_back_as_it_was_written(dataset, tmp_path):
    """Equal scores, ids with white space and per cent signs."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        ranking = random_ranking(rng, 3, len(ITEMS), len(ITEMS))
        if not len(ranking.ranked.items):
            continue
        write_run(tmp_path / "run", ranking, dataset, "test")
        back = read_run(tmp_path / "run", dataset)
        answered = np.flatnonzero(np.diff(ranking.ranked.pointers))
        assert back.queries.tolist() == ranking.queries[answered].tolist()
        assert back.ranked.items.tolist() == ranking.ranked.items.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_has_the_six_columns_outside_tools_expect(dataset, tmp_path):
    ranking = Ranking.of([0, 1], Ranked.of_lists([[1, 0], [3]], [[0.5, 0.25], [-2]]))
    write_run(tmp_path / "run", ranking, dataset, "bm25")
    assert (tmp_path / "run").read_text().splitlines() == [
        "q1 Q0 b 1 0.5 bm25",
        "q1 Q0 a 2 0.25 bm25",
        "q%202 Q0 blue%20mug 1 -2 bm25",
    ]


scores = st.lists(
    st.floats(width=32, allow_nan=False, min_value=-(2.0**99), max_value=2.0**99),
    min_size=0,
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(scores, min_size=1, max_size=4))
def test_written_scores_fall_strictly_and_are_hardly_changed(lists):
    lists = [sorted(row, reverse=True) for row in lists]
    ranked = Ranked.of_lists([range(len(row)) for row in lists], lists)
    lowered = falling(ranked)
    for text, row in enumerate(lists):
        shown = lowered[ranked.pointers[text] : ranked.pointers[text + 1]]
        assert (np.diff(shown) < 0).all()
        assert (shown <= ranked.row(text)[1]).all()
        if len(set(np.float32(row).tolist())) == len(row):
            assert shown.tolist() == np.float32(row).tolist()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from([1.0, 1.0 + 1e-9, 0.5, 0.0, -0.0, -3.25]), min_size=3, max_size=3))
def test_a_foreign_run_with_ties_is_read_as_trec_eval_reads_it(dataset, tmp_path, values):
    lines = [f"q1 Q0 {item} 0 {score!r} x" for item, score in zip("abc", values, strict=True)]
    (tmp_path / "run").write_text("\n".join(lines))
    ours = measure(read_run(tmp_path / "run", dataset), Truth.of(dataset, "test"))
    run = {"q1": dict(zip("abc", values, strict=True))}
    theirs = pytrec_eval.RelevanceEvaluator({"q1": {"a": 3}}, {"recip_rank"}).evaluate(run)
    assert ours.values["MRR@100"][0] == pytest.approx(theirs["q1"]["recip_rank"])


def test_a_raw_id_with_a_per_cent_sign_is_understood(dataset, tmp_path):
    """A run written elsewhere does not know how we write such ids."""
    (tmp_path / "run").write_text("q1\tQ0\t50%off\t1\t2.5\tx\n\nq1 Q0 x%20y 2 1e-3 x\r\n")
    found = read_run(tmp_path / "run", dataset)
    assert [ITEMS[i] for i in found.ranked.items] == ["50%off", "x%20y"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q1 Q0 a 1 0.5 x\nq1 Q0 b 2 0.4\n", r"run, line 2: has 5 columns instead of 6 \(QUERY Q0"),
        ("\nq1 Q0 a 1 high x\n", "run, line 2: the score 'high' is not a number"),
        ("q1 Q0 a 1 nan x\n", "run, line 1: the score nan is not a finite"),
        ("q1 Q0 a 1 1e39 x\n", "run, line 1: the score 1e39 is not a finite 32-bit"),
        ("q1 Q0 a 1 1 x\nq9 Q0 a 1 1 x\n", "run, line 2: the dataset 'small' has no query 'q9'"),
        ("q1 Q0 zzz 1 1 x\n", "run, line 1: the dataset 'small' has no item 'zzz'"),
        (
            "q1 Q0 a 1 3 x\nq3 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq1 Q0 a 3 1 x\n",
            r"run, line 4: item 'a' is ranked again for query 'q1' \(first on line 1\)",
        ),
        ("\n\n", "run is empty"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(dataset, tmp_path, text, words):
    (tmp_path / "run").write_text(text)
    with pytest.raises(RarsError, match=words):
        read_run(tmp_path / "run", dataset)


def test_files_that_cannot_be_read_are_named(dataset, tmp_path):
    with pytest.raises(RarsError, match="absent does not exist"):
        read_run(tmp_path / "absent", dataset)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RarsError, match="binary cannot be read as text"):
        read_run(tmp_path / "binary", dataset)


def test_a_tag_of_two_words_is_refused(dataset, tmp_path):
    with pytest.raises(RarsError, match="must be one word"):
        write_run(tmp_path / "run", Ranking.of([0], Ranked.of_lists([[1]])), dataset, "my run")


def test_qrels_leave_out_queries_that_are_in_no_mean(dataset, tmp_path):
    write_qrels(tmp_path / "qrels", dataset.judged("test"), dataset)
    assert (tmp_path / "qrels").read_text().splitlines() == [
        "q1 0 a 3",
        "q1 0 b 0",
        "q%202 0 blue%20mug 2",
    ]
    back = read_qrels(tmp_path / "qrels", dataset)
    assert back.query.tolist() == [0, 0, 1]
    assert back.grade.tolist() == [3, 0, 2]


def test_grades_that_are_no_whole_numbers_are_kept(tmp_path):
    odd = make_dataset(tmp_path / "data", ["a", "b"], ["q"], [("q", "a", 0.5), ("q", "b", 2)])
    write_qrels(tmp_path / "qrels", odd.judged("test"), odd)
    assert (tmp_path / "qrels").read_text() == "q 0 a 0.5\nq 0 b 2\n"
    assert read_qrels(tmp_path / "qrels", odd).grade.tolist() == [0.5, 2.0]


def test_of_duplicate_lines_the_highest_grade_counts_and_junk_is_irrelevant(dataset, tmp_path):
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 a 3\nq1 0 b -2\n")
    found = read_qrels(tmp_path / "qrels", dataset)
    assert found.grade.tolist() == [3.0, 0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q1 0 a\n", "qrels, line 1: has 3 columns instead of 4"),
        ("q1 0 a E\n", "qrels, line 1: the grade 'E' is not a number"),
        ("q1 0 a inf\n", "qrels, line 1: the grade inf is not finite"),
        ("q1 0 a 1\nq1 0 nothing 1\n", "qrels, line 2: the dataset 'small' has no item 'nothing'"),
    ],
)
def test_a_judgment_that_cannot_be_used_is_named(dataset, tmp_path, text, words):
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(RarsError, match=words):
        read_qrels(tmp_path / "qrels", dataset)
