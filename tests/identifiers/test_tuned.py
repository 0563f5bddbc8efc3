"""An embedder fine-tuned for a catalogue: tuned once, kept with the identifiers, opened from there."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from rars import RarsError, Recipe, Retriever, pipeline, train
from rars.config import EmbedderTuning, IdentifierSettings
from rars.identifiers import (
    Identifiers,
    choosing,
    learn_identifiers,
    shared_embedder,
    towers,
    tuned,
)
from rars.identifiers.choosing import choose_tuning
from rars.pipeline.comparison import make_beside
from rars.runs import Run

from .sentence_models import sentence_model
from .worlds import judged_shop

COLOURS = {"rojo": "red", "azul": "blue", "verde": "green", "negro": "black"}
THINGS = {"taza": "mug", "silla": "chair", "cuchara": "spoon", "reloj": "clock"}
WORDS = COLOURS | THINGS
TITLES = [f"{colour} {thing}" for colour in COLOURS.values() for thing in THINGS.values()]
QUERIES = [*WORDS, "rojo taza", "azul reloj"]
SPLITS = ["train"] * len(WORDS) + ["validation", "test"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    words = " ".join([*TITLES, *QUERIES])
    return f"sentence-transformers:{sentence_model(tmp_path_factory.mktemp('encoder'), words)}"


@pytest.fixture
def dataset(tmp_path):
    """Queries are in another language: of its words alone nobody could know what they want."""
    judged = []
    for row, query in enumerate(QUERIES):
        wanted = {WORDS[word] for word in query.split()}
        hits = [wanted <= set(title.split()) for title in TITLES]
        judged += [(f"q{row}", f"i{item}", 3.0) for item, hit in enumerate(hits) if hit]
        judged.append((f"q{row}", f"i{hits.index(False)}", 0.0))
    return judged_shop(tmp_path / "data", TITLES, QUERIES, judged, SPLITS)


def settings(encoder, **tune):
    options = {"epochs": 30, "learning_rate": 1e-2} | tune
    return IdentifierSettings(embedder=encoder, sizes=(4, 4), tune=options)


def learned(dataset, encoder, cache, **tune):
    return learn_identifiers(dataset, settings(encoder, **tune), cache=cache)


def recall(dataset, identifiers):
    """Of the training queries, the share of relevant items that come before all others."""
    embedder = shared_embedder(identifiers.embedder_name)
    queries, items = embedder.embed(QUERIES), embedder.embed(TITLES)
    scores = queries @ items.T / np.linalg.norm(items, axis=1)
    query, item, _ = dataset.positives("train")
    places = (-scores).argsort(axis=1).argsort(axis=1)[query, item]
    return float((places < np.bincount(query)[query]).mean())


def test_a_tuned_embedder_finds_what_it_was_taught(dataset, encoder, tmp_path):
    tuned_one = learned(dataset, encoder, tmp_path / "cache")
    plain = learn_identifiers(
        dataset, IdentifierSettings(embedder=encoder, sizes=(4, 4)), cache=tmp_path / "cache"
    )
    assert recall(dataset, tuned_one) > recall(dataset, plain) + 0.2
    assert plain.tuned is None
    assert plain.embedder_name == encoder


def test_the_same_is_tuned_once_and_other_settings_again(dataset, encoder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = learned(dataset, encoder, cache)
    calls = []
    own = tuned.tune
    monkeypatch.setattr(tuned, "tune", lambda *a, **k: calls.append(1) or own(*a, **k))
    assert learned(dataset, encoder, cache).embedder == first.embedder
    assert not calls
    assert learned(dataset, encoder, cache, epochs=2).embedder != first.embedder
    assert calls


def test_a_damaged_one_in_the_cache_is_tuned_again(dataset, encoder, tmp_path):
    cache = tmp_path / "cache"
    first = learned(dataset, encoder, cache)
    weights = next(first.tuned.rglob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    again = learned(dataset, encoder, cache)
    assert again.embedder == first.embedder


KILLED = """
import math, os, signal, sys
from pathlib import Path
from rars import unfinished
from rars.config import IdentifierSettings
from rars.data import Dataset
from rars.identifiers import learn_identifiers, towers
unfinished._SHARE, unfinished.SECONDS = math.inf, 0.0
step, count = towers._step, [0]
def counted(*call):
    count[0] += 1
    if count[0] == 12:
        os.kill(os.getpid(), signal.SIGKILL)
    step(*call)
towers._step = counted
data, settings, cache = sys.argv[1:]
learn_identifiers(
    Dataset.load(data), IdentifierSettings.model_validate_json(settings), cache=Path(cache)
)
"""


def test_a_killed_tuning_goes_on_to_the_same_embedder(dataset, encoder, tmp_path, monkeypatch):
    wanted = learned(dataset, encoder, tmp_path / "whole")
    cache = tmp_path / "cache"
    asked = settings(encoder).model_dump_json(exclude_none=True)
    line = [sys.executable, "-c", KILLED, str(tmp_path / "data"), asked, str(cache)]
    assert subprocess.run(line, check=False).returncode == -signal.SIGKILL
    assert list((cache / "unfinished").iterdir())
    steps = []
    own = towers._step
    monkeypatch.setattr(towers, "_step", lambda *call: steps.append(1) or own(*call))
    assert learned(dataset, encoder, cache).embedder == wanted.embedder
    assert len(steps) == 30 - 11
    assert not list((cache / "unfinished").iterdir())


def test_identifiers_take_their_embedder_along(dataset, encoder, tmp_path):
    """Saved, moved, and the cache gone: the vectors are the same."""
    made = learned(dataset, encoder, tmp_path / "cache")
    before = shared_embedder(made.embedder_name, made.embedder).embed(QUERIES)
    made.save(tmp_path / "one")
    shutil.rmtree(tmp_path / "cache")
    shutil.move(tmp_path / "one", tmp_path / "two")
    opened = Identifiers.load(tmp_path / "two")
    assert tmp_path / "two" in opened.tuned.parents
    after = shared_embedder(opened.embedder_name, made.embedder).embed(QUERIES)
    np.testing.assert_array_equal(before, after)
    opened.save(tmp_path / "three")  # and from there again
    assert Identifiers.load(tmp_path / "three").tuned is not None


def test_without_validation_queries_the_embedder_stays_as_it_is(encoder, tmp_path):
    shop = judged_shop(tmp_path / "data", TITLES, ["rojo"], [("q0", "i0", 3.0)], ["train"])
    made = learned(shop, encoder, tmp_path / "cache")
    assert made.tuned is None
    assert made.embedder_name == encoder


@pytest.mark.parametrize("name", ["use", "t5:some", "file:vectors.npy"])
def test_what_cannot_be_tuned_is_refused_before_anything_is_done(name):
    with pytest.raises(RarsError, match=r"tune is for an embedder sentence-transformers:\.\.\."):
        Recipe.resolve(
            "practical", changes=[f"identifiers.embedder={name}", "identifiers.tune=true"]
        )


@pytest.mark.parametrize("name", ["fit", "tune"])
def test_a_switch_is_on_off_or_a_table(name):
    with pytest.raises(RarsError, match=f"{name}: true, false or a table of settings, not 5"):
        Recipe.resolve("practical", changes=[f"identifiers.{name}=5"])


def test_where_the_best_embedder_cannot_be_tuned_it_stays(dataset, tmp_path):
    """``auto`` may end in any; here nothing else is installed for a catalogue in two languages."""
    wanted = IdentifierSettings(embedder="auto", tune=True, sizes=(4, 4))
    made = learn_identifiers(dataset, wanted, cache=tmp_path)
    assert made.settings.embedder == "use"
    assert made.settings.tune is None
    assert made.tuned is None


def chosen_tuning(dataset, encoder, cache, **rest):
    wanted = IdentifierSettings(embedder=encoder, sizes=(4, 4))
    return choose_tuning(dataset, wanted, cache=cache, **rest)


def test_fine_tuning_is_chosen_where_its_vectors_find_more(dataset, encoder, tmp_path, monkeypatch):
    quick = {"epochs": 30, "learning_rate": 1e-2, "max_tokens": 16}
    monkeypatch.setattr(choosing, "EmbedderTuning", lambda **_: EmbedderTuning(**quick))
    found = chosen_tuning(dataset, encoder, tmp_path)
    before, after = found.tried
    assert found.tune == EmbedderTuning(**quick)
    assert after.quality > before.quality
    assert "its vectors find more" in found.why
    monkeypatch.setattr(choosing, "_PAYS", 1.0)
    assert chosen_tuning(dataset, encoder, tmp_path).tune is None


def test_fine_tuning_is_left_out_where_it_would_take_too_long(dataset, encoder, tmp_path):
    found = chosen_tuning(dataset, encoder, tmp_path, most=1e-6)
    assert found.tune is None
    assert "too long" in found.why
    assert not (tmp_path / "tuned").exists()


def test_what_was_tuned_before_costs_the_embedding_that_is_left(dataset, encoder, tmp_path):
    cache = tmp_path / "cache"
    before = tuned.tuning_seconds(dataset, settings(encoder), cache=cache)
    assert min(before) > 0
    tuned.tuned_embedder(dataset, settings(encoder), cache=cache)
    after = tuned.tuning_seconds(dataset, settings(encoder), cache=cache)
    assert after.tuning == 0
    assert after.embedding > 0
    learned(dataset, encoder, cache)
    assert tuned.tuning_seconds(dataset, settings(encoder), cache=cache) == (0, 0)


def test_where_time_is_short_less_of_a_text_is_read(dataset, encoder, tmp_path, monkeypatch):
    asked = []

    def seconds(dataset, wanted, **rest):
        asked.append(wanted.tune.max_tokens)
        return tuned.Seconds(8.0 * wanted.tune.max_tokens, 2.0 * wanted.tune.max_tokens)

    monkeypatch.setattr(tuned, "tuning_seconds", seconds)
    found = chosen_tuning(dataset, encoder, tmp_path, most=400.0)
    assert asked == [64, 32]
    assert "texts cut at 32 tokens" in found.why


def test_the_part_that_both_are_compared_on_is_embedded_besides_all_items(
    dataset, encoder, tmp_path, monkeypatch
):
    class Begun(Exception):
        pass

    def begin(*_, **__):
        raise Begun

    half = dataset.with_items(np.arange(len(TITLES) // 2))
    monkeypatch.setattr(choosing, "_narrowed", lambda *_: half)
    monkeypatch.setattr(tuned, "tuning_seconds", lambda *_, **__: tuned.Seconds(100.0, 100.0))
    monkeypatch.setattr(tuned, "tuned_embedder", begin)
    assert "too long" in chosen_tuning(dataset, encoder, tmp_path, most=249.0).why
    with pytest.raises(Begun):
        chosen_tuning(dataset, encoder, tmp_path, most=250.0)


def test_fine_tuning_needs_judged_queries_and_a_model(encoder, tmp_path):
    shop = judged_shop(tmp_path / "data", TITLES, ["rojo"], [("q0", "i0", 3.0)], ["train"])
    assert "no judged" in chosen_tuning(shop, encoder, tmp_path).why
    assert "cannot be fine-tuned" in chosen_tuning(shop, "use", tmp_path).why


def test_vectors_that_are_given_cannot_follow(dataset, encoder):
    with pytest.raises(RarsError, match="cannot follow a fine-tuned embedder"):
        learn_identifiers(
            dataset, settings(encoder), vectors=np.ones((len(TITLES), 16), dtype=np.float32)
        )


def test_refused_items_are_judged_irrelevant_ones(dataset):
    found = tuned.refused(dataset, seed=0)
    judged = dataset.judged("train")
    wrong = {
        (q, i) for q, i, g in zip(judged.query, judged.item, judged.grade, strict=True) if g <= 0
    }
    assert {(q, i) for q, i in enumerate(found[:, 0]) if i >= 0} == wrong


def test_a_run_is_searched_by_its_own_embedder_wherever_it_is_moved(dataset, encoder, tmp_path):
    """Trained, moved, searched, changed, and compared with a fusion over the same vectors."""
    changes = [
        f"identifiers.embedder={encoder}",
        "identifiers.tune=true",
        "identifiers.tune.learning_rate=1e-2",
        "identifiers.sizes=[4,4]",
        "training.epochs=1",
    ]
    run = train(dataset, Recipe.resolve("practical", changes=changes), tmp_path / "run").run
    before = Retriever.load(run.folder).search("rojo", k=5)
    shutil.move(run.folder, tmp_path / "moved")
    after = Retriever.load(tmp_path / "moved").search("rojo", k=5)
    assert [(one.item_id, one.score) for one in after] == [
        (one.item_id, one.score) for one in before
    ]
    pipeline.apply(tmp_path / "moved", [{"id": "new", "title": "red spoon"}])
    twin = {one.item_id: one for one in Retriever.load(tmp_path / "moved").search("red spoon")}
    known = f"i{TITLES.index('red spoon')}"
    assert twin["new"].identifier[:1] == twin[known].identifier[:1]
    beside = make_beside("fusion", Run.open(tmp_path / "moved"), tmp_path / "fusion")
    assert str(tmp_path / "moved") in beside.recipe().own["dense"].embedder
