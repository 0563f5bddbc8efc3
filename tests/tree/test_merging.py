"""Trees of first codes, put side by side, are the tree of all items to the bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rars.tree import PrefixTree
from rars.tree.merging import build_by_first_code
from tests.tree.oracle import code_matrices


def arrays(tree):
    return (tree.order, tree.buckets, *tree.children, *tree.codes)


@given(code_matrices(), st.integers(1, 9))
def test_any_number_of_parts_gives_the_tree_of_all_items(codes, parts):
    whole = PrefixTree.build(codes)
    made = build_by_first_code(codes, parts, lambda some: map(PrefixTree.build, some))
    for mine, theirs in zip(arrays(made), arrays(whole), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@given(code_matrices(), st.integers(1, 9))
def test_no_first_code_is_in_two_parts_and_no_part_is_empty(codes, parts):
    seen = []

    def build(some):
        given = list(some)
        seen.extend(given)
        return map(PrefixTree.build, given)

    build_by_first_code(codes, parts, build)
    owners = [set(part[:, 0].tolist()) for part in seen]
    assert len(seen) <= parts
    assert all(owners)
    assert sum(map(len, owners)) == len(set.union(*owners)) == len(np.unique(codes[:, 0]))
