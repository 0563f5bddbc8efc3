"""The steps as functions: what Python calls is what the command line does, and nothing prints."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from rars import Dataset, Recipe, Run, compare, evaluate, identify, pipeline, train
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.progress import Silent
from tests.search.trained import CHANGES


class Told(Silent):
    """Keeps what it is told."""

    def __init__(self):
        self.said, self.stages, self.noted = [], [], []

    def say(self, text):
        self.said.append(text)

    def stage(self, name):
        self.stages.append(name)
        return super().stage(name)

    def note(self, name, values):
        self.noted.append((name, values))


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    make_shop(folder / "shop", size="tiny")
    return folder


@pytest.fixture(scope="module")
def shop(home):
    return Dataset.load(home / "shop")


def recipe(name="rars", *changes):
    return Recipe.resolve(name, size="tiny", changes=[*CHANGES, *changes])


@pytest.fixture(scope="module")
def trained(home, shop):
    return train(shop, recipe(), home / "rars").run


def test_a_step_tells_its_stages_and_sentences_and_prints_nothing(shop, tmp_path, capfd):
    told = Told()
    done = train(shop, recipe(), tmp_path / "run", tell=told)
    assert capfd.readouterr().out == ""
    assert any("Training rars on" in text for text in told.said)
    assert {"identifiers", "reading queries", "index"} <= set(told.stages)
    name, values = told.noted[-1]
    assert name == "rars"
    assert {"progress", "pairs_per_second", "full-sid", "tree"} <= set(values)
    assert done.steps == len(told.noted)
    again = Told()
    train(shop, recipe(), tmp_path / "run", tell=again)
    assert any("trained already" in text for text in again.said)


def test_identifiers_with_other_fitting_are_other_identifiers(shop, tmp_path):
    fitted = recipe("practical", "identifiers.fit.epochs=1")
    identify(shop, fitted, tmp_path / "run")
    identify(shop, fitted, tmp_path / "run")
    with pytest.raises(RarsError, match="was made with other settings"):
        identify(shop, recipe("practical", "identifiers.fit.epochs=2"), tmp_path / "run")


def test_a_dataset_in_memory_is_kept_in_the_run_and_another_refused(shop, tmp_path):
    few = shop.with_queries(np.arange(0, shop.n_queries, 2))
    run = train(few, recipe(), tmp_path / "run").run
    assert run.dataset().n_queries == few.n_queries
    assert train(few, recipe(), tmp_path / "run").run.folder == run.folder
    with pytest.raises(RarsError, match="holds other data than"):
        train(shop.with_queries(np.arange(10)), recipe(), tmp_path / "run")


def test_a_run_is_evaluated_by_its_own_rule_unless_told_otherwise(trained, shop, tmp_path):
    assert [one.rule for one in evaluate(trained)] == ["hybrid"]  # what the recipe says
    assert [one.rule for one in evaluate(trained, rules=["ar", "0110"[:3]])] == ["ar", "011"]
    own = train(shop, recipe("rars", "search.rule=ar"), tmp_path / "own").run
    assert [one.rule for one in evaluate(own)] == ["ar"]


def test_eligible_queries_alone_can_be_measured(shop, tmp_path):
    queries = shop.queries()
    asked = shop.queries_in("test")
    chosen = np.zeros(shop.n_queries, dtype=bool)
    chosen[asked[::2]] = True
    marked = queries.append_column("eligible", [chosen.tolist()])
    judged = shop.judgments.table(shop.query_ids, shop.item_ids)
    picked = Dataset.of(shop.items(), marked, judged)
    run = train(picked, recipe(), tmp_path / "run").run
    [everyone], [some] = evaluate(run), evaluate(run, eligible=True)
    assert set(some.per_query.queries) == {q for q in everyone.per_query.queries if chosen[q]}
    assert len(some.per_query) < len(everyone.per_query)
    assert set(pipeline.verify(run)) == {"test-hybrid", "test-eligible-hybrid"}


def test_evaluations_measures_and_names_made_on_the_spot_compare(trained):
    [found] = evaluate(trained)
    both = compare({"ours": found, "words": "bm25", "again": found.per_query}, reference="ours")
    assert list(both.systems) == ["ours", "words", "again"]
    same = [one.estimate.mean for one in both.differences if one.system == "again"]
    assert same == [0.0, 0.0]
    with pytest.raises(RarsError, match="at least one run folder"):
        compare(["bm25", "dense"])


def test_what_a_recipe_changes_against_the_one_it_extends():
    found, parent, changed = pipeline.recipe_difference("rars", size="tiny")
    assert parent == "base"
    assert {key.split(".")[2] for key, _, _ in changed} == {"tree"}
    assert found.name == "rars"
    assert {one.name for one in pipeline.recipes()} >= {"base", "rars", "practical", "bm25"}


def test_a_study_refuses_a_split_there_is_not(trained):
    with pytest.raises(RarsError, match="Unknown split 'nonsense'"):
        pipeline.ambiguity(trained, split="nonsense")
    with pytest.raises(RarsError, match="Unknown split 'nonsense'"):
        evaluate(trained, split="nonsense")


def test_a_run_folder_or_its_name_will_do(trained):
    for given in (trained, trained.folder, str(trained.folder)):
        assert Run.of(given).folder == trained.folder
    assert pipeline.index(str(trained.folder)) == "v000001"


def test_a_forced_index_that_was_killed_before_it_was_noted_is_not_made_twice(trained, tmp_path):
    """The same command again ends as if nothing had happened."""
    run = Run(tmp_path / "run")
    shutil.copytree(trained.folder, run.folder, symlinks=True)
    first = pipeline.index(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "record", lambda *_, **__: _raise(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pipeline.index(run, force=True)
    made = pipeline.index(run, force=True)
    assert made > first
    assert run.manifest()["steps"]["index"]["version"] == made
    assert [event["version"] for event in pipeline.log(run)["log"]][-2:] == [first, made]
    assert pipeline.index(run, force=True) > made  # and now it is asked for once more


def test_a_recipe_may_ask_for_weights_of_its_own_choosing(home, shop, trained, tmp_path):
    """They are chosen once, also where a process was killed before that was noted."""
    assert not (trained.folder / "index" / "hybrid.json").exists()
    asked = recipe("rars", "search.tune=true", "search.rule=hybrid")
    run = train(shop, asked, tmp_path / "run", identifiers=trained.folder).run
    chosen = run.folder / "index" / "hybrid.json"
    before = chosen.read_bytes()
    told = Told()
    train(shop, asked, run.folder, tell=told)
    assert "choosing weights" not in told.stages
    manifest = run.manifest()
    del manifest["steps"]["weights"]
    (run.folder / "manifest.json").write_text(json.dumps(manifest))
    train(shop, asked, run.folder, tell=told)
    assert "choosing weights" in told.stages
    assert json.loads(chosen.read_bytes())["settings"] == json.loads(before)["settings"]


def _raise(error):
    raise error


@pytest.mark.parametrize("log", [None, 3, [3], [{}], [{"version": "v1", "action": "build"}], "x"])
def test_a_log_that_is_none_is_one_sentence(trained, tmp_path, log):
    run = Run(tmp_path / "run")
    shutil.copytree(trained.folder, run.folder, symlinks=True)
    path = run.folder / "index" / "current.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"log": log}))
    for step in (pipeline.log, pipeline.index, pipeline.rollback):
        with pytest.raises(RarsError, match=r"current\.json"):
            step(run, force=True) if step is pipeline.index else step(run)
