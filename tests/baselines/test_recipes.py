"""Every dense recipe trains a few steps on a small shop, is searched, compared and fused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rars import pipeline, unfinished
from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import towers
from rars.pipeline.opening import open_system
from tests.identifiers.language_models import language_model
from tests.identifiers.sentence_models import sentence_model

SHORT = ("dense.epochs=1", "dense.batch=64")
TRAINED = ("dpr", "sentence-t5", "sentence-mt5", "laser")
AS_IT_IS = ("mpnet", "bge-m3")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The tiny shop with 60 training and 30 other queries; 300 items that hold what they ask for."""
    home = tmp_path_factory.mktemp("shop")
    make_shop(home / "whole", size="tiny")
    whole = Dataset.load(home / "whole")
    rows = np.r_[
        whole.queries_in("train")[:60],
        whole.queries_in("validation")[:15],
        whole.queries_in("test")[:15],
    ]
    few = whole.with_queries(rows)
    asked = np.unique(
        np.concatenate([few.judged(one).item for one in ("train", "validation", "test")])
    )
    return few.with_items(asked[:300]).save(home / "few")


@pytest.fixture(scope="module")
def weights(tmp_path_factory, shop):
    """The embedder of each recipe: a random model of its kind."""
    home = tmp_path_factory.mktemp("weights")
    words = " ".join(shop.items(["title"])["title"].to_pylist()[:200])
    encoder = f"sentence-transformers:{sentence_model(home, words)}"
    t5 = language_model(home / "t5", words, "t5")
    language = language_model(home / "causal", words)
    made = dict.fromkeys(("dpr", "mpnet", "bge-m3"), encoder)
    made |= dict.fromkeys(("sentence-t5", "sentence-mt5"), f"sentence-transformers:{t5}")
    return made | {"laser": f"latent:{language}", "laser-t5": f"latent:{t5}"}


def recipe(name, weights, *changes):
    settings = SHORT if name in TRAINED else ()
    embedder = f"dense.embedder={weights[name]}"
    return Recipe.resolve(name, changes=[embedder, *settings, *changes])


@pytest.mark.parametrize("name", [*TRAINED, *AS_IT_IS])
def test_a_dense_recipe_trains_and_answers(name, shop, weights, tmp_path):
    trained = pipeline.train(shop, recipe(name, weights), tmp_path / "run")
    reached = trained.learned.get("tuning")
    assert (reached is not None) == (name in TRAINED)
    if reached:
        assert len(reached["quality"]) == 2
    [found] = pipeline.evaluate(tmp_path / "run")
    assert 0 < found.per_query.mean("Recall@100") <= 1
    hits = open_system(tmp_path / "run").search("red", 5)
    assert len(hits) == 5
    again = pipeline.train(shop, recipe(name, weights), tmp_path / "run")
    assert again.learned == trained.learned


@pytest.mark.parametrize("name", ["dpr", "laser", "laser-t5"])
def test_a_killed_tuning_goes_on_to_the_same_weights(name, shop, weights, tmp_path, monkeypatch):
    """A T5's words are one table under three names."""
    recipe_name = name.removesuffix("-t5")
    changes = [*SHORT, f"dense.embedder={weights[name]}", "dense.batch=8", "dense.epochs=2"]
    chosen = Recipe.resolve(recipe_name, changes=changes)
    monkeypatch.setattr(unfinished, "SECONDS", 0.0)
    monkeypatch.setattr(unfinished, "_SHARE", math.inf)
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "one"))
    whole = pipeline.train(shop, chosen, tmp_path / "whole")
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "other"))
    own, count = towers._step, [0]

    def counted(*call):
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        own(*call)

    monkeypatch.setattr(towers, "_step", counted)
    with pytest.raises(KeyboardInterrupt):
        pipeline.train(shop, chosen, tmp_path / "run")
    again = pipeline.train(shop, chosen, tmp_path / "run")
    assert again.learned == whole.learned
    files = [sorted((tmp_path / run / "model").rglob("*.safetensors")) for run in ("whole", "run")]
    assert files[0]
    for one, two in zip(*files, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


def test_two_encoders_are_compared_with_others_and_fused(shop, weights, tmp_path):
    """The fusion reads the same settings as the system alone: any tuning may be a part of it."""
    dpr = recipe("dpr", weights)
    pipeline.train(shop, dpr, tmp_path / "dpr")
    table = dpr.own["dense"].model_dump(mode="json", exclude_none=True)
    fused = Recipe.of({"name": "fused", "system": "fusion", "dense": table})
    trained = pipeline.train(shop, fused, tmp_path / "fused")
    assert sum(trained.learned["weights"]) == pytest.approx(1)
    compared = pipeline.compare([tmp_path / "dpr", tmp_path / "fused", "bm25"])
    assert len(compared.systems) == 3
    assert len(compared.differences) == 6


def test_fitted_maps_over_a_sentence_model_are_fused_by_name(shop, weights, tmp_path):
    """The model stays as it is, and the maps are kept beside the weights of both systems."""
    changes = [f"dense.embedder={weights['mpnet']}", "dense.epochs=2"]
    trained = pipeline.train(
        shop, Recipe.resolve("fusion-tuned", changes=changes), tmp_path / "run"
    )
    assert {"tuning", "weights", "parts"} == set(trained.learned)
    assert (tmp_path / "run" / "model" / "maps.safetensors").exists()
    reached = trained.learned["tuning"]["quality"]
    assert reached[trained.learned["tuning"]["epoch"]] >= reached[0]
    assert len(open_system(tmp_path / "run").search("red", 3)) == 3


def test_what_each_recipe_is_made_of():
    """From their descriptions: two encoders, first-token states and products; means; cosines; three steps."""
    own = {name: Recipe.resolve(name).own["dense"] for name in (*TRAINED, *AS_IT_IS)}
    dpr = own["dpr"]
    assert (dpr.pooling, dpr.similarity, dpr.temperature, dpr.batch) == ("cls", "dot", 1.0, 128)
    assert (dpr.own.separate, dpr.own.drawn, dpr.own.negatives) == (True, True, 1)
    for name in ("sentence-t5", "sentence-mt5"):
        assert (own[name].similarity, own[name].temperature) == ("cosine", 0.05)
        assert not own[name].own.separate
    assert own["sentence-mt5"].pooling == "mean"
    assert (own["bge-m3"].pooling, own["bge-m3"].similarity) == ("cls", "cosine")
    laser = own["laser"].own
    assert (laser.steps, laser.output, laser.explicit, laser.trajectory) == (3, 10, 1, 0.1)
    assert own["laser"].temperature == 0.02


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (["dense.tune=encoder"], "tune = 'encoder' needs an embedder sentence-transformers:"),
        (["dense.tune=laser"], "tune = 'laser' needs an embedder latent:"),
        (
            ["dense.pooling=cls"],
            "pooling and max_tokens are for an embedder sentence-transformers:",
        ),
        (["dense.tune=guess"], "dense.tune: 'guess' is none of off, maps, encoder, laser"),
        (["dense.encoder.negatives=-1", "dense.tune=encoder"], "dense.encoder.negatives"),
    ],
)
def test_what_does_not_fit_is_one_sentence(changes, why):
    with pytest.raises(RarsError, match=why):
        Recipe.resolve("dense", changes=changes)
