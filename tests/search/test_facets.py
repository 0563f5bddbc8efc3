"""The count of a value is how many items the filter of that value takes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import FilterError, RarsError
from rars.search.facets import count
from rars.search.restrictions import matching
from rars.search.store import ItemStore
from rars.systems import Query
from tests.search.test_columns import ROWS, table

NAMES = (*(name for name in ROWS if name not in ("attributes", "raw")), "weight", "lid")


def written(name, value):
    plain = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return f"`{name}` = {plain}"


def store(rows=ROWS):
    made = table(rows)
    return ItemStore(made, Columns(made, ITEMS))


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 3)))
def test_a_count_is_what_the_filter_of_the_value_takes(chosen):
    shop, rows = store(), np.array(sorted(chosen), dtype=np.int64)
    for facet in count(shop, NAMES, rows, limit=100):
        for value, number in facet.values:
            assert shop.columns.marks(written(facet.name, value))[rows].sum() == number
            assert number > 0
        missing = shop.columns.marks(f"`{facet.name}` IS NULL")[rows].sum()
        assert facet.missing == missing
        assert facet.others == 0
        counted = [number for _, number in facet.values]
        assert counted == sorted(counted, reverse=True)


def test_what_a_facet_tells():
    price, brand, category, cheap, since, raw = count(
        store(), ["price", "brand", "category", "cheap", "since", "raw"], limit=2
    )
    assert (price.low, price.high, price.missing, price.others) == (5.0, 30.5, 1, 1)
    assert brand.values == (("Acme", 2), ("Other", 1))
    assert category.values == (("Home", 3), ("Home > Mugs", 2))
    assert category.others == 1
    assert cheap.values == ((True, 2), (False, 1))
    assert (since.low, since.high) == ("2024-01-01", "2026-01-01")
    assert (raw.values, raw.others, raw.missing) == ((), 3, 1)
    told = json.loads(json.dumps(brand.as_dict()))
    assert told["values"][0] == {"value": "Acme", "count": 2}


def test_a_value_that_an_item_has_twice_counts_once():
    rows = {"id": ["a", "b"], "tags": pa.array([["x", "X", "y"], ["y"]])}
    [facet] = count(ItemStore(pa.table(rows)), ["tags"])
    assert facet.values == (("y", 2), ("x", 1))


def test_wrong_names_and_limits_are_sentences():
    with pytest.raises(RarsError, match="There is no column 'prise'; did you mean 'price'?"):
        count(store(), ["prise"])
    with pytest.raises(RarsError, match="0 values or more, not -1"):
        count(store(), ["price"], limit=-1)


def test_facets_of_answers_and_of_all_that_match(retriever):
    query = Query("bottle", 7, filter="material EXISTS", deny=["P0000002"])
    rows = matching(retriever, query)
    columns = retriever.catalogue.columns
    expected = columns.marks("material EXISTS AND id != P0000002")
    assert rows.tolist() == np.flatnonzero(expected).tolist()
    assert matching(retriever, Query("bottle")) is None
    [answer] = retriever.answer([query])
    for chosen in (rows, answer.items, None):
        [color] = count(retriever.catalogue, ["color"], chosen, limit=1000)
        own = np.arange(len(retriever)) if chosen is None else chosen
        assert sum(number for _, number in color.values) + color.missing == len(own)
    with pytest.raises(FilterError):
        matching(retriever, Query("bottle", filter="prise < 1"))
