"""Likeness of letters: against sets of triples written out, for all titles and for some, kept and changed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars import artifacts
from rars.data.words import words
from rars.search.evidence import Ancestry
from rars.search.evidence.letters import (
    Letters,
    Likeness,
    Triples,
    files,
    load_letters,
    save_letters,
)
from rars.tree import PrefixTree

TITLES = [
    "Cordless drill 20V",
    "Drill bit set, 20 pieces",
    None,
    "Garden hose 25 m",
    "",
    "LED電球 昼光色",
    "cordles dril",
    "???",
]


def number(triple):
    """The number of a triple, by whole numbers of Python."""
    a, b, c = (ord(letter) for letter in triple)
    mixed = (a * 0x9E3779B1 ^ b * 0x85EBCA6B ^ c * 0xC2B2AE35) & 0xFFFFFFFF
    return ((mixed ^ mixed >> 15) * 0x27D4EB2F & 0xFFFFFFFF) >> 16


def triples(text):
    whole = f" {' '.join(words(text or ''))} "
    found = {whole[n : n + 3] for n in range(len(whole) - 2)} if whole.strip() else set()
    return {number(one) for one in found}


def by_definition(query, title):
    one, other = triples(query), triples(title)
    return len(one & other) / np.sqrt(max(1, len(one)) * max(1, len(other)))


texts = st.lists(st.one_of(st.none(), st.text(max_size=12), st.sampled_from(TITLES)), max_size=8)


@settings(max_examples=150, deadline=None)
@given(texts, st.one_of(st.text(max_size=12), st.sampled_from(["cordless dril 20v", "電球"])))
def test_likeness_is_that_of_sets_of_triples(titles, query):
    found = Letters.of([titles[:3], titles[3:]]).likeness(query)
    expected = [by_definition(query, title) for title in titles]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_some_items_of_several_segments_are_as_like_as_among_all(data):
    titles = data.draw(st.lists(st.sampled_from(TITLES), min_size=1, max_size=20))
    cut = data.draw(st.integers(0, len(titles)))
    kept = np.flatnonzero([data.draw(st.booleans()) for _ in titles])
    letters = Letters((Triples.of(titles[:cut]), Triples.of(titles[cut:])), kept)
    expected = [by_definition("cordless drill", titles[row]) for row in kept]
    assert len(letters) == len(kept)
    np.testing.assert_allclose(letters.likeness("cordless drill"), expected)
    some = np.flatnonzero(np.arange(len(kept)) % 2)
    np.testing.assert_allclose(
        letters.likeness("cordless drill", some), np.array(expected)[some].reshape(-1)
    )


def test_triples_hardly_ever_fall_together():
    letters = "abcdefghijklmnopqrstuvwxyz "
    every = [a + b + c for a in letters for b in letters for c in letters]
    assert len({number(one) for one in every}) > 0.85 * len(every)


def test_a_misspelt_query_is_most_like_the_title_it_means():
    likeness = Letters.of([TITLES]).likeness("cordles drll 20v")
    assert int(np.argmax(likeness)) == 0
    assert likeness[2] == likeness[4] == likeness[7] == 0


def test_as_evidence_the_likeness_follows_the_order_of_the_tree():
    tree = PrefixTree.build(np.random.default_rng(0).integers(0, 3, (len(TITLES), 2)))
    one = Likeness(Ancestry.of(tree), Letters.of([TITLES]), "garden hose")
    every = np.arange(len(TITLES))
    np.testing.assert_array_equal(one.whole().of(every), one.letters.likeness("garden hose"))
    places = np.array([1, 4, 6])
    some = one.at(places)
    np.testing.assert_array_equal(some.at(places), one.whole().at(places))
    assert some.at([0]) == 0
    assert not len(one.led(10))


def test_they_are_kept_and_opened_again_or_known_to_be_missing(tmp_path):
    with artifacts.writing(tmp_path / "a", kind="letters") as draft:
        save_letters(draft, "", pa.array(TITLES))
        save_letters(draft, "-000002", pa.array(["Bath towel"]))
    artifact = artifacts.opening(tmp_path / "a", kind="letters")
    found = load_letters(artifact, ("", "-000002"), None)
    expected = Letters.of([TITLES, ["Bath towel"]]).likeness("towel")
    np.testing.assert_array_equal(found.likeness("towel"), expected)
    assert found.fits([len(TITLES), 1])
    assert not found.fits([len(TITLES), 2])
    (tmp_path / "a" / files("-000002")[0]).unlink()
    assert load_letters(artifact, ("", "-000002"), None) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"starts": np.array([0, 2, 1, 4])},
        {"starts": np.array([0, 2, 3, 5])},
        {"starts": np.array([1, 2, 3, 4])},
        {"starts": np.array([0, 4])},
        {"numbers": np.zeros(4, dtype=np.int32)},
        {"numbers": np.zeros((4, 1), dtype=np.uint16)},
    ],
)
def test_what_cannot_be_triples_is_refused(broken):
    good = {"starts": np.array([0, 2, 3, 4]), "numbers": np.zeros(4, dtype=np.uint16)}
    assert Triples(**good).fits(3)
    assert not Triples(**{**good, **broken}).fits(3)
