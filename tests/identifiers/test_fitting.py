"""Fitting to judgments is part of learning identifiers: what is learned, kept, refused and said."""

from __future__ import annotations

import numpy as np
import pytest

from rars.config import FitSettings, IdentifierSettings
from rars.errors import RarsError
from rars.identifiers import Identifiers, embedders, learn_identifiers
from rars.identifiers.embedder import EmbedderKind
from rars.identifiers.fitting import ResidualMaps, fitted, held_out
from rars.progress import Silent
from rars.systems.ranked import Ranked

from .worlds import families, judged_shop

ITEMS, QUERIES, DIM = 40, 60, 24


class Turned:
    """Vectors of "thing N" and, turned by a rotation, of "want N": a map can undo it."""

    dim = DIM
    digest = "turned"

    def __init__(self):
        self._items = families(ITEMS, DIM)
        rng = np.random.default_rng(0)
        self._rotation = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0].astype(np.float32)

    def embed(self, texts):
        numbers = [int(text.split()[1]) for text in texts]
        wants = np.array([text.startswith("want") for text in texts])
        return np.where(wants[:, None], self._items[numbers] @ self._rotation, self._items[numbers])


@pytest.fixture(autouse=True)
def turned(monkeypatch, tmp_path):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    kind = EmbedderKind(about="", open=lambda source, device: Turned())
    monkeypatch.setitem(embedders.EMBEDDERS, "turned", kind)


def world(folder, splits=("train",) * 40 + ("validation",) * 20):
    """Query n wants item n mod 40."""
    titles = [f"thing {n}" for n in range(ITEMS)]
    queries = [f"want {n % ITEMS}" for n in range(QUERIES)]
    judged = [(f"q{n}", f"i{n % ITEMS}", 3.0) for n in range(QUERIES)]
    return judged_shop(folder, titles, queries, judged, list(splits))


def chosen(**more):
    fit = {"epochs": 5, "learning_rate": 0.03, "batch": 16}
    table = {"sizes": (8, 8), "collisions": "share", "embedder": "turned", "fit": fit}
    return IdentifierSettings.model_validate(table | more)


class Listening(Silent):
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def test_the_codes_are_those_of_the_turned_vectors(tmp_path):
    dataset = world(tmp_path / "d")
    tell = Listening()
    learned = learn_identifiers(dataset, chosen(), tell=tell)
    assert tell.said == ["Fitting the turned vectors to the training judgments."]
    maps = fitted(dataset, "turned", chosen().fit, seed=chosen().seed)
    np.testing.assert_array_equal(learned.maps.query, maps.query)
    np.testing.assert_array_equal(learned.maps.item, maps.item)
    assert np.abs(maps.item).max() > 0
    frozen = Turned().embed([f"thing {n}" for n in range(ITEMS)])
    by_hand = learn_identifiers(dataset, chosen(fit=False), vectors=maps.items(frozen))
    np.testing.assert_array_equal(learned.codes, by_hand.codes)
    plain = learn_identifiers(dataset, chosen(fit=False))
    assert plain.maps is None
    assert not np.array_equal(learned.codes, plain.codes)


def test_queries_and_new_items_go_through_the_saved_maps(tmp_path):
    dataset = world(tmp_path / "d")
    learned = learn_identifiers(dataset, chosen())
    learned.save(tmp_path / "ids")
    opened = Identifiers.load(tmp_path / "ids")
    assert opened.settings == learned.settings
    frozen = Turned().embed([f"thing {n}" for n in range(ITEMS)])
    new = opened.assign(opened.item_space(frozen), [f"new {n}" for n in range(ITEMS)])
    np.testing.assert_array_equal(new, learned.codes)
    asked = Turned().embed([f"want {n}" for n in range(ITEMS)])
    items = opened.item_space(frozen)

    def found(queries):
        return float(((queries @ items.T).argmax(axis=1) == np.arange(ITEMS)).mean())

    assert found(opened.query_space(asked)) > found(asked) + 0.3


def test_how_it_was_fitted_is_part_of_what_identifiers_are(tmp_path):
    """Whoever finds them on disk must see that others were asked for."""
    learned = learn_identifiers(world(tmp_path / "d"), chosen())
    learned.save(tmp_path / "ids")
    opened = Identifiers.load(tmp_path / "ids")
    assert opened.settings == chosen()
    assert opened.settings.fit == FitSettings(epochs=5, learning_rate=0.03, batch=16)
    for other in (False, True, {"epochs": 6, "learning_rate": 0.03, "batch": 16}):
        assert opened.settings != chosen(fit=other)


@pytest.mark.parametrize("splits", [("train",) * 60, ("validation",) * 60])
def test_without_judged_training_and_validation_queries_nothing_is_turned(tmp_path, splits):
    dataset = world(tmp_path / "d", splits)
    tell = Listening()
    learned = learn_identifiers(dataset, chosen(), tell=tell)
    assert learned.maps is None
    assert tell.said == [
        "No judged training and validation queries: vectors stay as the embedder made them."
    ]
    plain = learn_identifiers(dataset, chosen(fit=False))
    np.testing.assert_array_equal(learned.codes, plain.codes)


def test_a_learner_without_vectors_has_nothing_to_fit(tmp_path):
    tell = Listening()
    table = {"learner": "naive", "fit": True, "embedder": "turned"}
    settings = IdentifierSettings.model_validate(table)
    assert learn_identifiers(world(tmp_path / "d"), settings, tell=tell).maps is None
    assert tell.said == ["The learner 'naive' reads no vectors: there is nothing to fit."]


def test_item_vectors_of_another_embedder_are_refused(tmp_path):
    dataset = world(tmp_path / "d")
    with pytest.raises(RarsError, match="have 7 numbers, but the embedder gives queries 24"):
        learn_identifiers(dataset, chosen(), vectors=families(ITEMS, 7))
    with pytest.raises(RarsError, match="cannot embed a new text"):
        learn_identifiers(dataset, chosen(embedder="file:v.npy"), vectors=families(ITEMS))


def test_validation_measures_ndcg_of_whole_rankings(tmp_path):
    dataset = world(tmp_path / "d")
    held = held_out(dataset)
    assert held.queries.tolist() == list(range(40, 60))
    towers = ResidualMaps.of(dataset, Turned())
    assert towers.maps().query.shape == (DIM, DIM)
    perfect = Ranked.of_lists([[n % ITEMS] for n in range(40, 60)])
    second = Ranked.of_lists([[39, n % ITEMS] for n in range(40, 60)])
    assert held.quality(perfect) == pytest.approx(1)
    assert held.quality(second) == pytest.approx(1 / np.log2(3))
