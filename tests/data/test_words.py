"""One tokeniser for spaced scripts and those without."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data.words import CJK, LETTER, fold, indexed, spaced, words

ALPHABET = "aB1.,'’ -_(×½é９ßﾃアーㇷ水々いＡ한국\u1112\u1161ㅋ🙂д\t"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Men’s Men's", ["mens", "mens"]),
        ("Bluetooth 3.0, 1.5L.", ["bluetooth", "3.0", "1.5l"]),
        ("v.2 3.x 'a'", ["v", "2", "3", "x", "a"]),
        ("USB充電ケーブルと茶", ["usb", "充電", "電ケ", "ケー", "ーブ", "ブル", "ルと", "と茶"]),
        ("茶 3個 한국어 차", ["茶", "3", "個", "한국", "국어", "차"]),
    ],
)
def test_words_and_pairs_of_cjk_characters(text, expected):
    assert words(text) == expected


def naive_words(text):
    """A text character by character: what is joined to its left neighbour, and what is not."""
    folded, found, at = fold(text), [], 0

    def is_letter(place):
        return re.fullmatch(LETTER, folded[place : place + 1]) is not None

    def is_cjk(place):
        return re.fullmatch(f"[{CJK}]", folded[place : place + 1]) is not None

    while at < len(folded):
        end = at
        if is_cjk(at):
            while is_cjk(end):
                end += 1
            found += [folded[n : n + 2] for n in range(at, end - 1)] or [folded[at]]
        elif is_letter(at):
            word = ""
            while is_letter(end) or (
                end < len(folded)
                and is_letter(end + 1)
                and is_letter(end - 1)
                and (
                    folded[end] in "'’"
                    or (folded[end] in ".," and (folded[end - 1] + folded[end + 1]).isdecimal())
                )
            ):
                word += folded[end] if folded[end] not in "'’" else ""
                end += 1
            found.append(word)
        at = max(end, at + 1)
    return found


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=16))
def test_words_are_what_their_definition_says(text):
    assert words(text) == naive_words(text)


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=16))
def test_an_item_is_found_by_its_words_and_each_of_its_cjk_characters(text):
    singles = Counter(re.findall(f"[{CJK}]", fold(text)))
    longer = Counter(word for word in words(text) if word not in singles)
    assert Counter(indexed(text)) == longer + singles


@settings(max_examples=300, deadline=None)
@given(st.lists(st.none() | st.text(ALPHABET + "\n\r\u2028\u0301Σ") | st.text(), max_size=4))
def test_many_texts_have_the_words_that_each_has_alone(texts):
    alone = [" ".join(words(text or "")) for text in texts]
    assert spaced(texts) == [f" {line} " if line else "" for line in alone]
