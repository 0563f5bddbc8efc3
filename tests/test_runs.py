"""A run folder says what it was made from, and is never begun over something else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.runs import Run, kept, on_disk

RECIPE = Recipe.resolve("rars", size="tiny")
ITEMS = [{"id": "a", "title": "red mug"}, {"id": "b", "title": "blue mug"}]
QUERIES = [{"id": "q", "text": "mug", "split": "train"}]
JUDGED = [{"query_id": "q", "item_id": "a", "grade": 1.0}]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "shop"
    make_shop(folder, size="tiny")
    return Dataset.load(folder)


@pytest.fixture
def memory():
    return Dataset.of(ITEMS, QUERIES, JUDGED)


def everything(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refusal(call, *given, **named):
    with pytest.raises(RarsError) as error:
        call(*given, **named)
    said = str(error.value)
    assert "\n" not in said
    return said


# -- beginning -------------------------------------------------------------------------------------


def test_planning_writes_nothing(shop, tmp_path):
    assert Run.planned(tmp_path / "run", shop).folder == tmp_path / "run"
    assert not (tmp_path / "run").exists()


def test_a_run_says_what_it_was_made_from(shop, tmp_path):
    run = Run.start(tmp_path / "run", RECIPE, shop)
    assert run.recipe() == RECIPE
    manifest = run.manifest()
    assert manifest["kind"] == "run"
    assert manifest["steps"] == {}
    assert manifest["data"] == {
        "name": shop.name,
        "folder": str(shop.folder.resolve()),
        "digest": shop.digest,
    }
    assert {"numpy", "torch"} < manifest["libraries"].keys()
    assert Run.open(run.folder).dataset().digest == shop.digest


def test_starting_again_keeps_the_steps_and_writes_the_recipe_anew(shop, tmp_path):
    run = Run.start(tmp_path, RECIPE, shop)
    run.record("identifiers", seconds=1.5, learner="residual-kmeans")
    changed = Recipe.resolve("rars", size="tiny", changes=["search.width=7"])
    again = Run.start(tmp_path, changed, shop)
    assert again.manifest()["steps"] == {
        "identifiers": {"seconds": 1.5, "learner": "residual-kmeans"}
    }
    assert again.recipe() == changed


def test_a_step_is_recorded_beside_the_others_and_the_last_word_counts(shop, tmp_path):
    run = Run.start(tmp_path, RECIPE, shop)
    run.record("identifiers", seconds=1)
    run.record("model", steps=5)
    run.record("identifiers", seconds=2)
    assert run.manifest()["steps"] == {"identifiers": {"seconds": 2}, "model": {"steps": 5}}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


# -- what is refused, and left as it is ------------------------------------------------------------


@pytest.mark.parametrize("call", [Run.planned, lambda out, data: Run.start(out, RECIPE, data)])
def test_a_folder_of_something_else_is_refused_and_untouched(shop, tmp_path, call):
    (tmp_path / "thesis.tex").write_text("years of work")
    before = everything(tmp_path)
    said = refusal(call, tmp_path, shop)
    assert "holds files that are not a rars run" in said
    assert "--out" in said
    assert everything(tmp_path) == before


def test_an_empty_folder_is_nobodys(shop, tmp_path):
    assert Run.start(tmp_path, RECIPE, shop).manifest_path.exists()


def test_a_run_of_other_data_is_refused_and_untouched(shop, memory, tmp_path):
    Run.start(tmp_path, RECIPE, shop)
    before = everything(tmp_path)
    other = memory.save(tmp_path.parent / f"{tmp_path.name}-other")
    said = refusal(Run.start, tmp_path, RECIPE, other)
    assert repr(shop.name) in said
    assert "other contents" in said
    assert everything(tmp_path) == before


def test_a_manifest_that_is_no_runs_is_refused_and_untouched(shop, memory, tmp_path):
    """A dataset folder has a manifest of its own; a run in it would overwrite that."""
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "identifiers", "meta": {}}))
    before = everything(tmp_path)
    for call in (Run.planned, lambda out, data: Run.start(out, RECIPE, data)):
        assert "manifest.json" in refusal(call, tmp_path, shop)
    assert "does not describe a run" in refusal(Run.open, tmp_path)
    assert "does not describe a run" in refusal(on_disk, memory, tmp_path)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '{"kind": "run"}'])
def test_a_broken_manifest_is_one_sentence(shop, tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    for call in (Run.open, lambda out: Run.planned(out, shop)):
        assert "manifest.json" in refusal(call, tmp_path)


def test_only_a_run_can_be_opened(shop, tmp_path):
    assert refusal(Run.open, tmp_path / "nowhere").endswith(
        "is not a rars run: it has no manifest.json."
    )
    assert "is not a rars run" in refusal(Run.open, shop.folder)
    run = Run.start(tmp_path / "run", RECIPE, shop)
    assert Run.open(str(run.folder)) == run


def test_a_run_is_taken_as_folder_or_as_it_is(shop, tmp_path):
    run = Run.start(tmp_path / "run", RECIPE, shop)
    assert Run.of(run) == Run.of(run.folder) == Run.of(str(run.folder)) == run
    assert Run.of(run, generative=True) == run
    assert "is not a rars run" in refusal(Run.of, Run(tmp_path / "gone"))


def test_a_run_without_identifiers_is_refused_where_they_are_needed(shop, tmp_path, monkeypatch):
    run = Run.start(tmp_path / "run", RECIPE, shop)
    other = RECIPE.model_copy(update={"system": "words"})
    monkeypatch.setattr(Run, "recipe", lambda self: other)
    assert Run.open(run.folder) == run
    for call in (Run.open, Run.of):
        assert "is a words system" in refusal(call, run.folder, generative=True)


def test_data_that_changed_under_a_run_is_an_error(memory, tmp_path):
    stored = memory.save(tmp_path / "data")
    run = Run.start(tmp_path / "run", RECIPE, stored)
    assert run.dataset().digest == stored.digest
    other = [*ITEMS, {"id": "c", "title": "green mug"}]
    Dataset.of(other, QUERIES, JUDGED).save(tmp_path / "other")
    (tmp_path / "data").rename(tmp_path / "before")
    (tmp_path / "other").rename(tmp_path / "data")
    assert "has changed since" in refusal(run.dataset)
    (tmp_path / "data").rename(tmp_path / "moved")
    assert str(tmp_path / "data") in refusal(run.dataset)


# -- datasets that have no folder ------------------------------------------------------------------


def test_a_dataset_on_disk_stays_where_it_is(shop, tmp_path):
    assert on_disk(shop, tmp_path / "run") is shop
    assert not (tmp_path / "run").exists()


def test_a_dataset_in_memory_is_kept_with_the_run_and_found_again(memory, tmp_path):
    home = tmp_path / "run"
    kept = on_disk(memory, home)
    assert kept.folder == home / "dataset"
    assert kept.item_ids.to_pylist() == ["a", "b"]
    run = Run.start(home, RECIPE, kept)
    before = everything(home)
    again = on_disk(Dataset.of(ITEMS, QUERIES, JUDGED), home)
    assert again.digest == kept.digest
    assert Run.start(home, RECIPE, again) == run
    assert run.dataset().digest == kept.digest
    assert everything(home) == before


def test_a_view_is_kept_as_what_it_shows(shop, tmp_path):
    view = shop.with_items(np.arange(20))
    kept = on_disk(view, tmp_path / "run")
    assert kept.n_items == 20
    assert kept.item_ids.to_pylist() == shop.item_ids.to_pylist()[:20]
    assert on_disk(shop.with_items(np.arange(20)), tmp_path / "run").digest == kept.digest
    before = everything(tmp_path)
    assert "holds other data" in refusal(on_disk, shop.with_items(np.arange(21)), tmp_path / "run")
    assert everything(tmp_path) == before


def test_other_data_in_memory_is_refused_and_untouched(memory, tmp_path):
    on_disk(memory, tmp_path)
    before = everything(tmp_path)
    other = Dataset.of(ITEMS, [{"id": "q", "text": "cup", "split": "train"}], JUDGED)
    assert "holds other data" in refusal(on_disk, other, tmp_path)
    assert everything(tmp_path) == before


def test_data_in_memory_is_not_kept_in_a_folder_of_something_else(memory, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "not a rars run" in refusal(on_disk, memory, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_copy_kept_for_a_refused_step_goes_again(memory, tmp_path):
    def refused(home):
        with kept(memory, home) as stored:
            assert stored.folder == home / "dataset"
            raise RarsError("no")

    home = tmp_path / "deep" / "run"
    assert refusal(refused, home) == "no"
    assert not list(tmp_path.iterdir())
    on_disk(memory, home)
    before = everything(home)
    assert refusal(refused, home) == "no"
    assert everything(home) == before  # it was there before


def test_a_copy_of_a_run_that_was_begun_stays(memory, tmp_path):
    def failing():
        with kept(memory, tmp_path / "run") as stored:
            Run.start(tmp_path / "run", RECIPE, stored)
            raise RarsError("later")

    assert refusal(failing) == "later"
    assert Run.open(tmp_path / "run").dataset().item_ids.to_pylist() == ["a", "b"]


def test_what_a_kill_left_of_the_first_file_is_in_nobodys_way(shop, tmp_path):
    (tmp_path / ".manifest.json.4711-0.partial").write_text('{"kind"')
    run = Run.start(tmp_path, RECIPE, shop)
    assert run.recipe() == RECIPE
    assert not list(tmp_path.glob(".*.partial"))


def test_the_same_recipe_is_not_written_again(shop, tmp_path):
    """A command that finds everything done leaves even the times of the files alone."""
    run = Run.start(tmp_path, RECIPE, shop)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    Run.start(run.folder, RECIPE, shop)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
