"""What training sees of a dataset: judged queries, item texts, categories; and what an epoch takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import item_texts
from rars.pipeline.identification import identify
from rars.training.prepare import prepare, query_tokenizer
from rars.training.sampler import batches

SMALL = ("model.vocabulary=400", "identifiers.sizes=[16, 16, 16]")


def recipe_of(*changes, name="rars"):
    return Recipe.resolve(name, size="tiny", changes=[*SMALL, *changes])


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    home = tmp_path_factory.mktemp("prepare")
    make_shop(home / "shop", size="tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(home / "cache"))
        yield Dataset.load(home / "shop")


@pytest.fixture(scope="module")
def identifiers(shop, tmp_path_factory):
    return identify(shop, recipe_of(), tmp_path_factory.mktemp("runs") / "run").identifiers


@pytest.fixture(scope="module")
def indexed(shop, identifiers):
    changes = ("training.indexing.share=0.5", "training.indexing.weight=0.25")
    return prepare(shop, identifiers, recipe_of(*changes))


def relevant(data, query):
    """The leaves and masses of one query of a training set."""
    last = data.levels[-1]
    own = slice(*last.start[query : query + 2])
    return last.node[own].tolist(), last.mass[own].tolist()


def test_judged_queries_come_first_and_nothing_else_is_there_unless_asked(shop, identifiers):
    prepared = prepare(shop, identifiers, recipe_of())
    queries = np.unique(shop.positives("train")[0])
    assert tuple(prepared.judged) == (0, len(queries), None)
    assert len(prepared.data) == prepared.pseudo.stop == prepared.indexing.stop == len(queries)
    assert prepared.mine.texts == shop.query_texts.take(pa.array(queries)).to_pylist()
    assert prepared.taken(recipe_of().training) == (prepared.judged,)


def test_every_item_text_is_a_query_whose_only_answer_is_the_items_own_identifier(
    shop, identifiers, indexed
):
    start, stop, _ = indexed.indexing
    assert stop - start == shop.n_items == len(indexed.data) - start
    texts = item_texts(shop).to_pylist()
    tokens = indexed.ready.tokenizer.encode(texts)
    for item in range(0, shop.n_items, 17):
        leaves, masses = relevant(indexed.data, start + item)
        assert leaves == indexed.tree.leaves_of([item]).tolist()
        assert masses == pytest.approx([1.0])
        np.testing.assert_array_equal(indexed.data.tokens[start + item], tokens[item])


def test_sub_words_are_learned_from_titles_all_over_a_large_catalogue(shop, monkeypatch):
    """All titles of a catalogue; of one with more than are read, items from its first to its last part."""
    learned = []
    monkeypatch.setattr(
        "rars.training.prepare.train_tokenizer", lambda texts, *_: learned.append(list(texts))
    )
    titles = shop.items(["title"])["title"].to_pylist()
    query_tokenizer(shop, recipe_of().model, ["asked"])
    assert learned.pop() == [*titles, "asked"]
    monkeypatch.setattr("rars.training.prepare._TITLES", 7)
    query_tokenizer(shop, recipe_of().model, ["asked"])
    assert learned.pop() == [*(titles[n * len(titles) // 7] for n in range(7)), "asked"]


def test_share_is_so_many_item_texts_for_each_judged_query_and_weight_what_each_counts(indexed):
    loop = recipe_of("training.indexing.share=0.5", "training.indexing.weight=0.25").training
    judged = indexed.judged.stop
    taken = indexed.taken(loop)
    assert taken == (indexed.judged, indexed.indexing._replace(sample=round(0.5 * judged)))
    drawn = np.concatenate(
        [one.queries for one in batches(indexed.data, taken, pairs=64, seed=0, epoch=0)]
    )
    assert len(np.unique(drawn)) == len(drawn) == judged + round(0.5 * judged)
    weight = indexed.weighted(loop).weight
    assert set(weight[:judged]) == {1.0}
    assert set(weight[judged:]) == {0.25}
    other = np.concatenate(
        [one.queries for one in batches(indexed.data, taken, pairs=64, seed=0, epoch=1)]
    )
    assert set(other.tolist()) != set(drawn.tolist()), "each epoch draws others"


@pytest.mark.parametrize(("share", "times"), [(1.0, 1.0), (0.5, 0.5), (0.0001, 0.0), (3.0, 1.0)])
def test_without_judged_queries_share_is_of_the_item_texts(indexed, share, times):
    loop = recipe_of("training.judged=false", f"training.indexing.share={share}").training
    taken = indexed.taken(loop)
    drawn = np.concatenate(
        [one.queries for one in batches(indexed.data, taken, pairs=64, seed=0, epoch=0)]
    )
    items = indexed.indexing.stop - indexed.indexing.start
    assert len(drawn) == max(1, round(times * items))
    assert drawn.min() >= indexed.indexing.start


def test_pseudo_queries_and_item_texts_are_stretches_of_their_own(shop, identifiers):
    changes = (
        *("training.pseudo.share=1", "training.pseudo.weight=0.5", "training.epochs=1"),
        *("training.indexing.share=1", "training.indexing.weight=0.25"),
    )
    recipe = recipe_of(*changes)
    prepared = prepare(shop, identifiers, recipe)
    judged, pseudo, indexing = prepared.judged, prepared.pseudo, prepared.indexing
    assert judged.stop == pseudo.start < pseudo.stop == indexing.start < indexing.stop
    weight = prepared.weighted(recipe.training).weight
    for part, expected in ((judged, 1.0), (pseudo, 0.5), (indexing, 0.25)):
        assert set(weight[part.start : part.stop]) == {expected}


def test_a_catalogue_nobody_judged_needs_queries_of_its_own(shop, identifiers):
    nobody = shop.with_split(np.full(shop.n_queries, "test"))
    with pytest.raises(RarsError, match="no training query with a positive item"):
        prepare(nobody, identifiers, recipe_of())
    prepared = prepare(nobody, identifiers, recipe_of("training.indexing.share=1"))
    assert prepared.judged.stop == 0
    assert len(prepared.data) == shop.n_items


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_model_thinks_as_many_category_levels_as_asked(shop, identifiers, levels):
    prepared = prepare(shop, identifiers, recipe_of(f"model.category_levels={levels}"))
    model, tree = prepared.ready.model, prepared.categories
    assert model.categories.levels == model.latent_rows == prepared.data.latent_rows == levels
    paths = shop.items(["category"])["category"].to_pylist()
    for level in range(levels):
        known = {tuple(path[: level + 1]) for path in paths if path and len(path) > level}
        assert len(model.categories.parents(level)) == tree.sizes[level] == len(known)


def test_there_are_no_more_levels_than_the_catalogue_has(shop, identifiers):
    prepared = prepare(shop, identifiers, recipe_of("model.category_levels=5"))
    assert prepared.ready.model.latent_rows == len(prepared.categories.sizes) == 3
    assert all(prepared.categories.sizes)


def test_without_categories_in_the_catalogue_as_many_levels_are_made_up(
    shop, identifiers, monkeypatch
):
    bare = type(shop).items

    def without(self, columns=None):
        table = bare(self, columns)
        if "category" not in table.column_names:
            return table
        at = table.column_names.index("category")
        return table.set_column(at, "category", pa.nulls(len(table), table["category"].type))

    monkeypatch.setattr(type(shop), "items", without)
    prepared = prepare(shop, identifiers, recipe_of("model.category_levels=2"))
    assert len(prepared.categories.sizes) == prepared.ready.model.latent_rows == 2


def test_the_source_changes_with_what_the_weights_depend_on_and_nothing_else(shop, identifiers):
    def source(*changes):
        return prepare(shop, identifiers, recipe_of(*changes)).source

    same = source()
    assert source("name=other", "search.width=7") == same
    assert source("training.learning_rate=0.5") != same
    assert source("objective.terms.tree.weight=0.1") != same
