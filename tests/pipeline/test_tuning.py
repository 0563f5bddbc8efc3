"""``rars tune`` ends in a run that can be searched; choices are made once, by rules, in the time given."""

from __future__ import annotations

import json
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from rars import pipeline
from rars.config import EmbedderTuning, Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers.choosing import ChosenEmbedder, ChosenTuning
from rars.identifiers.loss_curve import USUAL, CurvePoint, LossCurve
from rars.pipeline import indexing, rehearsal, tuning
from rars.pipeline.choices import STEPS, Choices
from rars.pipeline.opening import open_system
from rars.pipeline.training import train
from rars.progress import SILENT
from tests.saying import Said

QUICK = ["model.vocabulary=300", "training.epochs=2", "training.pseudo.share=1"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "shop"
    make_shop(folder, size="tiny")
    return Dataset.load(folder)


@pytest.fixture(scope="module")
def tuned(shop, tmp_path_factory):
    out, said = tmp_path_factory.mktemp("runs") / "run", Said()
    return pipeline.tune_catalogue(shop, out, changes=QUICK, tell=said), said


def curve(steps=8, gain=0.2):
    """A curve that proposes longer codes."""
    points = (CurvePoint(USUAL, 0.4, 0.5), CurvePoint((256,) * steps, 0.4 + gain, 0.6))
    return LossCurve(300, 5, "validation queries", 100, 1000, 0.7, points)


def test_it_ends_in_a_run_that_answers_with_every_choice_written_down(tuned):
    found, said = tuned
    folder = found.run.folder
    assert open_system(folder).rules[0] == "hybrid"
    told = json.loads((folder / "tuning.json").read_text())
    assert list(told["made"]) == list(STEPS)
    assert (folder / "index" / "hybrid.json").exists()
    assert not (folder / "trials").exists()
    recipe = found.run.recipe()
    assert recipe.identifiers.sizes == found.choices.sizes == USUAL
    assert recipe.identifiers.embedder == told["made"]["embedder"]["name"]
    assert recipe.training.patience == tuning.PATIENCE
    assert recipe.training.epochs == told["made"]["epochs"]["epochs"] == 2
    kept = json.loads((folder / "index" / "hybrid.json").read_text())["settings"]
    assert told["made"]["weights"]["settings"] == pytest.approx(kept)
    assert said.lines[0].startswith("Tuning practical for")
    assert any(line.startswith("Expected: about") for line in said.lines[:4])


def test_the_numbers_are_those_of_an_evaluation(tuned):
    found, _ = tuned
    (own,) = pipeline.evaluate(found.run, rules=["hybrid"], split="validation")
    told = found.choices.made["validation"]["rules"]["hybrid"]
    assert told["Recall@100"] == pytest.approx(own.mean("Recall@100"))
    assert told["nDCG@10"] == pytest.approx(own.mean("nDCG@10"))


def test_a_tuned_run_is_not_tuned_again(shop, tuned):
    found, _ = tuned
    before = {p: p.stat().st_mtime_ns for p in found.run.folder.rglob("*") if p.is_file()}
    said = Said()
    again = pipeline.tune_catalogue(shop, found.run.folder, minutes=5, changes=QUICK, tell=said)
    assert "tuned already" in said.text
    assert again.choices.made == found.choices.made
    after = {p: p.stat().st_mtime_ns for p in found.run.folder.rglob("*") if p.is_file()}
    assert after == before


def test_the_report_shows_what_was_chosen(tuned):
    found, _ = tuned
    made = pipeline.report(found.run)
    assert made.parts[0] == "tuning"
    text = made.page.read_text()
    for words in ("What was chosen", "What identifiers keep of their vectors", "What it finds"):
        assert words in text


@pytest.mark.parametrize("stop", ["sizes", "training", "validation"])
def test_stopped_before_any_step_it_goes_on_and_ends_alike(
    shop, tuned, tmp_path, monkeypatch, stop
):
    found, _ = tuned
    keep = Choices.keep

    def stopped(self, step, chosen, seconds):
        if step == stop:
            raise KeyboardInterrupt
        keep(self, step, chosen, seconds)

    out = tmp_path / "run"
    monkeypatch.setattr(Choices, "keep", stopped)
    with pytest.raises(KeyboardInterrupt):
        pipeline.tune_catalogue(shop, out, changes=QUICK)
    monkeypatch.setattr(Choices, "keep", keep)
    said = Said()
    again = pipeline.tune_catalogue(shop, out, changes=QUICK, tell=said)
    assert "chosen already" in said.text
    weights = "model/model.safetensors"
    assert (out / weights).read_bytes() == (found.run.folder / weights).read_bytes()
    for step in STEPS:
        one, other = (dict(run.choices.made[step]) for run in (again, found))
        del one["seconds"], other["seconds"]
        assert one == other, step


@pytest.fixture
def steps(shop, tmp_path, monkeypatch):
    """A tuning whose parts are played: what is asked of them is kept, what they answer is set."""
    played = SimpleNamespace(curve=curve(), hybrid={USUAL: 0.5}, trained=[], slow=1.0, said=Said())
    played.query = 0.0
    played.recipes = []

    def learned(dataset, recipe, out, **rest):
        (out / "identifiers").mkdir(parents=True, exist_ok=True)
        return SimpleNamespace(identifiers=SimpleNamespace(settings=recipe.identifiers), run=None)

    def made(dataset, recipe, out, *, identifiers=None, tell=SILENT):
        played.recipes.append(recipe)
        played.trained.append((out.name, recipe.identifiers.sizes, recipe.training.epochs))
        played.last = recipe.identifiers.sizes
        return SimpleNamespace(steps=10)

    def measured(out, *, rules, split, tell):
        values = np.full(5, played.hybrid.get(played.last, 0.5))
        return [
            SimpleNamespace(
                rule=rule,
                mean=lambda name, values=values: float(values.mean()),
                per_query=_Values(values),
            )
            for rule in rules
        ]

    monkeypatch.setattr(tuning, "identify", learned)
    monkeypatch.setattr(tuning, "train", made)
    monkeypatch.setattr(tuning, "evaluate", measured)
    monkeypatch.setattr(tuning.indexing, "tune", lambda out, tell: {"weight": 5.0})
    monkeypatch.setattr(tuning.loss_curve, "curve", lambda *_, **__: played.curve)
    monkeypatch.setattr(tuning.cost, "slowness", lambda: played.slow)
    monkeypatch.setattr(tuning.costs, "seconds_a_query", lambda *_: played.query)
    monkeypatch.setattr(
        tuning, "choose_embedder", lambda *_, **__: ChosenEmbedder("use", "nothing else")
    )
    played.go = lambda data=shop, **rest: pipeline.tune_catalogue(
        data, tmp_path / "run", tell=played.said, **rest
    )
    return played


class _Values:
    def __init__(self, values):
        self._values = values

    def matrix(self, names):
        return np.stack([self._values] * len(names), axis=1)

    def __len__(self):
        return len(self._values)


LONG = (256,) * 8


def test_larger_sizes_are_taken_where_hybrid_search_gains(steps):
    steps.hybrid = {USUAL: 0.5, LONG: 0.51}
    found = steps.go()
    assert found.choices.sizes == LONG
    assert "+1.0" in found.choices.made["sizes"]["why"]
    assert steps.trained == [("usual", USUAL, 1), ("larger", LONG, 1), ("run", LONG, 8)]
    tables = {one.key for one in found.tables()}
    assert "sizes" in tables


def test_larger_sizes_are_left_where_only_the_model_alone_would_gain(steps):
    steps.hybrid = {USUAL: 0.46, LONG: 0.459}
    found = steps.go()
    assert found.choices.sizes == USUAL
    assert "they do not pay" in found.choices.made["sizes"]["why"]
    assert [one["sizes"] for one in found.choices.made["sizes"]["compared"]] == [
        list(USUAL),
        list(LONG),
    ]
    assert steps.trained[-1] == ("run", USUAL, 8)


def test_a_gain_within_its_error_does_not_pay(steps, monkeypatch):
    rng = np.random.default_rng(0)
    noise = iter([np.zeros((5, 1)), rng.normal(0.006, 0.5, (5, 1))] * 2)
    monkeypatch.setattr(tuning, "_qualities", lambda found: next(noise)[:, 0])
    steps.hybrid = {USUAL: 0.5, LONG: 0.5}
    assert steps.go().choices.sizes == USUAL


def test_the_usual_sizes_need_no_comparison_where_the_curve_is_flat(steps):
    steps.curve = curve(gain=0.01)
    assert steps.go().choices.sizes == USUAL
    assert steps.trained == [("run", USUAL, 8)]


def test_too_little_time_for_a_comparison_is_said(steps, monkeypatch):
    monkeypatch.setattr(tuning._Tuning, "_comparing", lambda self, best: 1e6)
    found = steps.go()
    assert found.choices.sizes == USUAL
    assert "too few to see whether that pays" in found.choices.made["sizes"]["why"]
    assert "too much of the 30 minutes" in steps.said.text


def test_epochs_follow_the_time_that_is_left(steps, monkeypatch):
    steps.curve = curve(gain=0.0)
    steps.slow = 1e3
    monkeypatch.setattr(tuning._Tuning, "_rehearsed", lambda self, epochs: 150.0)
    monkeypatch.setattr(tuning.costs, "weights", lambda queries: 0.0)
    monkeypatch.setattr(tuning.costs, "amounts", lambda *_: defaultdict(float))
    monkeypatch.setattr(tuning.cost, "stage", lambda *_: SimpleNamespace(seconds=0.0))
    found = steps.go(minutes=15)
    assert steps.trained[-1] == ("run", USUAL, 5), "899 s hold five epochs of 150"
    assert "no more than 5 epochs in 15 minutes" in found.choices.made["training"]["why"]
    assert "5 of 8" in steps.said.text


def test_queries_made_of_items_count_where_the_embedder_is_dear(steps, monkeypatch):
    """An epoch of 10 s and the vectors of 190 queries it is the first to read: of a catalogue's 2 an item."""
    steps.curve = curve(gain=0.0)
    steps.query = 0.5
    monkeypatch.setattr(tuning, "_SURE", 1e9)
    monkeypatch.setattr(tuning._Tuning, "_rehearsed", lambda self, epochs: 10.0)
    monkeypatch.setattr(tuning.costs, "weights", lambda queries: 0.0)
    monkeypatch.setattr(tuning.costs, "made_queries", lambda data, recipe, n: min(190 * n, 500))
    monkeypatch.setattr(tuning.costs, "amounts", lambda *_: defaultdict(float))
    monkeypatch.setattr(tuning.cost, "stage", lambda *_: SimpleNamespace(seconds=0.0))
    steps.go(minutes=5)
    assert steps.trained[-1] == ("run", USUAL, 4), (
        "299 s hold four epochs of 10 behind 250 of reading"
    )
    expected = next(line for line in steps.said.lines if line.startswith("Expected: about"))
    assert "vectors of queries made of items 4 minutes" in expected
    assert "An epoch takes about 72 s: 4 of 8" in steps.said.text


@pytest.mark.parametrize(("slow", "share"), [(0.0, 0.8), (1e3, 0.4)])
def test_embedders_may_take_what_the_other_steps_leave(steps, monkeypatch, slow, share):
    """Four fifths of the time where they need nothing; two fifths where they would not fit anyway."""
    asked = {}

    def chosen(*_, **given):
        asked.update(given)
        return ChosenEmbedder("use", "nothing else")

    steps.slow = slow
    monkeypatch.setattr(tuning, "choose_embedder", chosen)
    monkeypatch.setattr(tuning._Tuning, "_rehearsed", lambda self, epochs: 1.0)
    steps.go(minutes=15)
    assert asked["most"] == pytest.approx(share * 900, rel=0.02)


def test_what_the_user_says_is_not_chosen(steps):
    found = steps.go(changes=["identifiers.sizes=[16, 16]", "identifiers.embedder=t5:mine"])
    assert found.choices.sizes == (16, 16)
    assert found.choices.made["embedder"]["name"] == "t5:mine"
    assert (
        found.choices.made["sizes"]["why"] == found.choices.made["embedder"]["why"] == "you said so"
    )
    assert steps.trained == [("run", (16, 16), 8)]


def test_an_embedder_that_fine_tuning_makes_better_is_fine_tuned(steps, monkeypatch):
    tune = EmbedderTuning(max_tokens=64)
    asked = []

    def chosen(dataset, settings, **rest):
        asked.append(settings.embedder)
        return ChosenTuning(tune, "it finds more")

    monkeypatch.setattr(tuning, "choose_tuning", chosen)
    name = "package:some_model"
    found = steps.go(changes=[f"identifiers.embedder={name}"])
    assert asked == [name]
    assert steps.recipes[-1].identifiers.tune == tune
    assert ("fine-tuning", "yes", "it finds more") in [row[:3] for row in found.choices.rows()]


def test_what_the_user_says_of_fine_tuning_holds(steps, monkeypatch):
    monkeypatch.setattr(tuning, "choose_tuning", None)
    changes = ["identifiers.embedder=package:some_model", "identifiers.tune.epochs=2"]
    found = steps.go(changes=changes)
    assert steps.recipes[-1].identifiers.tune.epochs == 2
    assert found.choices.made["tuned"]["why"] == "you said so"


def test_sizes_of_a_recipe_that_are_not_the_usual_ones_stay(steps, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "practical"\n[identifiers]\nsizes = [32, 32]\n')
    found = steps.go(recipe=str(mine))
    assert found.choices.sizes == (32, 32)
    assert found.choices.made["sizes"]["why"] == "as the recipe says"


def test_without_validation_queries_it_says_what_it_cannot_choose(steps, shop):
    blind = shop.with_split(np.zeros(shop.n_queries, dtype=np.int8))
    found = steps.go(blind)
    assert found.choices.sizes == USUAL
    assert "no judged validation queries" in steps.said.text
    assert found.choices.asked["on"] == "queries made of items"
    assert found.choices.made["validation"]["rules"] == {}
    assert [one.key for one in found.tables()] == ["tuning", "loss-curve", "validation"]


def test_a_rehearsal_says_how_long_a_training_takes_and_leaves_nothing(shop, tmp_path, monkeypatch):
    monkeypatch.setattr(rehearsal, "ENOUGH", 0.0)
    monkeypatch.setattr(tuning, "_SURE", 1e9)
    found = pipeline.tune_catalogue(
        shop, tmp_path / "run", changes=[*QUICK, "identifiers.sizes=[16, 16]"]
    )
    assert found.choices.made["epochs"]["epochs"] == 2
    assert not (tmp_path / "run" / "trials").exists()


def test_a_rehearsal_of_a_short_training_ends_before_the_index(shop, tmp_path, monkeypatch):
    changes = [*QUICK, "training.epochs=1", "identifiers.sizes=[8, 8]"]
    recipe = Recipe.resolve("practical", size="tiny", changes=changes)
    monkeypatch.setattr(indexing, "build_index", lambda *_, **__: pytest.fail("it is not searched"))
    home = tmp_path / "home"
    assert rehearsal.rehearsed(shop, recipe, home, identifiers=None, tell=SILENT) > 0
    assert not home.exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0}, "--minutes 0 is not between"),
        ({"minutes": "many"}, "minutes must be a number"),
        ({"recipe": "bm25"}, "about systems with identifiers"),
        ({"recipe": "nothing"}, "There is no recipe"),
        ({"changes": ["training.speed=9"]}, "training.speed"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(shop, tmp_path, given, message):
    with pytest.raises(RarsError, match=message):
        pipeline.tune_catalogue(shop, tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_other_options_and_other_data_are_refused(shop, tuned, tmp_path):
    found, _ = tuned
    with pytest.raises(RarsError, match="other options"):
        pipeline.tune_catalogue(shop, found.run.folder, changes=["training.epochs=3"])
    make_shop(tmp_path / "other", size="tiny", seed=1)
    with pytest.raises(RarsError, match="other contents"):
        pipeline.tune_catalogue(Dataset.load(tmp_path / "other"), found.run.folder, changes=QUICK)


def test_a_run_made_by_hand_is_not_touched(shop, tmp_path):
    changes = [*QUICK, "training.epochs=1", "identifiers.sizes=[8, 8]"]
    train(shop, Recipe.resolve("practical", size="tiny", changes=changes), tmp_path / "run")
    with pytest.raises(RarsError, match="not made by rars tune"):
        pipeline.tune_catalogue(shop, tmp_path / "run", changes=QUICK)


@pytest.mark.parametrize(
    ("slow", "expected"),
    [(0.1, "may go into comparing sizes"), (1e6, "more than the 30 minutes")],
)
def test_before_it_starts_it_says_whether_there_is_time_for_everything(
    steps, slow, expected, monkeypatch
):
    monkeypatch.setattr(tuning._Tuning, "_rehearsed", lambda self, epochs: 1.0)
    steps.slow = slow
    steps.go()
    said = next(line for line in steps.said.lines if line.startswith("Expected: about"))
    assert expected in said
    assert ("8 epochs" if slow < 1 else "2 of 8 epochs") in said
