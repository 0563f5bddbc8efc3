"""A comparison system is a run like any other: made whole, opened checked, refused where it does not fit."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass

import numpy as np
import pytest

from rars.baselines import SYSTEMS, Bm25, Fusion, SystemPart, learning, running
from rars.config import Recipe, Section
from rars.errors import RarsError
from rars.identifiers.towers import Held
from rars.pipeline.opening import open_system
from rars.pipeline.training import train
from rars.progress import Silent
from rars.runs import Run
from rars.systems import Query, Ranked, rank, search
from tests.evaluation.worlds import make_dataset
from tests.identifiers.sentence_models import sentence_model


class Told(Silent):
    """Keeps what it is told."""

    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


TITLES = ["red mug", "blue mug", "desk lamp", "red lamp"]


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def world(tmp_path):
    return make_dataset(
        tmp_path / "data",
        list("wxyz"),
        ["lamp", "mug", "red", "blue"],
        [("lamp", "y", 3), ("mug", "x", 3), ("red", "w", 2), ("blue", "x", 3)],
        titles=TITLES,
        splits=["train", "validation", "test", "train"],
    )


def made(world, folder, recipe, quality=lambda found: 0.0):
    run = Run.start(folder, recipe, world)
    held = Held(world.queries_in("validation"), quality)
    return run, running.make(run, recipe, world, held)


def test_a_made_run_searches_the_datasets_items(world, tmp_path):
    recipe = Recipe.resolve("bm25")
    run, facts = made(world, tmp_path / "run", recipe)
    assert facts == {}
    system = open_system(run.folder)
    assert isinstance(system, running.Baseline)
    hits = system.search("blue mug", 2)
    assert [(hit.item_id, hit.title) for hit in hits] == [("x", "blue mug"), ("w", "red mug")]
    ranked = rank(system, [Query("lamp", 4), Query("chair", 4)])
    assert [ranked.row(at)[0].tolist() for at in range(2)] == [[2, 3], []]
    assert running.made(run, recipe, world) == {}


def test_settings_reach_the_system(world, tmp_path):
    """Without length normalisation and saturation, scores are those of another BM25."""
    recipe = Recipe.resolve("bm25", changes=["bm25.k1=0.1", "bm25.b=0.0"])
    run, _ = made(world, tmp_path / "run", recipe)
    found = running.Baseline.load(run.folder).searcher.search(["red lamp"])
    wanted = Bm25.of(world, k1=0.1, b=0.0).search(["red lamp"])
    np.testing.assert_array_equal(found.scores, wanted.scores)
    assert (found.scores != Bm25.of(world).search(["red lamp"]).scores).any()


def test_a_fusion_keeps_the_weights_fitted_on_validation(world, tmp_path):
    run, facts = made(world, tmp_path / "run", Recipe.resolve("fusion"))
    assert sum(facts["weights"]) == pytest.approx(1)
    assert min(facts["weights"]) >= 0
    searcher = running.Baseline.load(run.folder).searcher
    assert isinstance(searcher, Fusion)
    assert list(searcher.weights) == facts["weights"]
    assert made(world, tmp_path / "again", Recipe.resolve("fusion"))[1] == facts


def test_tuned_maps_are_kept_and_found_again(world, tmp_path):
    calls = []
    recipe = Recipe.resolve("dense-tuned", changes=["dense.epochs=1"])
    run, facts = made(
        world, tmp_path / "run", recipe, lambda found: calls.append(1) or float(len(calls))
    )
    assert facts["tuning"] == {"epoch": 1, "quality": [1.0, 2.0]}
    first = running.Baseline.load(run.folder)
    again = running.Baseline.load(run.folder)
    assert first.digest == again.digest
    assert (first.searcher.vectors == again.searcher.vectors).all()
    other, _ = made(world, tmp_path / "other", Recipe.resolve("dense"))
    assert running.Baseline.load(other.folder).digest != first.digest


def test_another_recipe_is_made_anew(world, tmp_path):
    run, _ = made(world, tmp_path / "run", Recipe.resolve("bm25"))
    changed = Recipe.resolve("bm25", changes=["bm25.k1=2"])
    assert running.made(run, changed, world) is None
    before = running.Baseline.load(run.folder)
    Run.start(run.folder, changed, world)  # what a kill before the new one is whole leaves
    assert running.Baseline.load(run.folder).digest == before.digest
    running.make(run, changed, world, None)
    assert running.Baseline.load(run.folder).digest != before.digest


def test_the_seed_counts_only_where_something_is_tuned(world):
    plain, tuned = (
        [
            learning.source_digest(Recipe.resolve(name, changes=[f"training.seed={seed}"]), world)
            for seed in (0, 1)
        ]
        for name in ("bm25", "dense-tuned")
    )
    assert plain[0] == plain[1]
    assert tuned[0] != tuned[1]


def test_a_damaged_model_is_refused(world, tmp_path):
    recipe = Recipe.resolve("dense-tuned", changes=["dense.epochs=1"])
    run, _ = made(world, tmp_path / "run", recipe)
    path = run.folder / "model" / "maps.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(RarsError, match="its digest does not match"):
        running.Baseline.load(run.folder)


def test_an_embedder_that_has_changed_is_refused(world, tmp_path):
    run, _ = made(world, tmp_path / "run", Recipe.resolve("dense"))
    path = run.folder / "model" / "manifest.json"
    sealed = json.loads(path.read_text())
    sealed["meta"]["facts"]["embedder"] = "another"
    path.write_text(json.dumps(sealed))
    with pytest.raises(RarsError, match="is not the one that the run was made with"):
        running.Baseline.load(run.folder)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"rule": "all"}, "--rule: .* is a bm25 system and has no use for it"),
        ({"categories": 3}, "--categories: .* has no use for it"),
        ({"explain": True}, "--explain: .* does not explain its results"),
        ({"locale": "en"}, "--locale: .* has no use for it"),
        ({"exact": True}, "--exact: .* has no use for it"),
    ],
)
def test_what_needs_a_tree_is_refused(world, tmp_path, option, words):
    run, _ = made(world, tmp_path / "run", Recipe.resolve("bm25"))
    with pytest.raises(RarsError, match=words):
        open_system(run.folder).search("mug", **option)


def test_options_that_ask_for_nothing_are_fine(world, tmp_path):
    run, _ = made(world, tmp_path / "run", Recipe.resolve("bm25"))
    options = {"rule": "plain", "category": None, "categories": "auto", "explain": False}
    assert open_system(run.folder).search("mug", 1, **options)[0].item_id == "w"


def test_a_batch_of_different_k_is_answered_as_each_alone(world, tmp_path):
    """Also by a fusion, whose scale depends on how many items its parts are asked for."""
    recipe = Recipe.resolve("fusion", changes=["fusion.depth=2"])
    run, _ = made(world, tmp_path / "run", recipe)
    system = running.Baseline.load(run.folder)
    queries = [Query("red mug", 1), Query("lamp", 4), Query("blue", 1), Query("mug", 3)]
    for query, together in zip(queries, system.answer(queries), strict=True):
        [alone] = system.answer([query])
        assert together.items.tolist() == alone.items.tolist()
        np.testing.assert_allclose(together.scores, alone.scores, atol=1e-6)
        assert together.identifiers is None


def test_a_toy_system_needs_a_part_and_a_line(world, tmp_path, monkeypatch):
    """Everything else (recipe, training, opening, asking) finds it by its name."""

    class ToySettings(Section):
        first: int = 0

    @dataclass(frozen=True)
    class Toy:
        first: int

        def search(self, texts, k=100, *, advance=None):
            return Ranked.of_lists([[self.first, 3 - self.first][:k]] * len(texts))

    part = SystemPart(
        "always the same",
        ToySettings,
        ("toy",),
        lambda own, dataset, folder, held, **rest: {"seen": dataset.n_items},
        lambda own, dataset, folder, facts, **rest: Toy(own["toy"].first),
    )
    monkeypatch.setitem(SYSTEMS, "toy", part)
    path = tmp_path / "toy.toml"
    path.write_text('name = "mine"\nsystem = "toy"\n[toy]\nfirst = 1\n')
    train(world, Recipe.resolve(path), tmp_path / "run")
    found = search(open_system(tmp_path / "run"), "anything", 2)
    assert [hit.item_id for hit in found] == ["x", "y"]


@pytest.mark.parametrize("tune", ["off", "maps"])
def test_a_fusion_takes_dense_vectors_of_any_tuning(world, tmp_path, tune):
    changes = [f"dense.tune={tune}", "dense.epochs=1"]
    run, facts = made(world, tmp_path / "run", Recipe.resolve("fusion", changes=changes))
    assert ("tuning" in facts) == (tune == "maps")
    dense = running.Baseline.load(run.folder).searcher.parts[1]
    assert dense.cosine == (tune == "maps")


def test_an_encoder_is_tuned_only_where_there_is_one():
    with pytest.raises(RarsError, match="dense: tune = 'encoder' needs an embedder"):
        Recipe.resolve("dense", changes=["dense.tune=encoder"])
    settings = Recipe.resolve(
        "dense", changes=["dense.tune=encoder", "dense.embedder=sentence-transformers:x"]
    ).own["dense"]
    assert (settings.epochs, settings.learning_rate, settings.batch) == (2, 5e-5, 64)
    assert Recipe.resolve("dense-tuned").own["dense"].batch == 512


@pytest.mark.parametrize("name", ["dense-tuned", "fusion"])
def test_choosing_needs_validation_queries(world, tmp_path, name):
    with pytest.raises(RarsError, match=f"no validation query .*{name} chooses on them"):
        learning.learn(Recipe.resolve(name), world, tmp_path, None)


def test_training_makes_a_run_or_finds_it_made(world, tmp_path):
    told = Told()
    recipe = Recipe.resolve("dense-tuned", changes=["dense.epochs=1"])
    first = train(world, recipe, tmp_path / "run", tell=told)
    assert told.said == [
        "Making dense-tuned for 4 items: fine-tuning maps over use vectors, 1 epoch."
    ]
    assert first.as_dict()["learned"].keys() == {"tuning"}
    again = train(world, recipe, tmp_path / "run", tell=told)
    assert "made already" in told.said[-1]
    assert again.as_dict() == first.as_dict()


def test_a_refused_training_leaves_the_folder_as_it_was(world, tmp_path):
    wrong = Recipe.resolve("dense", changes=["dense.embedder=magic"])
    with pytest.raises(RarsError, match="Unknown embedder 'magic'"):
        train(world, wrong, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    train(world, Recipe.resolve("dense"), tmp_path / "old")
    before = {p: p.read_bytes() for p in (tmp_path / "old").rglob("*") if p.is_file()}
    with pytest.raises(RarsError, match="Unknown embedder 'magic'"):
        train(world, wrong, tmp_path / "old")
    assert {p: p.read_bytes() for p in (tmp_path / "old").rglob("*") if p.is_file()} == before
    with pytest.raises(RarsError, match="is the run of a dense system"):
        train(world, Recipe.resolve("bm25"), tmp_path / "old")


def test_what_only_a_generative_run_has_is_refused_on_opening(world, tmp_path):
    train(world, Recipe.resolve("bm25"), tmp_path / "run")
    for option in ({"version": "v000001"}, {"precision": "int8"}, {"device": "cuda"}):
        with pytest.raises(RarsError, match=f"--{next(iter(option))}: .* has no use for it"):
            open_system(tmp_path / "run", **option)


def test_a_failed_attempt_leaves_nothing(world, tmp_path):
    recipe = Recipe.resolve("dense", changes=["dense.embedder=magic"])
    run = Run.start(tmp_path / "run", recipe, world)
    with pytest.raises(RarsError, match="Unknown embedder 'magic'"):
        running.make(run, recipe, world, None)
    assert {path.name for path in run.folder.iterdir()} == {"manifest.json", "recipe.toml"}


# -- a sentence-transformers model ---------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory):
    return sentence_model(tmp_path_factory.mktemp("encoder"), " ".join(["text of", *TITLES]))


def test_a_sentence_transformers_model_is_tuned_itself(world, tmp_path, tiny_encoder):
    name = f"sentence-transformers:{tiny_encoder}"
    changes = [f"dense.embedder={name}", "dense.epochs=3", "dense.learning_rate=0.01"]
    recipe = Recipe.resolve("dense-tuned", changes=[*changes, "dense.tune=encoder"])
    calls = []
    run, facts = made(
        world, tmp_path / "run", recipe, lambda found: calls.append(1) or float(len(calls))
    )
    assert facts["tuning"]["epoch"] == 3
    moved = shutil.move(run.folder, tmp_path / "moved")  # its model goes with it
    tuned = running.Baseline.load(moved).searcher
    assert tuned.cosine
    frozen, _ = made(world, tmp_path / "frozen", Recipe.resolve("dense", changes=changes[:1]))
    before = running.Baseline.load(frozen.folder).searcher
    assert tuned.vectors.shape == before.vectors.shape == (4, 16)
    assert np.abs(tuned.vectors - before.vectors).max() > 1e-3


def test_a_fusion_takes_maps_over_a_sentence_transformers_model(world, tmp_path, tiny_encoder):
    """What is tuned does not follow from the embedder: maps go over any vectors."""
    embedder = f"dense.embedder=sentence-transformers:{tiny_encoder}"
    changes = [embedder, "dense.tune=maps", "dense.epochs=1"]
    run, facts = made(world, tmp_path / "run", Recipe.resolve("fusion", changes=changes))
    assert facts.keys() == {"embedder", "tuning", "weights", "parts"}
    assert (run.folder / "model" / "maps.safetensors").exists()
    assert running.Baseline.load(run.folder).search("red mug", 2)
