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


def test_identifiers_of_turned_vectors_keep_the_maps_and_use_them_for_new_items(maps, tmp_path):
    vectors = families(300)
    dataset = shop(tmp_path / "shop", [f"item {row}" for row in range(300)])
    settings = IdentifierSettings(sizes=(16, 16), collisions="share")
    learned = learn_identifiers(dataset, settings, vectors=vectors, maps=maps)
    turned = learn_identifiers(dataset, settings, vectors=maps.items(vectors))
    np.testing.assert_array_equal(learned.codes, turned.codes)
    learned.save(tmp_path / "ids")
    opened = Identifiers.load(tmp_path / "ids")
    assert opened.maps is not None
    np.testing.assert_array_equal(opened.maps.query, maps.query)
    # The same vector as a new item gets the codes it has as an old one.
    new = opened.assign(opened.item_space(vectors[:40]), [f"new {row}" for row in range(40)])
    np.testing.assert_array_equal(new, learned.codes[:40])
    assert turned.maps is None
    np.testing.assert_array_equal(turned.query_space(vectors), vectors)


def test_maps_of_another_width_or_a_broken_file_are_one_sentence(maps, tmp_path):
    maps.save(tmp_path)
    with pytest.raises(RarsError, match="but vectors have 7 numbers"):
        Maps.load(tmp_path, 7)
    (tmp_path / "maps.safetensors").write_bytes(b"no")
    with pytest.raises(RarsError, match="does not hold the maps"):
        Maps.load(tmp_path)
