"""A comparison system is a run like any other: made whole, opened checked, refused where it does not fit."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from rars.baselines import Bm25, Fusion, learning, running
from rars.baselines.tuning import Held
from rars.config import BaselineSettings, Recipe
from rars.errors import RarsError
from rars.runs import Run
from tests.evaluation.worlds import make_dataset

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
    system = running.open_system(run.folder)
    assert isinstance(system, running.Baseline)
    hits = system.search("blue mug", 2)
    assert [(hit.item_id, hit.title) for hit in hits] == [("x", "blue mug"), ("w", "red mug")]
    assert [rows.tolist() for rows, _ in system.rank_many(["lamp", "chair"], 4)] == [[2, 3], []]
    assert running.made(run, recipe, world) == {}


def test_settings_reach_the_system(world, tmp_path):
    """Without length normalisation and saturation, scores are those of another BM25."""
    recipe = Recipe.resolve("bm25", changes=["baseline.k1=0.1", "baseline.b=0.0"])
    run, _ = made(world, tmp_path / "run", recipe)
    found = running.Baseline.load(run.folder).searcher.search(["red lamp"])
    wanted = Bm25.of(world, k1=0.1, b=0.0).search(["red lamp"])
    np.testing.assert_array_equal(found.scores, wanted.scores)
    assert (found.scores != Bm25.of(world).search(["red lamp"]).scores).any()


def test_a_fusion_keeps_the_weights_chosen_on_validation(world, tmp_path):
    """Quality asks for the highest share of the second system."""
    asked = []

    def quality(found):
        asked.append(len(found))
        return float(len(asked))

    run, facts = made(world, tmp_path / "run", Recipe.resolve("fusion"), quality)
    assert set(asked) == {1}  # the one validation query
    assert facts["weights"] == [0.0, 1.0]
    searcher = running.Baseline.load(run.folder).searcher
    assert isinstance(searcher, Fusion)
    assert searcher.weights == (0.0, 1.0)


def test_tuned_maps_are_kept_and_found_again(world, tmp_path):
    calls = []
    recipe = Recipe.resolve("dense-tuned", changes=["baseline.epochs=1"])
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
    changed = Recipe.resolve("bm25", changes=["baseline.k1=2"])
    assert running.made(run, changed, world) is None
    Run.start(run.folder, changed, world)
    with pytest.raises(RarsError, match="made from another recipe; train it again"):
        running.Baseline.load(run.folder)


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
    recipe = Recipe.resolve("dense-tuned", changes=["baseline.epochs=1"])
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
        ({"category": "Home"}, "--category: .* has no use for it"),
        ({"categories": 3}, "--categories: .* has no use for it"),
        ({"explain": True}, "--explain: .* does not explain its results"),
    ],
)
def test_what_needs_a_tree_is_refused(world, tmp_path, option, words):
    run, _ = made(world, tmp_path / "run", Recipe.resolve("bm25"))
    with pytest.raises(RarsError, match=words):
        running.open_system(run.folder).search("mug", **option)


def test_options_that_ask_for_nothing_are_fine(world, tmp_path):
    run, _ = made(world, tmp_path / "run", Recipe.resolve("bm25"))
    options = {"rule": "hybrid", "category": None, "categories": "auto", "explain": False}
    assert running.open_system(run.folder).search("mug", 1, **options)[0].item_id == "w"


@pytest.mark.parametrize("name", ["dense-tuned", "fusion"])
def test_choosing_needs_validation_queries(world, tmp_path, name):
    with pytest.raises(RarsError, match=f"no validation query .*{name} chooses on them"):
        learning.learn(Recipe.resolve(name), world, tmp_path, None)


def test_a_failed_attempt_leaves_nothing(world, tmp_path):
    recipe = Recipe.resolve("dense", changes=["baseline.embedder=magic"])
    run = Run.start(tmp_path / "run", recipe, world)
    with pytest.raises(RarsError, match="Unknown embedder 'magic'"):
        running.make(run, recipe, world, None)
    assert {path.name for path in run.folder.iterdir()} == {"manifest.json", "recipe.toml"}


# -- a sentence-transformers model ---------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory):
    """A random one-layer model that knows the words of the titles."""
    library = pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    known = ["[PAD]", "[UNK]", "text", "of", *sorted(set(" ".join(TITLES).split()))]
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(known)}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(known),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder / "bert")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    )
    tokenizer.save_pretrained(folder / "bert")
    library.SentenceTransformer(str(folder / "bert"), device="cpu").save_pretrained(
        str(folder / "model"), create_model_card=False
    )
    return folder / "model"


def test_a_sentence_transformers_model_is_tuned_itself(world, tmp_path, tiny_encoder):
    name = f"sentence-transformers:{tiny_encoder}"
    changes = [f"baseline.embedder={name}", "baseline.epochs=3", "baseline.learning_rate=0.01"]
    recipe = Recipe.resolve("dense-tuned", changes=changes)
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


def test_tuning_an_encoder_pulls_pairs_together(tmp_path, tiny_encoder):
    """The colour decides: after tuning, the query that names it is nearest to the items of that colour."""
    from rars.baselines.encoder import SentenceEncoder
    from rars.baselines.tuning import embedded, tune

    dataset = make_dataset(
        tmp_path / "data",
        list("wxyz"),
        ["red", "blue", "lamp"],
        [("red", "w", 3), ("red", "z", 3), ("blue", "x", 3), ("lamp", "y", 3)],
        titles=TITLES,
        splits=["train", "train", "train"],
    )
    towers = SentenceEncoder.of(dataset, f"sentence-transformers:{tiny_encoder}")
    settings = BaselineSettings(epochs=15, learning_rate=0.01, batch=4)
    rows = np.array([0, 1, 2])

    def margins(found=None):
        """The worst relevant cosine minus the best irrelevant one, smallest over queries."""
        sides = [embedded(towers.queries, rows), embedded(towers.items, np.arange(4))]
        unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
        scores = unit[0] @ unit[1].T
        wanted = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=bool)
        worst = np.where(wanted, scores, 9).min(axis=1)
        return float((worst - np.where(wanted, -9, scores).max(axis=1)).min())

    report = tune(towers, dataset, settings, Held(rows, margins))
    assert report["quality"][0] < 0 < report["quality"][report["epoch"]]
    assert margins() == pytest.approx(report["quality"][report["epoch"]], abs=1e-5)
