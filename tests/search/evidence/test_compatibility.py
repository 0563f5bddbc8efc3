"""The score of every item is the paper's formula, and its words are chosen as the paper says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rars.search.evidence import EvidenceIndex, Weights
from tests.search.evidence import naive
from tests.search.evidence.catalogue import item, make_catalogue
from tests.search.evidence.conftest import random_tree


def test_f_equals_the_formula_item_by_item(shop):
    dataset, index = shop
    items = dataset.items().to_pylist()
    have = [naive.attribute_keys(one) for one in items]
    texts = [naive.features(naive.catalogue_text(one)) for one in items]
    constrained = 0
    for query in dataset.query_texts.to_pylist():
        asked = index.read(query).constraints
        constrained += bool(asked)
        chosen = naive.kept_features(query, texts)
        expected = [
            naive.structured(asked, keys) + 0.25 * naive.lexical(chosen, words)
            for keys, words in zip(have, texts, strict=True)
        ]
        found = index.compatibility(query).of(np.arange(dataset.n_items))
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=query)
    assert constrained > 20  # the comparison must be about something


def test_prefix_maxima_of_real_queries_equal_the_definition(shop):
    dataset, index = shop
    tree = index.tree
    for query in dataset.query_texts.to_pylist()[:40]:
        evidence = index.compatibility(query)
        scores = evidence.of(tree.order)
        for depth in range(tree.depth + 1):
            nodes = np.arange(tree.n_nodes(depth))
            low, high = tree.item_ranges(depth, nodes)
            expected = [scores[a:b].max() for a, b in zip(low, high, strict=True)]
            np.testing.assert_array_equal(evidence.prefix_maxima(depth, nodes), expected)


@pytest.fixture
def words(tmp_path):
    """200 items; the words' document frequencies are 1, 2, 2, 4, 5 and 200."""
    titles = [["common"] for _ in range(200)]
    for word, rows in {
        "once": [0],
        "beta": [0, 1],
        "alpha": [1, 2],
        "four": [0, 1, 2, 3],
        "five": [5, 6, 7, 8, 9],
    }.items():
        for row in rows:
            titles[row].append(word)
    dataset = make_catalogue(tmp_path / "words", [item(" ".join(title)) for title in titles])
    return EvidenceIndex.build(dataset, random_tree(200))


def test_the_rarest_two_words_count_and_ties_go_by_string_order(words):
    found = words.read("common once four beta alpha").words
    assert [rare.word for rare in found] == ["alpha", "beta"]
    assert found[0].idf == pytest.approx(math.log(201 / 3))


def test_words_of_one_item_or_of_more_than_two_per_cent_do_not_count(words):
    assert words.read("once five common").words == ()
    assert [rare.word for rare in words.read("four five").words] == ["four"]


def test_the_lexical_part_weighs_words_by_their_idf(words):
    alpha, four = math.log(201 / 3), math.log(201 / 5)
    evidence = words.compatibility("alpha four")
    assert evidence.of([1, 3, 2, 9]).tolist() == pytest.approx(
        [0.25, 0.25 * four / (alpha + four), 0.25, 0.0]
    )


def test_without_constraints_the_structured_part_is_zero_for_all(words):
    assert words.compatibility("common").dense().tolist() == [0.0] * 200


def test_a_constraint_that_nothing_satisfies_lowers_all_alike(corner):
    assert set(corner.compatibility("magenta").dense().tolist()) == {-0.2}


def test_brands_are_missed_more_than_other_attributes(corner):
    evidence = corner.compatibility("ralph lauren")
    assert evidence.baseline == -0.25
    assert evidence.scores.max() == pytest.approx(1.0)
    both = corner.compatibility("acme black")
    assert both.dense().min() == pytest.approx(-(0.25 + 0.20) / 2)
    assert both.of([0]).tolist() == pytest.approx([1.0])


def test_the_constants_can_be_set(corner):
    weights = Weights(brand=1.0, lexical=0.0)
    assert corner.compatibility("sony", weights).baseline == -1.0
    assert corner.compatibility("headphones", Weights(most=1.0, words=0)).scores.size == 0
