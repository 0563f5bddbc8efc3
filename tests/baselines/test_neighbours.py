"""Search by memory alone and as a part of a fusion, on a shop of the tests."""

from __future__ import annotations

import numpy as np
import pytest

from rars import pipeline
from rars.baselines import Neighbours
from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import open_embedder
from rars.pipeline.opening import open_system


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop") / "shop"
    make_shop(folder, size="tiny")
    return Dataset.load(folder)


def test_a_training_query_finds_its_own_items_first(shop):
    query, item, _ = shop.positives("train")
    system = Neighbours.of(shop, open_embedder("use"))
    asked = np.unique(query)[:5]
    found = system.search([shop.query_texts[int(one)].as_py() for one in asked], 200)
    for row, one in enumerate(asked):
        listed = found.items[found.pointers[row] : found.pointers[row + 1]]
        assert set(item[query == one].tolist()) <= set(listed.tolist())
        assert np.isin(listed, item).all()  # nothing that nobody judged


def test_only_marked_items_are_found(shop):
    system = Neighbours.of(shop, open_embedder("use"))
    marks = np.arange(shop.n_items) % 3 == 0
    found = system.search(["red mug", "tent"], 50, among=marks)
    assert len(found.items)
    assert marks[found.items].all()


def test_the_recipes_train_and_answer(shop, tmp_path):
    for name, parts in (("neighbours", 0), ("fusion-judged", 3), ("fusion-letters", 4)):
        recipe = Recipe.resolve(name, changes=["dense.epochs=1"])
        trained = pipeline.train(shop, recipe, tmp_path / name)
        assert len(open_system(tmp_path / name).search("red mug", 5)) == 5
        weights = trained.learned.get("weights", [])
        assert len(weights) == len(trained.learned.get("parts", [])) == parts
        assert sum(weights) == pytest.approx(1 if parts else 0, abs=1e-3)  # four digits each


def test_a_catalogue_without_judgments_has_no_memory(shop):
    nobody = shop.with_judgments(shop.judgments.where(np.zeros(len(shop.judgments.query), bool)))
    with pytest.raises(RarsError, match="no judged training query to remember"):
        Neighbours.of(nobody, open_embedder("use"))
