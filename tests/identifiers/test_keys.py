from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rars.identifiers.keys import distinct, grouped, row_keys, sharing

# Depths and codes whose mixed-radix numbers do not fit 64 bits are included on purpose.
tables = st.tuples(st.integers(0, 40), st.integers(1, 9)).flatmap(
    lambda shape: hnp.arrays(
        np.int32, shape, elements=st.sampled_from([-1, 0, 1, 2, 65535, 2**31 - 1])
    )
)


@given(tables)
def test_keys_are_equal_exactly_where_rows_are(codes):
    keys = row_keys(codes)
    assert np.array_equal(
        keys[:, None] == keys[None, :], (codes[:, None] == codes[None, :]).all(axis=2)
    )


@given(tables)
def test_keys_order_like_the_rows_they_stand_for(codes):
    rows = [tuple(row) for row in codes.tolist()]
    by_key = [rows[i] for i in np.argsort(row_keys(codes), kind="stable")]
    assert by_key == sorted(rows)


@given(hnp.arrays(np.int64, st.integers(0, 60), elements=st.integers(-3, 3)))
def test_groups_hold_every_row_once_in_order(keys):
    groups = grouped(keys)
    assert sorted(groups.order.tolist()) == list(range(len(keys)))
    for row in range(len(keys)):
        start = groups.starts[groups.member[row]]
        assert groups.order[start + groups.rank[row]] == row
        assert groups.rank[row] == (keys[:row] == keys[row]).sum()
    assert groups.counts.sum() == len(keys)


def test_sharing_counts_items_not_pairs():
    codes = np.array([[1, 1], [1, 1], [1, 1], [2, 0], [3, 0], [3, 0]], dtype=np.int32)
    assert sharing(codes) == 5
    assert distinct(codes) == 3
