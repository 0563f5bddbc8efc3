"""The radix order equals NumPy's stable sorts, whatever the width of the keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rars.tree.sorting import lower_bounds, stable_order

keys = hnp.arrays(
    np.int64, st.integers(0, 60), elements=st.sampled_from([0, 1, 65535, 65536, 2**40])
)


@given(keys)
def test_one_key_sorts_like_a_stable_sort(key):
    np.testing.assert_array_equal(stable_order(key), np.argsort(key, kind="stable"))


@given(keys)
def test_two_keys_sort_like_lexsort(key):
    minor = key[::-1] % 7
    np.testing.assert_array_equal(stable_order(key, minor), np.lexsort((minor, key)))


@given(
    lists=st.lists(st.lists(st.integers(0, 9)), min_size=1),
    asked=st.lists(st.tuples(st.integers(0, 99), st.integers(-1, 10))),
)
def test_lower_bounds_are_those_of_each_list_by_itself(lists, asked):
    values = np.array([value for one in lists for value in sorted(one)], dtype=np.int64)
    ends = np.cumsum([0, *map(len, lists)])
    number = np.array([which % len(lists) for which, _ in asked], dtype=np.int64)
    wanted = np.array([value for _, value in asked], dtype=np.int64)
    found = lower_bounds(values, ends[number], ends[number + 1], wanted)
    for which, value, place in zip(number, wanted, found, strict=True):
        assert place == ends[which] + np.searchsorted(np.sort(lists[which]), value)
