"""Postings that follow a change are those of a catalogue that was read anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.search.evidence import growth
from rars.search.evidence.growth import Grown
from rars.search.evidence.lists import Moves
from rars.search.evidence.postings import PostingsBuilder

WORDS = ["a", "ab", "b", "mug", "zeta", "é", "照明", ""]


def made(texts, positions):
    """Postings of texts (lists of words), each at its position."""
    builder = PostingsBuilder()
    row = np.repeat(np.arange(len(texts)), [len(words) for words in texts]).astype(np.int32)
    used = sorted({word for words in texts for word in words})
    code = np.array([used.index(word) for words in texts for word in words], dtype=np.int32)
    builder.add(used, code, row)
    return builder.finish(np.asarray(positions, dtype=np.int32))


def plain(postings):
    """Every term with its items and counts; a term that is known has some."""
    found = {word: postings.find(word) for word in WORDS}
    for word, listed in found.items():
        assert postings.items(word) == (0 if listed is None else len(listed.positions))
    return {
        word: list(zip(*listed.now(), strict=True))
        for word, listed in found.items()
        if listed is not None
    }


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=5), max_size=12)


@st.composite
def changes(draw, before):
    """What becomes of texts at positions: ``Moves``, the texts after it, and the new ones, with positions."""
    texts, first = before
    stays = [draw(st.booleans()) for _ in texts]
    kept = [text for text, stay in zip(texts, stays, strict=True) if stay]
    new = draw(TEXTS)
    places = np.array(draw(st.permutations(range(len(kept) + len(new)))), dtype=np.int32)
    if draw(st.booleans()):  # items that stay keep their order
        order = np.argsort(np.argsort(first[np.flatnonzero(stays)]))
        places[: len(kept)] = np.sort(places[: len(kept)])[order]
    to = np.full(len(texts), -1, dtype=np.int32)
    to[first[np.flatnonzero(stays)]] = places[: len(kept)]
    return Moves(to, len(places)), [*kept, *new], places, made(new, places[len(kept) :])


@given(before=TEXTS, block=st.integers(1, 9), data=st.data())
def test_a_change_gives_what_reading_anew_gives(before, block, data):
    """Whether the items that stay keep their order or not, and however many postings are a block."""
    first = np.array(data.draw(st.permutations(range(len(before)))), dtype=np.int32)
    moves, after, places, new = data.draw(changes((before, first)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rars.search.evidence.postings._BLOCK", block)
        changed = made(before, first).changed(moves, new)
    anew = made(after, places)
    assert plain(changed) == plain(anew)
    assert changed.terms.array().equals(anew.terms.array())
    assert changed.fits(len(places))
    assert changed.positions.dtype == anew.positions.dtype


@given(before=TEXTS, worn=st.sampled_from([0, 1, 8]), data=st.data())
def test_shared_postings_are_those_of_reading_anew_after_any_number_of_changes(before, worn, data):
    """Never made anew (0), or when so much has changed: no list, count or first term shows it."""
    place = np.array(data.draw(st.permutations(range(len(before)))), dtype=np.int32)
    texts, postings = before, made(before, place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "SHARED", 0)
        patch.setattr(growth, "WORN", worn)
        for _ in range(data.draw(st.integers(1, 4))):
            moves, texts, place, new = data.draw(changes((texts, place)))
            postings = growth.changed(postings, moves, new, growth.shared_since(postings, moves))
            if moves.rises and not worn:
                assert isinstance(postings, Grown)
    anew = made(texts, place)
    assert plain(postings) == plain(anew)
    assert postings.fits(len(texts))
    for prefix in ("", "a", "ab", "b", "m", "照", "é", "x"):
        assert postings.first(prefix) == anew.first(prefix)
    some = np.flatnonzero(np.arange(len(texts)) % 2)
    for word in WORDS:
        if (listed := postings.find(word)) is not None:
            places, counts = listed.at(some)
            known = dict(plain(anew)[word])
            assert dict(zip(some[places], counts, strict=True)) == {
                one: count for one, count in known.items() if one in some
            }


def test_moves_that_cannot_be_are_refused():
    good = np.array([0, 2, -1, 3], dtype=np.int32)
    assert Moves(good, 4).fits(4, 4)
    for bad in ([0, 2, -1, 4], [0, 2, -2, 3], [2, 0, -1, 3], [0, 0, -1, 3], [0, 2, 3]):
        assert not Moves(np.array(bad, dtype=np.int32), 4).fits(4, 4), bad
    assert not Moves(good.astype(np.int64), 4).fits(4, 4)


def test_words_that_nobody_has_any_more_are_forgotten():
    before, none = made([["mug"], ["zeta"]], [0, 1]), made([], [])
    changed = before.changed(Moves(np.array([0, -1], dtype=np.int32), 1), none)
    assert plain(changed) == {"mug": [(0, 1)]}
    assert changed.find("zeta") is None
