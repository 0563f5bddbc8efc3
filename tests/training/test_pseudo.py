"""Pseudo-queries say something true of their item, reach every item, and follow from the seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import learn_identifiers
from rars.pipeline import costs
from rars.training import pseudo
from rars.training.loop import TrainingModel, _optimizer
from rars.training.prepare import prepare
from rars.training.pseudo import _MOST, _WordIndex, pool
from rars.training.sampler import batches


@pytest.fixture(scope="module", params=["en", "ja"])
def shop(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pseudo") / "shop"
    make_shop(folder, size="tiny", locale=request.param)
    return Dataset.load(folder)


def test_every_item_comes_up_before_any_does_twice(shop):
    source = pool(shop, shop.n_items + 10, seed=0).source
    assert sorted(source[: shop.n_items]) == list(range(shop.n_items))


def test_the_seed_decides(shop):
    one, same, other = (pool(shop, 50, seed) for seed in (1, 1, 2))
    assert one.texts == same.texts
    assert one.item.tolist() == same.item.tolist()
    assert one.texts != other.texts


def said_of(row):
    """Everything a pseudo-query may say of an item."""
    values = [word for name, value in row["attributes"] or [] for word in (name, value)]
    every = [row["title"], row["brand"], row["color"], *row["category"], *values]
    return " ".join(map(str, every)).replace("_", " ")


def test_a_pseudo_query_is_made_of_its_items_own_words(shop):
    made = pool(shop, 200, seed=0)
    rows = shop.items().to_pylist()
    for item, text in zip(made.source, made.texts, strict=True):
        assert text.strip()
        assert all(word in said_of(rows[int(item)]) for word in text.split())


def test_nobody_types_yes_or_no(shop):
    texts = " ".join(pool(shop, 300, seed=0).texts).split()
    assert not {"yes", "no", "あり", "なし"} & set(texts)


def test_kinds_of_pseudo_queries_vary(shop):
    texts = pool(shop, 200, seed=0).texts
    assert np.ptp([len(text) for text in texts]) > 10
    assert len(set(texts)) > 150


def test_the_source_is_always_among_the_positives(shop):
    made = pool(shop, 200, seed=0)
    hits = made.item == made.source[made.query]
    assert np.array_equal(made.query[hits], np.arange(200))
    assert (np.diff(made.query) >= 0).all()
    assert np.bincount(made.query).max() <= _MOST


WORDS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5)


@given(st.lists(WORDS, min_size=1, max_size=12), st.data())
def test_positives_are_the_items_that_hold_every_word(titles, data):
    """Against the definition, one item and word at a time; unknown words ask nothing."""
    source = data.draw(st.lists(st.integers(0, len(titles) - 1), min_size=1, max_size=6))
    asked = [
        data.draw(st.lists(st.sampled_from([*titles[item], "unknown"]), max_size=4))
        for item in source
    ]
    blank = [None] * len(titles)
    table = pa.table(
        {
            "title": [" ".join(title) for title in titles],
            "brand": blank,
            "color": blank,
            "category": blank,
            "attributes": blank,
        }
    )
    rng = np.random.default_rng(0)
    texts = [" ".join(words) for words in asked]
    query, item = _WordIndex.of(table).relevant(texts, np.array(source), rng)
    for number, words in enumerate(asked):
        wanted = {word for word in words if word != "unknown"}
        holding = {row for row, title in enumerate(titles) if wanted <= set(title)}
        expected = holding if wanted else {source[number]}
        assert set(item[query == number].tolist()) == expected


def test_a_lone_character_is_held_inside_compounds_too():
    """As BM25 finds it; a pair is not held by an item that has its characters apart."""
    titles = ["折りたたみ傘", "雨傘", "傘 雨", "革靴"]
    blank = [None] * len(titles)
    table = pa.table(
        {"title": titles, "brand": blank, "color": blank, "category": blank, "attributes": blank}
    )
    rng = np.random.default_rng(0)
    query, item = _WordIndex.of(table).relevant(["傘", "雨傘"], np.array([0, 1]), rng)
    assert item[query == 0].tolist() == [0, 1, 2]
    assert item[query == 1].tolist() == [1]


@pytest.mark.parametrize("looked", [100, 10_000])
def test_of_too_many_positives_some_are_drawn(looked, monkeypatch):
    monkeypatch.setattr(pseudo, "_LOOKED", looked)
    titles = ["mug"] * 500
    blank = [None] * len(titles)
    table = pa.table(
        {"title": titles, "brand": blank, "color": blank, "category": blank, "attributes": blank}
    )
    held = _WordIndex.of(table)
    _, some = held.relevant(["mug"], np.array([499]), np.random.default_rng(0))
    _, others = held.relevant(["mug"], np.array([499]), np.random.default_rng(1))
    assert len(some) == len(others) == _MOST
    assert 499 in some
    assert 499 in others
    assert set(some) != set(others)


def unjudged(shop):
    """The same catalogue with no judged training or validation query."""
    judged = shop.judgments
    return replace(shop, judgments=judged.where(np.isin(judged.query, shop.queries_in("test"))))


def few(shop, count):
    """The same catalogue with so many judged training queries."""
    judged = shop.judgments
    kept = np.concatenate([shop.queries_in("train")[:count], shop.queries_in("test")])
    return replace(shop, judgments=judged.where(np.isin(judged.query, kept)))


def recipe(name, *more):
    changes = ["model.vocabulary=400", "identifiers.sizes=[16, 16]", "identifiers.fit=false"]
    return Recipe.resolve(name, size="tiny", changes=[*changes, *more])


@pytest.mark.parametrize(
    ("least", "share", "expected"), [(0, 4, 12), (50, 4, 50), (50, 20, 60), (10**9, 4, None)]
)
def test_few_judged_queries_do_not_mean_few_pseudo_queries(shop, least, share, expected):
    """As many as ``least`` an epoch, or all that are made: at most two an item."""
    sparse = few(shop, 3)
    changes = (f"training.pseudo.least={least}", f"training.pseudo.share={share}")
    wanted = recipe("practical", *changes, "training.epochs=2")
    prepared = prepare(sparse, learn_identifiers(sparse, wanted.identifiers), wanted)
    _, pseudo = prepared.taken(wanted.phases[0].loop)
    made = pseudo.stop - pseudo.start
    assert pseudo.sample == (expected or 2 * shop.n_items)
    assert made == min(2 * pseudo.sample, 2 * shop.n_items)
    assert costs.made_queries(sparse, wanted, epochs=2) == made, "what is expected is what is made"


def test_least_says_nothing_where_pseudo_queries_are_off(shop):
    wanted = recipe("practical", "training.pseudo.share=0")
    prepared = prepare(shop, learn_identifiers(shop, wanted.identifiers), wanted)
    assert prepared.pseudo.stop == prepared.pseudo.start
    assert prepared.taken(wanted.phases[0].loop) == (prepared.judged,)


def test_a_catalogue_without_judged_queries_trains_on_pseudo_queries_alone(shop):
    bare, wanted = unjudged(shop), recipe("practical")
    prepared = prepare(bare, learn_identifiers(bare, wanted.identifiers), wanted)
    assert prepared.judged.stop == 0
    taken = prepared.taken(wanted.phases[0].loop)
    found = batches(prepared.data, taken, pairs=64, seed=0, epoch=0)
    assert sorted(np.concatenate([one.queries for one in found])) == list(range(len(prepared.data)))


def test_a_recipe_without_pseudo_queries_says_what_would_train(shop):
    bare, wanted = unjudged(shop), recipe("rars")
    with pytest.raises(RarsError, match="a recipe with pseudo-queries"):
        prepare(bare, learn_identifiers(bare, wanted.identifiers), wanted)


def test_the_tree_head_may_learn_faster_than_the_rest(shop):
    wanted = recipe("rars")
    prepared = prepare(shop, learn_identifiers(shop, wanted.identifiers), wanted)
    model = TrainingModel(prepared.ready.model, wanted.objective.terms)
    settings = wanted.training.model_copy(update={"head_factor": 5.0})
    rates = {
        id(one): group["lr"]
        for group in _optimizer(model, settings).param_groups
        for one in group["params"]
    }
    for name, one in model.named_parameters():
        times = 5.0 if name.startswith("heads.") else 1.0
        assert rates[id(one)] == pytest.approx(times * settings.learning_rate), name
