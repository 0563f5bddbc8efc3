"""Problems are collected, ordered and counted; the counts of a sound dataset are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rars.data import rules
from rars.data.dataset import Judgments
from rars.data.markup import joined
from rars.data.problems import Problems, ProblemsFound
from rars.data.summary import summarise
from rars.data.tables import Source


def source(**columns: list[str | None]) -> Source:
    return Source(Path("t.csv"), pa.table(columns))


def found(problems: Problems) -> ProblemsFound:
    with pytest.raises(ProblemsFound) as raised:
        problems.stop("nothing was written")
    return raised.value


def test_no_problem_no_exception() -> None:
    Problems().stop("nothing was written")


def test_problems_of_a_file_come_in_the_order_of_its_rows() -> None:
    """Rules look at one column after the other, a person reads a file from top to bottom."""
    problems = Problems()
    table = source(id=["a"] * 60)
    odd = np.arange(60) % 2 == 1
    problems.add_records(table, "title", odd, "odd")
    problems.add_records(table, "id", ~odd, lambda record: f"even {record}")
    problems.add(table.path, "the whole file is odd")
    error = found(problems)
    assert [problem.row for problem in error.shown] == [None, *range(1, 20)]
    assert error.count == 61
    assert str(error).splitlines()[-1] == "... and 41 more in t.csv"


def test_a_million_problems_do_not_fill_the_memory() -> None:
    """Readers add line by line; only what could be shown is kept."""
    problems = Problems()
    for row in range(1, 5001):
        problems.add(Path("t.csv"), "bad", row=row)
    assert sum(map(len, problems._found.values())) <= 1001
    error = found(problems)
    assert error.count == 5000
    assert [problem.row for problem in error.shown] == list(range(1, 21))


def test_files_are_counted_apart() -> None:
    problems = Problems()
    for name in ("a.csv", "b.csv"):
        for row in range(25):
            problems.add(Path(name), "bad", row=row + 1)
    lines = str(found(problems)).splitlines()
    assert lines[0] == "50 problems in a.csv, b.csv; nothing was written."
    assert lines.count("... and 5 more in a.csv") == 1
    assert lines.count("... and 5 more in b.csv") == 1
    assert len(lines) == 43


def test_long_values_are_cut() -> None:
    problems = Problems()
    named = rules.Named(source(id=["x" * 500, "x" * 500]), problems, {})
    rules.unique_ids(named)
    [problem] = found(problems).shown
    assert len(problem.message) < 120


def test_empty_ids_are_empty_and_not_duplicates_of_each_other() -> None:
    problems = Problems()
    rules.unique_ids(rules.Named(source(id=["", "a", "", None, "a"]), problems, {}))
    assert [(p.row, p.message) for p in found(problems).shown] == [
        (1, "empty id"),
        (3, "empty id"),
        (4, "empty id"),
        (5, "duplicate id 'a' (first in row 2)"),
    ]


def test_positives_are_averaged_over_queries_that_have_one() -> None:
    judgments = Judgments.merged(
        np.array([0, 0, 0, 1, 2]), np.array([0, 1, 2, 0, 1]), np.array([3.0, 1.0, 0.0, 2.0, 0.0])
    )
    batch = pa.record_batch({"text": ["a", " ", None], "category": [["x"], None, ["x", "y"]]})
    summary = summarise([batch, batch], np.array([0, 0, 2, 1]), judgments, "labels")
    assert summary.positives_per_query == {"mean": 1.5, "median": 1.5, "max": 2.0}
    assert summary.queries_without_positive == 2
    assert summary.queries == {"train": 2, "validation": 1, "test": 1}
    assert (summary.items, summary.items_without_text, summary.items_with_category) == (6, 4, 4)
    assert summary.category_depths == {1: 2, 2: 2}
    assert summary.judgments_by_grade == {"E": 1, "S": 1, "C": 1, "I": 2}


def test_joined_texts_keep_their_rows() -> None:
    """A row without any part is null, and no row moves up into its place."""
    parts = [pa.array(["a", None, None, "d"]), pa.array(["b", "c", None, None])]
    assert joined(parts).to_pylist() == ["a\nb", "c", None, "d"]
