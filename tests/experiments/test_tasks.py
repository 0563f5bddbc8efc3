"""A task does what is missing when its turn comes, not what was missing when it was written."""

from __future__ import annotations

import pytest

from rars import disk
from rars.config import Recipe
from rars.experiments import tasks
from tests.experiments.made_up import seal_nothing


@pytest.fixture
def called(monkeypatch):
    """The steps a task asks for, instead of doing them."""
    listed = []

    class Steps:
        def identify(self, dataset, recipe, out, *, tell):
            listed.append(("identify", dataset, recipe.name, str(out)))

        def train(self, dataset, recipe, out, *, identifiers, tell):
            listed.append(("train", dataset, recipe.name, str(out), identifiers))

        def evaluate(self, run, *, rules, split, tell):
            listed.append(("evaluate", str(run), rules, split))

    monkeypatch.setattr(tasks, "pipeline", Steps())
    monkeypatch.setattr(tasks.Dataset, "load", lambda folder: folder)
    return listed


def finish(folder, *results, steps=("model", "index")):
    disk.write_json(folder / "manifest.json", {"steps": {key: {} for key in steps}})
    for name in results:
        seal_nothing(folder / "results", *name.split("-"))


def run(folder, rules, identifiers="ids", changes=()):
    text = Recipe.resolve("base", size="tiny", changes=changes).to_toml()
    tasks.TASKS["run"](
        data="data", recipe=text, out=str(folder), identifiers=identifiers, rules=rules
    )


def test_a_run_is_trained_with_its_recipe_beside_it_and_measured_on_every_split(tmp_path, called):
    folder = tmp_path / "run"
    run(folder, {"validation": ["ar"], "test": ["ar", "all"]})
    train, *evaluations = called
    assert train == ("train", "data", "base", str(folder), "ids")
    assert Recipe.read(tmp_path / "run.toml") == Recipe.resolve("base", size="tiny")
    assert evaluations == [
        ("evaluate", str(folder), ["ar"], "validation"),
        ("evaluate", str(folder), ["ar", "all"], "test"),
    ]


def test_what_another_process_did_meanwhile_is_not_done_again(tmp_path, called):
    folder = tmp_path / "run"
    finish(folder, "test-ar")
    run(folder, {"test": ["ar", "all"]})
    assert called == [("evaluate", str(folder), ["all"], "test")]
    called.clear()
    finish(folder, "test-all")
    run(folder, {"test": ["ar", "all"]})
    assert called == []


def test_a_model_without_an_index_is_not_finished_but_a_baseline_is(tmp_path, called):
    finish(tmp_path / "model", steps=("model",))
    run(tmp_path / "model", {})
    assert [words[0] for words in called] == ["train"]
    called.clear()
    finish(tmp_path / "bm25", steps=("model",))
    run(tmp_path / "bm25", {"test": ["plain"]}, identifiers=None)
    assert called == [("evaluate", str(tmp_path / "bm25"), ["plain"], "test")]


def test_a_run_that_chooses_weights_is_not_finished_before_it_has_them(tmp_path, called):
    for steps, left in ((("model", "index"), ["train"]), (("model", "index", "weights"), [])):
        finish(tmp_path / "run", steps=steps)
        run(tmp_path / "run", {}, changes=["search.tune=true"])
        assert [words[0] for words in called] == left
        called.clear()


def test_identifiers_are_learned_once(tmp_path, called):
    folder = tmp_path / "ids"
    text = Recipe.resolve("base", size="tiny").to_toml()
    tasks.TASKS["identify"](data="data", recipe=text, out=str(folder))
    assert called == [("identify", "data", "base", str(folder))]
    finish(folder, steps=("identifiers",))
    tasks.TASKS["identify"](data="data", recipe=text, out=str(folder))
    assert len(called) == 1
