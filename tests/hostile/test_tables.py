"""Whatever a table holds, there is a dataset or a list of what is wrong."""

from __future__ import annotations

from tests.hostile import tables
from tests.hostile.case import hunt


def test_a_table_is_read_or_its_problems_are_said():
    assert hunt(tables.cases, seed=3, seconds=60, most=250)
