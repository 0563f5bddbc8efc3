"""Pseudo-queries say something true of their item, reach every item, and follow from the seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import learn_identifiers
from rars.training.loop import TrainingModel, _optimizer
from rars.training.prepare import prepare
from rars.training.pseudo import pool
from rars.training.sampler import batches


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


def unjudged(shop):
    """The same catalogue with no judged training or validation query."""
    judged = shop.judgments
    return replace(shop, judgments=judged.where(np.isin(judged.query, shop.queries_in("test"))))


def recipe(name):
    changes = ["model.vocabulary=400", "identifiers.sizes=[16, 16]", "identifiers.fit=false"]
    return Recipe.resolve(name, size="tiny", changes=changes)


def test_a_catalogue_without_judged_queries_trains_on_pseudo_queries_alone(shop):
    bare, wanted = unjudged(shop), recipe("practical")
    prepared = prepare(bare, learn_identifiers(bare, wanted.identifiers), wanted)
    assert prepared.pool == 0
    found = batches(
        prepared.data, 0, pairs=64, seed=0, epoch=0, sampled=len(prepared.data), at_least=1
    )
    assert sorted(np.concatenate(found)) == list(range(len(prepared.data)))


def test_a_recipe_without_pseudo_queries_says_what_would_train(shop):
    bare, wanted = unjudged(shop), recipe("rars")
    with pytest.raises(RarsError, match="a recipe with pseudo-queries"):
        prepare(bare, learn_identifiers(bare, wanted.identifiers), wanted)


def test_the_tree_head_may_learn_faster_than_the_rest(shop):
    wanted = recipe("rars")
    prepared = prepare(shop, learn_identifiers(shop, wanted.identifiers), wanted)
    model = TrainingModel(prepared.ready.model, wanted.objective)
    settings = wanted.training.model_copy(update={"head_factor": 5.0})
    rates = {
        id(one): group["lr"]
        for group in _optimizer(model, settings).param_groups
        for one in group["params"]
    }
    for name, one in model.named_parameters():
        times = 5.0 if name.startswith("head.") else 1.0
        assert rates[id(one)] == pytest.approx(times * settings.learning_rate), name
