"""Texts become the same words on both sides; the dictionary finds them; BM25 over them is BM25."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data.words import fold
from rars.search.evidence.lexical import bm25_words
from rars.search.evidence.postings import PostingsBuilder
from rars.search.evidence.terms import MISSING, Terms
from rars.search.evidence.text import SEPARATOR, block_of, features, tokens

ALPHABET = "aB1.,'’ -_(×½é９ßﾃアー水いＡ🙂\t"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Men's T-Shirt", ["mens", "t", "shirt"]),
        ("１．５Ｌ", ["1.5l"]),
        ("LED電球", ["led", "電", "球"]),
        ("ｶﾞﾗｽ", ["ガ", "ラ", "ス"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("snake_case", ["snake", "case"]),
        ("10,000 mAh.", ["10,000", "mah"]),
        ("한국어 words", ["한국어", "words"]),
    ],
)
def test_words_and_single_cjk_characters(text, words):
    assert [token.text for token in tokens(fold(text))] == words


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(ALPHABET, max_size=12), min_size=1, max_size=6))
def test_a_block_has_the_words_of_its_texts(texts):
    singles, pairs = features(block_of([pa.array(texts)]))
    for row, text in enumerate(texts):
        read = tokens(fold(text))
        found = [singles.surfaces[code] for code in singles.code[singles.row == row]]
        assert found == [token.text for token in read]
        two = [pairs.surfaces[code] for code in pairs.code[pairs.row == row]]
        asked = [word for word in bm25_words(read) if len(word) == 2 and fold(word)[0] >= "\u3000"]
        assert Counter(two) == Counter(asked)


def test_a_text_with_line_breaks_stays_one_text():
    block = block_of([pa.array(["a\nb", "c"])])
    assert block.count(SEPARATOR) == 1


@given(st.sets(st.text(max_size=6).filter(lambda text: text.isprintable())), st.text(max_size=6))
def test_a_dictionary_finds_what_it_holds_and_nothing_else(words, other):
    terms = Terms.of(sorted(words))
    held = [terms[number] for number in range(len(terms))]
    assert held == sorted(words)
    assert [terms.find(word) for word in held] == list(range(len(terms)))
    assert (terms.find(other) == MISSING) == (other not in words)
    assert terms.begins(other) == any(word.startswith(other) for word in words)


def test_postings_are_sorted_positions_with_counts():
    builder = PostingsBuilder()
    builder.add(["b", "a"], np.array([0, 0, 1, 0], np.int32), np.array([2, 0, 2, 2], np.int32))
    builder.add(["a", "c"], np.array([0, 0], np.int32), np.array([3, 1], np.int32))
    postings = builder.finish(np.array([3, 2, 1, 0], dtype=np.int32))
    assert [postings.terms[n] for n in range(3)] == ["a", "b", "c"]
    assert postings.of(0).tolist() == [0, 1, 2]
    assert (postings.of(1).tolist(), postings.counts_of(1).tolist()) == ([1, 3], [2, 1])
    assert postings.items("c") == 0
    assert postings.items("unknown") == 0
    assert postings.any_of(["b", "a", "unknown"]).tolist() == [0, 1, 2, 3]


def naive_bm25(query, texts, k1=1.2, b=0.75):
    """BM25 from its definition, over words, CJK pairs and CJK characters that stand alone."""
    documents = [tokens(fold(text)) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = [0.0] * len(texts)
    for word in bm25_words(tokens(fold(query))):
        counts = [count_of(word, document) for document in documents]
        df = sum(count > 0 for count in counts)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for row, (count, document) in enumerate(zip(counts, documents, strict=True)):
            norm = k1 * (1 - b + b * len(document) / mean)
            scores[row] += idf * count / (count + norm) if count else 0.0
    highest = max(scores)
    return [score / highest if highest else 0.0 for score in scores]


def count_of(word, document):
    if len(word) == 2 and word[0] >= "\u3000":
        return sum(
            left.text + right.text == word and left.end == right.start
            for left, right in pairwise(document)
        )
    return sum(token.text == word for token in document)


def test_bm25_equals_its_definition(shop):
    dataset, index = shop
    rows = dataset.items(["title", "text", "brand", "color"]).to_pylist()
    texts = [" ".join(value or "" for value in row.values()) for row in rows]
    for query in dataset.query_texts.to_pylist()[:15]:
        expected = naive_bm25(query, texts)
        evidence = index.bm25(query)
        np.testing.assert_allclose(
            evidence.of(np.arange(len(rows))), expected, atol=1e-9, err_msg=query
        )
        assert evidence.dense().max() in (0.0, pytest.approx(1.0))


def test_bm25_says_which_words_matched(corner):
    found = corner.bm25("sony phone").explain(2)
    assert [(one.text, one.matched) for one in found] == [("sony", True), ("phone", True)]
