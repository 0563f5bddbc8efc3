"""Postings that follow a change are those of a catalogue that was read anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    return {
        postings.terms[n]: list(zip(postings.of(n), postings.counts_of(n), strict=True))
        for n in range(len(postings.terms))
    }


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=5), max_size=12)


@given(before=TEXTS, new=TEXTS, block=st.integers(1, 9), data=st.data())
def test_a_change_gives_what_reading_anew_gives(before, new, block, data):
    """Whether the items that stay keep their order or not, and however many postings are a block."""
    stays = [data.draw(st.booleans()) for _ in before]
    kept = [text for text, stay in zip(before, stays, strict=True) if stay]
    places = np.array(data.draw(st.permutations(range(len(kept) + len(new)))), dtype=np.int32)
    if data.draw(st.booleans()):
        places[: len(kept)].sort()
    first = np.array(data.draw(st.permutations(range(len(before)))), dtype=np.int32)
    to = np.full(len(before), -1, dtype=np.int32)
    to[first[np.flatnonzero(stays)]] = places[: len(kept)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rars.search.evidence.postings._BLOCK", block)
        changed = made(before, first).changed(to, made(new, places[len(kept) :]))
    anew = made([*kept, *new], places)
    assert plain(changed) == plain(anew)
    assert changed.fits(len(places))
    assert changed.positions.dtype == anew.positions.dtype


def test_words_that_nobody_has_any_more_are_forgotten():
    before, none = made([["mug"], ["zeta"]], [0, 1]), made([], [])
    changed = before.changed(np.array([0, -1], dtype=np.int32), none)
    assert plain(changed) == {"mug": [(0, 1)]}
    assert changed.find("zeta") == -1
