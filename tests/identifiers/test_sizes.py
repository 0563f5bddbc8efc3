"""Proposed code sizes give another catalogue the paper's shape of tree."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.identifiers.sizes import proposed_sizes


@given(st.integers(1, 10**9))
def test_sizes_are_powers_of_two_and_the_first_is_the_largest(items):
    sizes = proposed_sizes(items)
    assert all(size >= 4 and size & (size - 1) == 0 for size in sizes)
    assert sizes[0] >= sizes[1] == sizes[2] == sizes[3]


@given(st.integers(1, 10**8), st.integers(1, 10**8))
def test_more_items_never_get_fewer_codes(some, more):
    small, large = sorted((some, more))
    assert all(a <= b for a, b in zip(proposed_sizes(small), proposed_sizes(large), strict=True))


def test_the_papers_own_catalogue_gets_its_first_code_and_its_branching_below():
    first, second, *_ = proposed_sizes(288_372)
    assert first == 256
    assert abs(math.log(second) - 3.5) < math.log(2) / 2


def test_an_empty_catalogue_is_a_sentence():
    with pytest.raises(RarsError, match="0 items"):
        proposed_sizes(0)
