"""What a program asks for in the wrong type is one sentence, wherever it asks."""

from __future__ import annotations

import numpy as np
import pytest

from rars import Dataset, Recipe, compare, evaluate, identify, train
from rars.errors import RarsError
from rars.systems import Query, check_k, search_many

MUGS = [{"id": "a", "title": "mug"}]
ASKED = [{"id": "q", "text": "mug"}]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": "5"}, r"k must be a whole number, not '5' \(str\)\."),
        ({"k": 2.5}, "k must be a whole number"),
        ({"k": True}, "k must be a whole number, not True"),
        ({"k": None}, "k must be a whole number"),
        ({"rule": 3}, "rule must be text or None, not 3"),
        ({"locale": 5}, "locale must be text or None"),
        ({"category": ["a"]}, "category must be text or None"),
        ({"categories": 1.5}, "categories must be a whole number, 'auto', 'all' or None"),
        ({"categories": True}, "categories must be a whole number"),
        ({"allow": "id"}, r"allow must be a list of item ids, not 'id' \(str\)"),
        ({"deny": 5}, "deny must be a list of item ids"),
        ({"deny": {"a": 1}}, "deny must be a list of item ids"),
        ({"allow": ["a", 5]}, "An id of allow must be text, not 5"),
        ({"allow": [["a"]]}, "An id of allow must be text"),
        ({"exact": "no"}, "exact must be True or False"),
        ({"explain": None}, "explain must be True or False"),
        ({"text": 5}, "A query must be text, not 5"),
        ({"text": None}, "A query must be text"),
    ],
)
def test_a_query_of_wrong_types_is_one_sentence(options, words):
    with pytest.raises(RarsError, match=words):
        Query(**({"text": "mug"} | options))


def test_what_is_right_passes():
    Query("mug", np.int64(3), rule=None, allow=("a", "b"), deny={"c"}, categories=2, locale="en")
    Query("mug", categories="all", allow=[], deny=np.array(["a"]))
    assert check_k(np.int32(4)) == 4


@pytest.mark.parametrize("texts", ["abc", b"abc", 5, None, {"a": 1}])
def test_texts_must_be_several(texts):
    with pytest.raises(RarsError, match="texts must be a list of texts"):
        search_many(None, texts)


@pytest.mark.parametrize("k", ["5", 2.5, True, None])
def test_k_of_a_ranking_is_a_number(k):
    with pytest.raises(RarsError, match="k must be a whole number"):
        check_k(k)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"items": 5}, "items: expected an Arrow table"),
        ({"items": "shop.csv"}, "items: expected an Arrow table"),
        ({"items": None}, "items: expected"),
        ({"queries": {"id": [1]}}, "queries: expected"),
        ({"judgments": 3}, "judgments: expected"),
        ({"item_columns": 5}, "item_columns must be a mapping"),
        ({"item_columns": "id"}, "item_columns must be a mapping"),
        ({"item_columns": {"id": 0}}, "The column 'id' of item_columns must be text, not 0"),
        ({"test_share": "0.2"}, "test_share must be a number from 0 to 1"),
        ({"test_share": True}, "test_share must be a number from 0 to 1"),
        ({"test_share": float("nan")}, "test_share nan is not between 0 and 1"),
        ({"category_separator": 5}, "category_separator must be text"),
        ({"name": 5}, "name must be text"),
        ({"licence": None}, "licence must be text"),
    ],
)
def test_a_dataset_of_wrong_things_is_one_sentence(options, words):
    with pytest.raises(RarsError, match=words):
        Dataset.of(**({"items": MUGS, "queries": ASKED} | options))


@pytest.mark.parametrize("given", [5, None, b"x", "", "a\0b"])
def test_a_dataset_folder_is_a_path(given):
    with pytest.raises(RarsError, match="A dataset folder"):
        Dataset.load(given)


@pytest.mark.parametrize("name", [5, None, ["rars"], object()])
def test_a_recipe_is_named_by_text(name):
    with pytest.raises(RarsError, match="There is no recipe"):
        Recipe.resolve(name)


@pytest.mark.parametrize("changes", ["a.b=1", [5]])
def test_changes_are_a_list_of_texts(changes):
    with pytest.raises(RarsError, match="changes must be a list of texts"):
        Recipe.resolve("rars", changes=changes)


def test_training_takes_a_dataset_and_a_recipe(tmp_path):
    dataset, recipe = Dataset.of(MUGS, ASKED), Recipe.resolve("rars", size="tiny")
    with pytest.raises(RarsError, match="dataset must be a Dataset"):
        train("folder", recipe, tmp_path / "run")
    with pytest.raises(RarsError, match="recipe must be a Recipe"):
        train(dataset, "rars", tmp_path / "run")
    for out, words in ((5, "must be given as text"), ("n" * 250, "has 250 bytes")):
        with pytest.raises(RarsError, match=words):
            train(dataset, recipe, out)
    (tmp_path / "file").touch()
    with pytest.raises(RarsError, match="is a file"):
        train(dataset, recipe, tmp_path / "file" / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_identifying_takes_a_dataset_and_a_recipe(tmp_path):
    dataset, recipe = Dataset.of(MUGS, ASKED), Recipe.resolve("rars", size="tiny")
    for wrong in ("folder", None, MUGS):
        with pytest.raises(
            RarsError, match=r"dataset must be a Dataset \(see Dataset\.load\), not "
        ):
            identify(wrong, recipe, tmp_path / "run")
    with pytest.raises(RarsError, match="recipe must be a Recipe"):
        identify(dataset, "rars", tmp_path / "run")
    for out, words in ((5, "must be given as text"), ("n" * 250, "has 250 bytes")):
        with pytest.raises(RarsError, match=words):
            identify(dataset, recipe, out)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("run", [5, None, ["runs/a"], b"x", Dataset])
def test_what_is_evaluated_is_a_run(run):
    with pytest.raises(RarsError, match="A run folder must be given as text or a path, not "):
        evaluate(run)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"systems": 5}, r"systems must be a list of systems or a mapping .*, not 5 \(int\)"),
        ({"systems": "bm25"}, "systems must be a list of systems or a mapping"),
        ({"systems": None}, "systems must be a list of systems or a mapping"),
        ({"systems": ["bm25", 5]}, "A system must be a run folder, an evaluation, or a name"),
        ({"systems": {"a": None}}, "A system must be a run folder"),
        ({"systems": {3: "bm25"}}, "A name of systems must be text, not 3"),
        ({"rules": "ar"}, "rules must be a list of names of rules, not 'ar'"),
        ({"rules": [1]}, "A name of rules must be text, not 1"),
        ({"reference": 3}, "reference must be text or None, not 3"),
        ({"measures": "nDCG@10"}, "measures must be a list of names of measures"),
    ],
)
def test_a_comparison_of_wrong_things_is_one_sentence(options, words):
    asked = {"systems": ["bm25", "dense"]} | options
    with pytest.raises(RarsError, match=words):
        compare(asked.pop("systems"), **asked)
