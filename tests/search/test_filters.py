"""The filter language is read as it says, and what cannot be read is pointed at."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.errors import FilterError, RarsError
from rars.search.filters import DEEPEST, LONGEST, All, Comparison, Not, Some, conjuncts, parse


def plain(found):
    """An expression as nested tuples."""
    if isinstance(found, Comparison):
        return (found.name, found.operation, *(value.text for value in found.values))
    if isinstance(found, Not):
        return ("not", plain(found.part))
    word = {All: "and", Some: "or"}[type(found)]
    return (word, *map(plain, found.parts))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("price < 20", ("price", "<", "20")),
        ("price<=2e1", ("price", "<=", "2e1")),
        ('brand = "Acme & Sons"', ("brand", "=", "Acme & Sons")),
        ("brand == 'O\\'Neill'", ("brand", "=", "O'Neill")),
        ("color != red", ("not", ("color", "=", "red"))),
        ("color IN (black, 'dark blue')", ("color", "in", "black", "dark blue")),
        ("color not in (red)", ("not", ("color", "in", "red"))),
        ("title : mug", ("title", "contains", "mug")),
        ("title CONTAINS mug", ("title", "contains", "mug")),
        ("title not contains mug", ("not", ("title", "contains", "mug"))),
        ("brand IS NULL", ("brand", "null")),
        ("brand is not null", ("not", ("brand", "null"))),
        ("brand EXISTS", ("not", ("brand", "null"))),
        ("brand NOT EXISTS", ("brand", "null")),
        ("`in stock` = true", ("in stock", "=", "true")),
        ("attributes.lid = 黒い", ("attributes.lid", "=", "黒い")),
        ("a=1 OR b=2 AND c=3", ("or", ("a", "=", "1"), ("and", ("b", "=", "2"), ("c", "=", "3")))),
        (
            "(a=1 OR b=2) AND c=3",
            ("and", ("or", ("a", "=", "1"), ("b", "=", "2")), ("c", "=", "3")),
        ),
        ("NOT a=1 AND b=2", ("and", ("not", ("a", "=", "1")), ("b", "=", "2"))),
        ("not not (a=1)", ("not", ("not", ("a", "=", "1")))),
    ],
)
def test_a_filter_is_read_as_it_says(text, expected):
    assert plain(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 1, "is empty"),
        ("   ", 1, "is empty"),
        ("price <", 8, "a value should follow, but the filter ends"),
        ("price", 6, "after 'price' one of"),
        ("color = dark blue", 14, "AND or OR should follow, not 'blue'; .* in quotes"),
        ("(a = 1 OR b = 2", 16, r"'\)' should follow"),
        ("a = 1)", 6, r"AND or OR should follow, not '\)'"),
        ("a IN black", 6, r"'\(' and a list"),
        ("a IN (1 2)", 9, r"',' or '\)' should follow"),
        ("a IN ()", 7, "a value should follow"),
        ("a IS 3", 6, "NULL or NOT NULL"),
        ("a NOT 3", 7, "IN, CONTAINS or EXISTS"),
        ('a = "x', 5, "a quote is not closed"),
        ("`a = 1", 1, "a backtick is not closed"),
        ('"a" = 1', 1, "name of a column .* no quotes"),
        ("a = and", 5, "a value should follow, not 'and'; .* 'and'"),
        ("a = 1 AND", 10, "name of a column"),
        ("a ! 1", 3, "'!' means nothing here"),
        ("(" * (DEEPEST + 1) + "a=1", DEEPEST + 1, "levels deep"),
        ("x" * (LONGEST + 1), LONGEST + 1, "at most"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text, position, words):
    with pytest.raises(FilterError, match=words) as error:
        parse(text)
    assert isinstance(error.value, RarsError)
    assert error.value.position == position
    assert error.value.filter == text
    assert f"character {position}: " in str(error.value)
    assert "\n" not in str(error.value)


def test_clauses_are_told_apart_by_their_place():
    text = "brand = Acme AND (price < 20 OR NOT color : red) AND size IN (1, 2)"
    said = [text[one.start : one.end] for one in conjuncts(parse(text))]
    assert said == ["brand = Acme", "(price < 20 OR NOT color : red)", "size IN (1, 2)"]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=" abAND()ORNOTIS=<>!:,\"'`\\1.5é漢\n", max_size=40))
def test_any_text_is_a_filter_or_a_sentence(text):
    position = 1
    try:
        parse(text)
    except FilterError as error:
        position = error.position
    assert 1 <= position <= len(text) + 1
