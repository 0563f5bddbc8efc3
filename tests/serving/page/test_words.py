"""What the eye should find in a title."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.serving.page.words import pieces


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Black Mugs", "black mug", ["Black", "Mugs"]),
        ("Botella térmica", "botellas termica", ["Botella", "térmica"]),
        ("折りたたみ傘 黒", "傘", ["傘"]),
        ("ワイヤレスイヤホン", "イヤホン", ["イヤホン"]),
        ("ＵＳＢ cable", "usb", ["ＵＳＢ"]),
        ("size 42", "4", []),
        ("Men's shoes", "mens", ["Men's"]),
        ("anything", "", []),
        ("كوب أسود", "أسود", ["أسود"]),
    ],
)
def test_words_of_the_query_are_marked(text, query, marked):
    assert [one.text for one in pieces(text, query) if one.marked] == marked


@given(st.text(max_size=60), st.text(max_size=30))
def test_no_character_is_lost(text, query):
    found = pieces(text, query)
    assert "".join(one.text for one in found) == text
    assert all(one.text for one in found)


@given(st.text(min_size=1, max_size=20).filter(str.isalpha))
def test_a_text_that_is_the_query_is_marked(text):
    assert any(one.marked for one in pieces(text, text))
