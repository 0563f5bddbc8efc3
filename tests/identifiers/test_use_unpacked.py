"""The sentence encoder opened from the cache: the same tokens and vectors, bit for bit, or made anew."""

from __future__ import annotations

import numpy as np
import pytest

from rars.errors import RarsWarning
from rars.identifiers.use import UniversalSentenceEncoder
from rars.identifiers.use_unpacked import opened

TEXTS = [
    "Qi power bank 10,000 mAh",
    "taza de cerámica",
    "折りたたみ傘 ½ﾃ",
    "",
    "\u00a0",
    "🙂 x1f",
    "a" * 300,
]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path))
    return tmp_path


def entry(cache):
    [folder] = (cache / "encoders").iterdir()
    return folder


def test_what_a_later_process_opens_gives_the_same_tokens_and_vectors(cache):
    first, later = UniversalSentenceEncoder(), UniversalSentenceEncoder()
    vectors = first.embed(TEXTS)
    assert np.array_equal(later.embed(TEXTS), vectors)
    assert "_package" not in vars(later), "the package's own files are not read again"
    assert [first._tokens(text) for text in TEXTS] == [later._tokens(text) for text in TEXTS]


@pytest.mark.parametrize("name", ["table.npy", "pieces.txt", "replacements.bin", "manifest.json"])
def test_a_damaged_entry_is_made_anew(cache, name):
    vectors = UniversalSentenceEncoder().embed(TEXTS)
    path = entry(cache) / name
    path.write_bytes(path.read_bytes()[:-3])
    assert opened(entry(cache)) is None
    assert np.array_equal(UniversalSentenceEncoder().embed(TEXTS), vectors)
    assert opened(entry(cache)) is not None


def test_a_cache_that_cannot_be_written_costs_only_time(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("RARS_CACHE", str(blocked / "cache"))
    with pytest.warns(RarsWarning, match="Nothing is kept for the next time"):
        assert UniversalSentenceEncoder().embed(["mug"]).shape == (1, 512)
