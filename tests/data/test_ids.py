"""Ids are found where they stand, however many are looked up among however many."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rars.data.ids import placed

IDS = st.lists(st.text(max_size=4), unique=True, max_size=60)


@given(IDS, st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=20), st.integers(0, 60))
def test_places_are_those_of_a_dictionary(known, others, some):
    """Few among many and many among few, strangers and repetitions among them."""
    wanted = [*known[:some:7], *others, *known[:2]]
    table = {name: place for place, name in enumerate(known)}
    expected = [-1 if name is None else table.get(name, -1) for name in wanted]
    column = pa.array(wanted, pa.string())
    assert placed(column, pa.array(known, pa.string())).tolist() == expected
    assert placed(pa.chunked_array([column]), pa.array(known, pa.string())).tolist() == expected
