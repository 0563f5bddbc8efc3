"""Vectors turned towards judgments: the maps are applied alike to old items, new items and queries."""

from __future__ import annotations

import numpy as np
import pytest

from rars.config import IdentifierSettings
from rars.errors import RarsError
from rars.identifiers import Identifiers, Maps, learn_identifiers
from tests.identifiers.worlds import families, shop

DIM = 24


@pytest.fixture
def maps():
    rng = np.random.default_rng(3)
    return Maps(*(rng.normal(scale=0.3, size=(2, DIM, DIM)).astype(np.float32)))


def by_definition(vectors, matrix):
    turned = vectors @ (np.eye(DIM) + matrix)
    return turned / np.sqrt((turned**2).sum(axis=1))[:, None]


def test_vectors_are_turned_and_scaled_to_length_one(maps):
    vectors = families(200)
    np.testing.assert_allclose(maps.items(vectors), by_definition(vectors, maps.item), atol=1e-5)
    np.testing.assert_allclose(maps.queries(vectors), by_definition(vectors, maps.query), atol=1e-5)


def test_identifiers_without_maps_take_vectors_as_they_are(tmp_path):
    vectors = families(100)
    dataset = shop(tmp_path / "shop", [f"item {row}" for row in range(100)])
    plain = learn_identifiers(dataset, IdentifierSettings(sizes=(16, 16)), vectors=vectors)
    assert plain.maps is None
    np.testing.assert_array_equal(plain.query_space(vectors), vectors)
    plain.save(tmp_path / "ids")
    assert Identifiers.load(tmp_path / "ids").maps is None


def test_maps_of_another_width_or_a_broken_file_are_one_sentence(maps, tmp_path):
    maps.save(tmp_path)
    with pytest.raises(RarsError, match="but vectors have 7 numbers"):
        Maps.load(tmp_path, 7)
    (tmp_path / "maps.safetensors").write_bytes(b"no")
    with pytest.raises(RarsError, match="does not hold the maps"):
        Maps.load(tmp_path)
