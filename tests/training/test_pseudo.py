"""Pseudo-queries say something true of their item, reach every item, and follow from the seed."""

from __future__ import annotations

import numpy as np
import pytest

from rars.data import Dataset
from rars.data.shop import make_shop
from rars.training.pseudo import pool


@pytest.fixture(scope="module", params=["en", "ja"])
def shop(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pseudo") / "shop"
    make_shop(folder, size="tiny", locale=request.param)
    return Dataset.load(folder)


def test_every_item_comes_up_before_any_does_twice(shop):
    items, _ = pool(shop, shop.n_items + 10, seed=0)
    assert sorted(items[: shop.n_items]) == list(range(shop.n_items))


def test_the_seed_decides(shop):
    assert pool(shop, 50, seed=1)[1] == pool(shop, 50, seed=1)[1]
    assert pool(shop, 50, seed=1)[1] != pool(shop, 50, seed=2)[1]


def test_a_pseudo_query_is_made_of_its_items_own_words(shop):
    items, texts = pool(shop, 200, seed=0)
    rows = shop.items().to_pylist()
    for item, text in zip(items, texts, strict=True):
        row = rows[int(item)]
        values = [value for _, value in row["attributes"] or []]
        known = " ".join(
            map(str, [row["title"], row["brand"], row["color"], *row["category"], *values])
        )
        assert text.strip()
        assert all(word in known for word in text.split())


def test_kinds_of_pseudo_queries_vary(shop):
    _, texts = pool(shop, 200, seed=0)
    assert np.ptp([len(text) for text in texts]) > 10
    assert len(set(texts)) > 150
