"""A filter takes the items that a plain look at each row takes."""

from __future__ import annotations

import operator
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import FilterError, RarsError
from rars.search.columns import ItemColumns, folded

ROWS = {
    "id": ["a", "b", "c", "d"],
    "title": ["Red Mug", "blue  MUG", "Ｌamp", "Straße"],
    "brand": ["Acme", None, "ACME", "Other"],
    "category": [["Home", "Mugs"], ["Home", "Mugs", "Blue"], ["Home"], None],
    "price": [5.0, None, 20.0, 30.5],
    "stock": [3, 0, None, 2**53 + 1],
    "cheap": [True, False, None, True],
    "since": [date(2024, 1, 1), date(2025, 6, 1), None, date(2026, 1, 1)],
    "seen": [datetime(2024, 1, 1, 12), None, datetime(2025, 1, 1), datetime(2026, 1, 1)],
    "exact": [Decimal("1.50"), Decimal("2.50"), None, Decimal("3.50")],
    "tags": [["New", "sale"], [], None, ["SALE"]],
    "sizes": [[1, 2], [3], None, []],
    "raw": [b"x", None, b"y", b"z"],
    "odd name": ["1", "2", "3", "4"],
    "attributes": [
        [("Material", "Steel"), ("weight", "2.5")],
        [("material", "wood"), ("weight", "10"), ("lid", "yes")],
        None,
        [("weight", "heavy")],
    ],
}
TYPES = {"attributes": pa.map_(pa.string(), pa.string()), "exact": pa.decimal128(5, 2)}


def table(rows=ROWS):
    return pa.table({name: pa.array(values, TYPES.get(name)) for name, values in rows.items()})


@pytest.fixture(scope="module")
def columns():
    return ItemColumns(Columns(table(), ITEMS))


def taken(columns, text):
    return "".join(np.array(list("abcd"))[columns.marks(text)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("brand = acme", "ac"),
        ("brand != acme", "bd"),
        ("brand IN (ACME, other)", "acd"),
        ("brand IS NULL", "b"),
        ("brand EXISTS", "acd"),
        ("title : mug", "ab"),
        ("title = 'BLUE mug'", "b"),
        ("title = lamp", "c"),
        ("title = STRASSE", "d"),
        ("id > b", "cd"),
        ("id <= b", "ab"),
        ("price < 20", "a"),
        ("price <= 20 AND price > 5", "c"),
        ("price = 5", "a"),
        ("price IN (5, 20.0)", "ac"),
        ("price >= '20'", "cd"),
        ("NOT price < 20", "bcd"),
        ("price IS NOT NULL", "acd"),
        (f"stock = {2**53 + 1}", "d"),
        (f"stock = {2**53}", ""),
        ("stock < 99999999999999999999999", "abd"),
        ("stock = 0", "b"),
        ("cheap = true", "ad"),
        ("cheap = false", "b"),
        ("cheap != true", "bc"),
        ("cheap IN (true, false)", "abd"),
        ("since >= 2025-01-01", "bd"),
        ("since = 2024-01-01", "a"),
        ("seen < 2025-01-01", "a"),
        ("seen <= '2025-01-01 00:00:00'", "ac"),
        ("exact > 1.5", "bd"),
        ("exact = 2.5", "b"),
        ("tags = sale", "ad"),
        ("tags : ew", "a"),
        ("tags IS NULL", "bc"),
        ("sizes >= 2", "ab"),
        ("sizes = 3", "b"),
        ("sizes EXISTS", "ab"),
        ("raw EXISTS", "acd"),
        ("`odd name` = 3", "c"),
        ("`odd name` < 3", "ab"),
        ("category = Home", "abc"),
        ("category = 'home>mugs'", "ab"),
        ("category = 'Home > Mug'", ""),
        ("category IN ('Home > Mugs > Blue', nothing)", "b"),
        ("category : mugs", "ab"),
        ("category IS NULL", "d"),
        ("material = wood", "b"),
        ("Material = steel", "a"),
        ("attributes.lid = yes", "b"),
        ("lid EXISTS", "b"),
        ("weight < 10", "a"),
        ("weight >= 10", "b"),
        ("weight > 'a'", "d"),
        ("BRAND = acme", "ac"),
    ],
)
def test_each_kind_of_column_is_compared_in_its_own_way(columns, text, expected):
    assert taken(columns, text) == expected


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("brand = x AND prise < 20", 15, "there is no column 'prise'; did you mean 'price'?"),
        ("zzzzzz = 1", 1, "there is no column 'zzzzzz'; there is id, title"),
        ("price < cheap", 9, "'price' holds numbers, and 'cheap' is none of them"),
        ("cheap = maybe", 9, "'cheap' holds true and false, and 'maybe' is none"),
        ("cheap < true", 1, "'cheap' holds true and false, which have no order"),
        ("since > soon", 9, "'since' holds times, and 'soon' is none"),
        ("price : 2", 9, "'price' holds numbers, not texts"),
        ("raw = x", 7, "'raw' holds what cannot be compared"),
        ("materiall = wood", 1, "did you mean '[mM]aterial'?"),
    ],
)
def test_what_does_not_fit_the_catalogue_is_pointed_at(columns, text, position, words):
    with pytest.raises(FilterError, match=words) as error:
        columns.marks(text)
    assert error.value.position == position


def test_a_file_and_some_of_its_rows_are_read_like_a_table(tmp_path):
    pq.write_table(table(), tmp_path / "items.parquet", row_group_size=2)
    stored = Columns(tmp_path / "items.parquet", ITEMS)
    for text in ("material = wood", "tags = sale", "price < 21", "brand = acme"):
        whole = ItemColumns(stored).marks(text)
        assert whole.tolist() == ItemColumns(Columns(table(), ITEMS)).marks(text).tolist()
        some = np.array([1, 3])
        assert ItemColumns(stored.chosen(some)).marks(text).tolist() == whole[some].tolist()


def test_columns_say_what_they_are(columns):
    found = {one.name: (one.kind, one.attribute) for one in columns.describe()}
    assert found["price"] == ("number", False)
    assert found["cheap"] == ("truth", False)
    assert found["since"] == ("time", False)
    assert found["category"] == ("path", False)
    assert found["tags"] == ("text", False)
    assert found["raw"] == ("other", False)
    assert found["weight"] == ("text", True)
    assert "attributes" not in found
    columns.warm()
    with pytest.raises(RarsError, match="There is no column 'sise'; did you mean 'sizes'?"):
        columns.named("sise")


def test_an_attribute_that_an_item_has_twice_counts_both_times():
    rows = {"id": ["a", "b"], "attributes": [[("size", "1"), ("size", "2")], [("size", "3")]]}
    found = ItemColumns(Columns(table(rows), ITEMS))
    assert [found.marks(f"size = {n}").tolist() for n in (1, 2, 3)] == [
        [True, False],
        [True, False],
        [False, True],
    ]


def test_a_column_hides_an_attribute_of_its_name_unless_it_is_named_in_full():
    rows = {"id": ["a", "b"], "price": [1, 9], "attributes": [[("price", "high")], None]}
    found = ItemColumns(Columns(table(rows), ITEMS))
    assert found.marks("price < 5").tolist() == [True, False]
    assert found.marks("attributes.price = high").tolist() == [True, False]


def test_marks_are_kept_and_cannot_be_changed(columns):
    marks = columns.marks("brand = acme")
    assert columns.marks("brand = acme") is marks
    with pytest.raises(ValueError, match="read-only"):
        marks[0] = False


# -- any table, any filter -------------------------------------------------------------------------

WORDS = ("red", "Red", "dark blue", "5", "10", "", "漢字", "ＲＥＤ")
texts = st.one_of(st.none(), st.sampled_from(WORDS))
numbers = st.one_of(st.none(), st.integers(-3, 3).map(float), st.sampled_from([0.5, 2.5]))
LOOKS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))

    def rows(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    return {
        "id": [f"i{row}" for row in range(n)],
        "color": rows(texts),
        "price": rows(numbers),
        "new": rows(st.one_of(st.none(), st.booleans())),
        "tags": rows(st.one_of(st.none(), st.lists(texts, max_size=3))),
        "attributes": rows(
            st.one_of(
                st.none(), st.lists(st.tuples(st.sampled_from(["a", "b"]), texts), max_size=2)
            )
        ),
    }


def leaves():
    word = st.sampled_from(WORDS)
    column = st.sampled_from(["color", "tags", "a"])
    order = st.sampled_from(list(LOOKS))
    return st.one_of(
        st.tuples(column, st.just("="), word),
        st.tuples(column, st.just(":"), word),
        st.tuples(column, st.just("IN"), st.lists(word, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["color", "tags", "price", "new", "a"]), st.just("null")),
        st.tuples(st.just("price"), order, st.integers(-3, 3)),
        st.tuples(st.just("new"), st.just("="), st.booleans()),
    )


def trees():
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        ),
        max_leaves=6,
    )


def written(tree):
    """A tree as a filter."""
    if tree[0] == "not":
        return f"NOT ({written(tree[1])})"
    if tree[0] in ("and", "or"):
        return f"({written(tree[1])}) {tree[0].upper()} ({written(tree[2])})"
    if tree[1] == "null":
        return f"{tree[0]} IS NULL"
    if tree[1] == "IN":
        listed = ", ".join(f'"{word}"' for word in tree[2])
        return f"{tree[0]} IN ({listed})"
    value = f'"{tree[2]}"' if isinstance(tree[2], str) else str(tree[2]).lower()
    return f"{tree[0]} {tree[1]} {value}"


def looked(tree, row):
    """The same, decided by looking at one row in plain Python."""
    if tree[0] == "not":
        return not looked(tree[1], row)
    if tree[0] == "and":
        return looked(tree[1], row) and looked(tree[2], row)
    if tree[0] == "or":
        return looked(tree[1], row) or looked(tree[2], row)
    values = row[tree[0]]
    if tree[1] == "null":
        return not values
    if tree[1] == "IN":
        return any(folded(v) == folded(word) for v in values for word in tree[2])
    if isinstance(tree[2], str):
        wanted = folded(tree[2])
        if tree[1] == "=":
            return any(folded(v) == wanted for v in values)
        return any(wanted in folded(v) for v in values)
    return any(LOOKS[tree[1]](v, tree[2]) for v in values)


def values_of(rows, at):
    def one(value):
        return [] if value is None else [value]

    tags = rows["tags"][at] or []
    named = rows["attributes"][at] or []
    return {
        "color": one(rows["color"][at]),
        "price": one(rows["price"][at]),
        "new": one(rows["new"][at]),
        "tags": [tag for tag in tags if tag is not None],
        "a": [value for name, value in named if name == "a" and value is not None],
    }


@settings(max_examples=200, deadline=None)
@given(tables(), st.lists(trees(), min_size=1, max_size=4))
def test_a_filter_takes_what_a_plain_look_at_each_row_takes(rows, asked):
    types = {
        "color": pa.string(),
        "price": pa.float64(),
        "new": pa.bool_(),
        "tags": pa.list_(pa.string()),
        "attributes": pa.map_(pa.string(), pa.string()),
    }
    made = pa.table({name: pa.array(values, types.get(name)) for name, values in rows.items()})
    found = ItemColumns(Columns(made, ITEMS))
    every = [name for one in rows["attributes"] for name, _ in one or ()]
    for tree in asked:
        text = written(tree)
        if "a" not in every and any(word in text for word in ("a =", "a :", "a IN", "a IS")):
            with pytest.raises(FilterError, match="no column 'a'"):
                found.marks(text)
            continue
        expected = [looked(tree, values_of(rows, at)) for at in range(len(rows["id"]))]
        assert found.marks(text).tolist() == expected, text
