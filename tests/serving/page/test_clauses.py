"""Filters that are clicked together mean what was clicked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rars.search.filters import conjuncts, parse
from rars.serving.page.clauses import added, clause, clauses, removed

names = st.text(min_size=1, max_size=12).filter(lambda one: "`" not in one)
values = st.one_of(st.text(max_size=12), st.integers(-99, 99), st.booleans())


@given(names, values)
def test_a_clause_is_read_as_it_was_meant(name, value):
    test = parse(clause(name, value))
    assert (test.name, test.operation) == (name, "=")
    [read] = test.values
    wanted = str(value).lower() if isinstance(value, bool) else str(value)
    assert read.text == wanted
    assert read.kind == ("quoted" if isinstance(value, str) else read.kind)


@given(st.sampled_from(["a = 1", "a = 1 OR b = 2", "(a = 1 OR b = 2)", "(a = 1) OR b = 2"]), values)
def test_what_is_added_is_one_more_condition_and_can_be_removed(before, value):
    new = clause("c", value)
    both = added(before, new)
    assert len(conjuncts(parse(both))) == 2
    left = removed(both, new)
    assert len(conjuncts(parse(left))) == 1
    assert left.strip("()") == before.strip("()")


def test_a_filter_that_cannot_be_read_stays():
    assert added("price <", "a = 1") == "price <"
    assert clauses("price <") == []
    assert removed("a = 1", "a = 1") == ""
