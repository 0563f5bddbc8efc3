"""The radix order equals NumPy's stable sorts, whatever the width of the keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rars.tree.sorting import stable_order

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
