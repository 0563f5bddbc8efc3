"""Codes by shards are the codes of the whole, and vectors on disk are turned as those in memory."""

from __future__ import annotations

import numpy as np
import pytest

from rars.identifiers import assigning, turning
from rars.identifiers.assigning import encoded
from rars.identifiers.kmeans import fit_residual_kmeans
from rars.identifiers.maps import Maps
from rars.identifiers.turning import turned_items
from rars.scale.local import Local

from .worlds import families


@pytest.fixture
def world(monkeypatch):
    vectors = families(700)
    monkeypatch.setattr(assigning, "ROWS", 256)
    return fit_residual_kmeans(vectors, (8, 8, 8)), vectors


def test_shards_give_the_codes_of_the_whole(world, tmp_path):
    quantizer, vectors = world
    whole = quantizer.encode(vectors)
    for engine in (None, Local(2)):
        more = {} if engine is None else {"engine": engine}
        found = encoded(quantizer, vectors, cache=tmp_path, **more)
        assert found.dtype == whole.dtype
        np.testing.assert_array_equal(found, whole)
    assert not list((tmp_path / "assignments").iterdir())


def test_a_kill_costs_the_shard_in_hand(world, tmp_path, monkeypatch):
    quantizer, vectors = world
    asked, plain = [], type(quantizer).encode

    def counted(self, some):
        if len(asked) == 1:
            asked.append(0)
            raise KeyboardInterrupt
        asked.append(len(some))
        return plain(self, some)

    monkeypatch.setattr(type(quantizer), "encode", counted)
    with pytest.raises(KeyboardInterrupt):
        encoded(quantizer, vectors, cache=tmp_path)
    np.testing.assert_array_equal(
        encoded(quantizer, vectors, cache=tmp_path), plain(quantizer, vectors)
    )
    assert asked == [256, 0, 256, 188]


def test_vectors_too_many_for_memory_are_turned_in_a_file(tmp_path, monkeypatch):
    vectors = families(300)
    maps = Maps(*(0.1 * np.random.default_rng(0).normal(size=(2, 24, 24)).astype(np.float32)))
    plain = turned_items(vectors, maps, ["shop"], cache=tmp_path)
    assert not isinstance(plain, np.memmap)
    monkeypatch.setattr(turning, "EASILY", 0)
    stored = turned_items(vectors, maps, ["shop"], cache=tmp_path)
    assert isinstance(stored, np.memmap)
    np.testing.assert_array_equal(stored, plain)
    other = turned_items(-vectors, maps, ["another shop"], cache=tmp_path)
    assert not np.array_equal(other, plain)
