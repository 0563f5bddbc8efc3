"""Texts become the same words on both sides; the dictionary finds them; BM25 over them is BM25."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rars.baselines.bm25 import Bm25, catalogue_texts
from rars.data.words import fold, indexed, words
from rars.errors import RarsError
from rars.search.evidence import EvidenceIndex, Weights, color_words, colors, negation, units
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.lexical import Words
from rars.search.evidence.postings import PostingsBuilder
from rars.search.evidence.terms import MISSING, Terms
from rars.search.evidence.text import SEPARATOR, block_of, features, is_cjk, tokens
from tests.search.evidence.catalogue import make_catalogue
from tests.search.evidence.conftest import random_tree

ALPHABET = "aB1.,'’ -_(×½é９ßﾃアーㇷ水々いＡ한국\u1112\u1161ㅋ🙂д\t"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Men's T-Shirt", ["mens", "t", "shirt"]),
        ("１．５Ｌ", ["1.5l"]),
        ("LED電球", ["led", "電", "球"]),
        ("ｶﾞﾗｽ", ["ガ", "ラ", "ス"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("snake_case", ["snake", "case"]),
        ("10,000 mAh.", ["10,000", "mah"]),
        ("한국어 words", ["한", "국", "어", "words"]),
    ],
)
def test_words_and_single_cjk_characters(text, expected):
    assert [token.text for token in tokens(fold(text))] == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(ALPHABET, max_size=12), min_size=1, max_size=6))
def test_a_block_has_the_words_of_its_texts(texts):
    """The scanner of catalogues finds what a query of the same text asks for, as f_lex and as BM25."""
    found = features(block_of([pa.array(texts)]))

    def of(part, row):
        return [part.surfaces[code] for code in part.code[part.row == row]]

    for row, text in enumerate(texts):
        asked = [token.text for token in tokens(fold(text))]
        assert of(found.words, row) == [word for word in asked if not is_cjk(word[0])]
        assert of(found.characters, row) == [word for word in asked if is_cjk(word[0])]
        assert Counter(w for part in found for w in of(part, row)) == Counter(indexed(text))


def test_a_text_with_line_breaks_stays_one_text():
    block = block_of([pa.array(["a\nb", "c"])])
    assert block.count(SEPARATOR) == 1


@given(st.sets(st.text(max_size=6).filter(lambda text: text.isprintable())), st.text(max_size=6))
def test_a_dictionary_finds_what_it_holds_and_nothing_else(strings, other):
    terms = Terms.of(sorted(strings))
    held = [terms[number] for number in range(len(terms))]
    assert held == sorted(strings)
    assert [terms.find(string) for string in held] == list(range(len(terms)))
    assert (terms.find(other) == MISSING) == (other not in strings)
    assert (terms.first(other) is not None) == any(string.startswith(other) for string in strings)


def test_postings_are_sorted_positions_with_counts():
    builder = PostingsBuilder()
    builder.add(["b", "a"], np.array([0, 0, 1, 0], np.int32), np.array([2, 0, 2, 2], np.int32))
    builder.add(["a", "c"], np.array([0, 0], np.int32), np.array([3, 1], np.int32))
    postings = builder.finish(np.array([3, 2, 1, 0], dtype=np.int32))
    assert [postings.terms[n] for n in range(3)] == ["a", "b", "c"]
    assert postings.find("a").positions.tolist() == [0, 1, 2]
    assert [one.tolist() for one in postings.find("b").now()] == [[1, 3], [2, 1]]
    assert postings.items("c") == 0
    assert postings.items("unknown") == 0
    assert postings.find("unknown") is None


def test_bm25_is_the_baseline_divided_by_its_best(shop):
    """The same words, counts and lengths: evidence and baseline differ by the scale alone."""
    dataset, index = shop
    baseline = Bm25.of(dataset)
    single = next(filter(is_cjk, "".join(catalogue_texts(dataset).to_pylist())), "7")
    for query in [*dataset.query_texts.to_pylist()[:15], "mug mug men's", single]:
        found = baseline.search([query], k=dataset.n_items)
        expected = np.zeros(dataset.n_items)
        rows, scores = found.row(0)
        expected[rows] = scores / scores.max(initial=1e-9)
        evidence = index.bm25(query)
        np.testing.assert_allclose(
            evidence.of(np.arange(dataset.n_items)), expected, atol=1e-5, err_msg=query
        )


def naive_bm25(query, texts, k1=1.2, b=0.75):
    """BM25 from its definition."""
    documents = [Counter(indexed(text)) for text in texts]
    mean = sum(one.total() for one in documents) / len(documents)
    scores = [0.0] * len(texts)
    for word in words(query):
        df = sum(word in document for document in documents)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for row, document in enumerate(documents):
            norm = k1 * (1 - b + b * document.total() / mean)
            scores[row] += idf * document[word] / (document[word] + norm)
    highest = max(scores)
    return [score / highest if highest else 0.0 for score in scores]


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


def test_a_lone_character_finds_compounds_but_a_pair_no_single_characters(tmp_path):
    items = [{"title": title} for title in ("折りたたみ傘", "雨傘", "傘立て 雨", "革靴", "雨")]
    dataset = make_catalogue(tmp_path / "rain", items)
    index = EvidenceIndex.build(dataset, random_tree(len(items)))
    found = [
        np.flatnonzero(index.bm25(query).of(np.arange(5))).tolist()
        for query in ("傘", "雨傘", "靴 雨傘")
    ]
    assert found == [[0, 1, 2], [1], [1, 3]]
    [rare] = index.read("傘", Weights(most=1.0)).words
    assert sorted(index.tree.order[rare.listed.positions].tolist()) == [0, 1, 2]


MIXED = st.text("aB1.,' -é９ﾃアー水々い한\u1112\u1161д🙂", max_size=10)


@settings(max_examples=60, deadline=None)
@given(st.lists(MIXED, min_size=1, max_size=6), st.lists(MIXED, min_size=1, max_size=4))
@example(["水", *[""] * 8], ["水"])  # less than a word a text on average
def test_bm25_is_the_baseline_in_mixed_scripts(texts, queries):
    texts = [*texts, "水筒 1.5l"]
    names = PostingsBuilder()
    lengths = np.zeros(len(texts), dtype=np.int32)
    for part in features(block_of([pa.array(texts)])):
        names.add(part.surfaces, part.code, part.row)
        np.add.at(lengths, part.row, 1)
    tree = random_tree(len(texts))
    index = Words(names.finish(tree.positions), lengths[tree.order])
    found = Bm25(texts).search(queries, k=len(texts))
    for number, query in enumerate(queries):
        rows, scores = found.row(number)
        expected = np.zeros(len(texts))
        expected[rows] = scores / scores.max(initial=1e-9)
        evidence = index.bm25(Ancestry.of(tree), words(query)).whole()
        np.testing.assert_allclose(evidence.of(np.arange(len(texts))), expected, atol=1e-5)


def test_bm25_says_which_words_matched(corner):
    found = corner.bm25("sony phone").explain(2)
    assert [(one.text, one.matched) for one in found] == [("sony", True), ("phone", True)]


WORD_FILES = {
    "colors": (color_words.FILE, color_words.read_color_words),
    "units": (units.FILE, units.read_unit_words),
    "negation": (negation.FILE, negation.read_denial_words),
}


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("colors", 'family = "white"', 'famly = "white"', "colors.ivory.famly: is unknown"),
        ("colors", 'family = "white"', 'family = "wite"', "colors.ivory.family: 'wite' is no"),
        ("colors", 'family = "white"', 'family = "navy"', "colors.ivory.family: 'navy' is no"),
        ("colors", 'en = ["ivory"]', 'en = "ivory"', "colors.ivory.en: must be a list, not a text"),
        ("colors", 'en = ["ivory"]', "en = []", "colors.ivory.en: holds 0 texts"),
        ("colors", 'en = ["ivory"]', "en = [1]", "colors.ivory.en: must be a text, not a number"),
        ("colors", 'en = ["ivory"]', 'en = ["ivory "]', "colors.ivory.en: 'ivory ' is empty or"),
        ("colors", 'en = ["ivory"]', 'en = ["a", "a"]', "colors.ivory.en: 'a' is there twice"),
        (
            "colors",
            'en = ["ivory"]',
            'en = ["GOLD"]',
            "colors.gold.en: 'gold' is also a name of iv",
        ),
        ("colors", 'en = ["ivory"]', 'fr = ["ivoire"]', "colors.ivory.en: is missing"),
        ("colors", '"black tea"', '"black"', "phrases.en: 'black' is also a name of black"),
        ("units", 'is = ["meter"]', "", "units[5].is: is missing"),
        ("units", '"ミリグラム"', '"グラム"', "'グラム' is also a name of milligram"),
        ("units", 'en = ["pie"', 'en = ["pi"', "foreign.en: 'pi' is no name of a unit"),
        ("units", "ja = []", "", "foreign.ja: is missing"),
        ("negation", 'en = ["free"]', "", "behind.en: is missing"),
        ("negation", "menos = ", "mas = ", "unless_behind.mas: is not among the words of [before]"),
        ("negation", '["sin"]', '["con"]', "one_word.es: 'con' is not among the words of [before]"),
        ("negation", "[joining]", "[joyning]", "joining: is missing"),
        ("negation", 'en = ["free"]', "en = [free]", "is not readable TOML"),
    ],
)
def test_a_broken_word_file_is_named_with_its_key(tmp_path, name, old, new, message):
    file, read = WORD_FILES[name]
    whole = file.read_text(encoding="utf-8")
    assert old in whole
    broken = tmp_path / f"{name}.toml"
    broken.write_text(whole.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RarsError, match=f"{name}.toml.*{re.escape(message)}") as caught:
        read(broken)
    assert "\n" not in str(caught.value)


def test_every_unit_is_one_that_the_arithmetic_knows():
    words = units.unit_words()
    for reading in {one for some in words.readings.values() for one in some}:
        if reading not in (units.COUNT, units.NOTHING):
            assert units.measure(1, reading)
    assert {one for some in words.readings.values() for one in some} >= units.LENGTHS


def test_names_with_signs_and_gaps_are_read_as_they_are_written():
    assert colors.canonical("off-white") == "white"
    assert units.readings('"') == ("inch",)
    assert units.readings("fl. oz") == ("fluid_ounce",)


def test_every_name_of_a_colour_is_found_whole():
    # A longer name wins over one that it begins with, though names are compiled in groups.
    pattern = colors._pattern(None)
    for name in colors._tables()[0]:
        found = pattern.match(name)
        assert found is not None, name
        assert found[0] == name
