"""Category paths as numbers give the tree that plain loops over the paths give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.data.categories import path_codes
from rars.tree.categories import CategoryTree

NAMES = st.sampled_from(["", "a", "b", "a > b", "Möbel", "家具", "Z", "a\x1fb"])
PATHS = st.lists(st.one_of(st.none(), st.lists(NAMES, max_size=5)), min_size=1, max_size=30)
KIND = pa.list_(pa.string())


def chunked(paths, at):
    return pa.chunked_array([pa.array(paths[:at], KIND), pa.array(paths[at:], KIND)])


@given(PATHS, st.integers(0, 30), st.integers(1, 4))
def test_the_tree_is_that_of_plain_loops(paths, at, levels):
    found = path_codes(chunked(paths, at), levels)
    if not any(paths):
        assert found is None
        return
    depth = min(levels, max(len(path or ()) for path in paths))
    wanted, made = CategoryTree.of_paths(paths, depth), CategoryTree.of_codes(*found)
    assert made.names == wanted.names
    assert np.array_equal(made.nodes, wanted.nodes)
    assert all(map(np.array_equal, made.parents, wanted.parents))


def test_a_slice_reads_its_own_rows():
    whole = pa.array([["x"], ["a", "b"], None, ["c"]], KIND)
    codes, names = path_codes(pa.chunked_array([whole.slice(1, 2)]), 3)
    assert [names[code] for code in codes[0]] == ["a", "b"]
    assert (codes[1] < 0).all()


def test_a_level_without_a_name_is_refused():
    with pytest.raises(ValueError, match="no name"):
        path_codes(pa.chunked_array([pa.array([["a", None]], KIND)]), 2)
