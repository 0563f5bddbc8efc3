"""Numbers that outlive their runs: what was kept is found, and nothing is trained for it again."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest
import tomli_w

from rars.errors import RarsError
from rars.evaluation import PerQuery
from rars.experiments.design import Setting
from rars.experiments.grid import Grid
from rars.experiments.kept import Kept, run_name
from rars.experiments.order import Order, planned
from rars.experiments.results import collect, read_cell
from rars.experiments.studies import masks
from tests.evaluation.worlds import make_dataset
from tests.experiments.made_up import per_query

SETTING = Setting("tiny", ("training.learning_rate=1e-3",))


@pytest.fixture
def dataset(tmp_path):
    judged = [("q1", "i1", 3.0), ("q2", "i1", 3.0), ("q3", "i2", 3.0)]
    splits = ["train", "validation", "test"]
    return make_dataset(tmp_path / "data", ["i1", "i2"], ["q1", "q2", "q3"], judged, splits=splits)


def grid_of(tmp_path, dataset, kept):
    return Grid.of(tmp_path / "work", dataset, masks.STUDY.conditions(SETTING), range(2), kept)


def test_measures_come_back_as_they_were(tmp_path):
    kept, found = Kept(tmp_path), per_query("rars", "ar", 1)
    found = PerQuery(found.queries, found.values, left_out=3, unanswered=2)
    assert kept.find("rars-1f", "test", "ar") is None
    kept.put("rars-1f", "test", "ar", found)
    read = kept.find("rars-1f", "test", "ar")
    assert read is not None
    assert (read.left_out, read.unanswered, read.names) == (3, 2, found.names)
    assert np.array_equal(read.queries, found.queries)
    assert all(np.array_equal(read.values[name], found.values[name]) for name in found.names)
    for other in (
        ("rars-2f", "test", "ar"),
        ("rars-1f", "validation", "ar"),
        ("rars-1f", "test", "all"),
    ):
        assert kept.find(*other) is None


def test_numbers_are_found_by_what_they_were_made_from_when_a_setting_is_new(tmp_path, dataset):
    """A run kept before a setting was there has another name, and says what it was made from."""
    recipe = SETTING.recipe("rars")
    now = run_name(dataset.digest, recipe)
    before = tomllib.loads(recipe.to_toml())
    del before["training"]["accumulate"]
    path = tmp_path / "rars-of-before"
    Kept(tmp_path).put(path.name, "test", "ar", per_query("rars", "ar", 1))
    assert Kept(tmp_path).find(now, "test", "ar") is None
    told = {"data": dataset.digest, "recipe": tomli_w.dumps(before)}
    (path / "run.json").write_text(json.dumps(told))
    assert Kept(tmp_path).find(now, "test", "ar") is not None
    other = SETTING.recipe("rars", "training.epochs=2")
    assert Kept(tmp_path).find(run_name(dataset.digest, other), "test", "ar") is None
    assert Kept(tmp_path).find(run_name("another", recipe), "test", "ar") is None
    before["training"]["gone"] = 1  # a setting that is no more
    (path / "run.json").write_text(json.dumps(told | {"recipe": tomli_w.dumps(before)}))
    assert Kept(tmp_path).find(now, "test", "ar") is None


def test_a_kept_run_says_what_it_was_made_from(tmp_path, dataset):
    kept, recipe = Kept(tmp_path), SETTING.recipe("rars")
    name = run_name(dataset.digest, recipe)
    kept.describe(dataset.digest, recipe)
    assert not (tmp_path / name).exists(), "without numbers there is nothing to describe"
    kept.put(name, "test", "ar", per_query("rars", "ar", 1))
    kept.describe(dataset.digest, recipe)
    told = json.loads((tmp_path / name / "run.json").read_text())
    assert told == {"data": dataset.digest, "recipe": recipe.to_toml()}


def test_what_is_kept_is_not_written_over(tmp_path):
    kept = Kept(tmp_path)
    kept.put("rars-1f", "test", "ar", per_query("rars", "ar", 1))
    kept.put("rars-1f", "test", "ar", per_query("rars", "ar", 2))
    read = kept.find("rars-1f", "test", "ar")
    assert np.array_equal(read.values["MRR@100"], per_query("rars", "ar", 1).values["MRR@100"])


def test_a_run_whose_numbers_are_kept_is_not_trained(tmp_path, dataset):
    kept = Kept(tmp_path / "kept")
    cells = grid_of(tmp_path, dataset, kept).cells
    assert not any(cell.finished for cell in cells)
    for cell in cells:
        for rule in cell.condition.rules[: 2 if cell == cells[-1] else None]:
            kept.put(cell.folder.name, "test", rule, per_query(cell.name, rule, cell.seed))
    grid = grid_of(tmp_path, dataset, kept)
    assert [cell.finished for cell in grid.cells] == [True] * (len(cells) - 1) + [False]
    *_, left = grid.tasks()
    assert left.folder == cells[-1].folder
    assert left.arguments["rules"] == {"test": list(cells[-1].condition.rules[2:])}
    assert not (tmp_path / "work").exists()


def test_tables_are_made_of_kept_numbers_alone(tmp_path, dataset):
    kept = Kept(tmp_path / "kept")
    grid = grid_of(tmp_path, dataset, kept)
    for cell in grid.cells:
        for rule in cell.condition.rules:
            kept.put(cell.folder.name, "test", rule, per_query(cell.name, rule, cell.seed))
    conditions, contrasts = masks.STUDY.conditions(SETTING), masks.STUDY.contrasts(SETTING)
    found = collect(grid, SETTING, conditions, contrasts, masks.STUDY.measures)
    first = grid.cells[0]
    expected = per_query(first.name, "ar", first.seed).mean("nDCG@10")
    (point,) = [one for one in found.scores if one.key == first.condition.key and one.rule == "ar"]
    assert found.scores[point].means("nDCG@10")[0] == pytest.approx(expected)
    order = Order(masks.STUDY, dataset, SETTING, tmp_path / "work", seeds=2, keep=kept.folder)
    assert {one["state"] for one in planned(order)["cells"]} == {"there"}


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no table at all"])
def test_a_file_that_holds_no_measures_is_named(tmp_path, dataset, content):
    kept = Kept(tmp_path / "kept")
    cell = grid_of(tmp_path, dataset, kept).cells[0]
    path = tmp_path / "kept" / cell.folder.name / "test-ar.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(RarsError, match=r"test-ar\.parquet does not hold the measures of a run"):
        read_cell(cell, "ar", dataset)
