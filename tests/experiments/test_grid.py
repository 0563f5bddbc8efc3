"""Which runs are needed, which are there, and that experiments share them."""

from __future__ import annotations

import pytest

from rars import disk
from rars.errors import RarsError
from rars.experiments.design import Setting, depth_of
from rars.experiments.grid import Grid
from rars.experiments.order import Order, planned, writable
from rars.experiments.studies import STUDIES, geometry, main, masks, positives, study
from tests.evaluation.worlds import make_dataset
from tests.experiments.made_up import seal_nothing

SETTING = Setting("tiny", rates={"base": 2e-3, "rars": 1e-3})


@pytest.fixture
def dataset(tmp_path):
    return make_dataset(
        tmp_path / "data",
        ["i1", "i2"],
        ["q1", "q2", "q3"],
        [("q1", "i1", 3.0), ("q2", "i1", 3.0), ("q3", "i2", 3.0)],
        splits=["train", "validation", "test"],
    )


def grid_of(tmp_path, dataset, one, seeds=2, setting=SETTING):
    return Grid.of(tmp_path / "work", dataset, one.conditions(setting), range(seeds))


def finish(cell, rules=None):
    """Write what a trained and measured run leaves behind."""
    disk.write_json(cell.folder / "manifest.json", {"steps": {"model": {}, "index": {}}})
    for rule in cell.condition.rules if rules is None else rules:
        seal_nothing(cell.folder / "results", "test", rule or "plain")


def test_cells_are_conditions_times_seeds_and_seedless_systems_run_once(tmp_path, dataset):
    grid = grid_of(tmp_path, dataset, main.STUDY, seeds=3)
    names = [cell.name for cell in grid.cells]
    assert names.count("BM25 (FnT IR'09)") == 1
    assert names.count("MPNet (NeurIPS'20)") == 1
    assert sum(name.startswith("DPR") for name in names) == 3
    assert [name for name in names if name.startswith("Base")] == [
        *("Base, seed 0", "Base, seed 1", "Base, seed 2")
    ]
    assert len({cell.folder for cell in grid.cells}) == len(grid.cells)


def test_base_and_rars_differ_in_the_objective_alone(tmp_path, dataset):
    """A matched comparison: the same rate, seed and identifiers; only the loss is another."""
    recipes = {one.key: one.recipe for one in main.conditions(SETTING)}
    base, rars = (recipes[key].model_dump() for key in ("base", "rars"))
    assert {key for key in base if base[key] != rars[key]} == {"name", "about", "objective"}
    assert base["training"]["learning_rate"] == 2e-3
    assert recipes["rars-own"].training.learning_rate == 1e-3


def test_experiments_share_runs_of_equal_recipes(tmp_path, dataset):
    folders = {
        name: {cell.folder for cell in grid_of(tmp_path, dataset, STUDIES[name]).cells}
        for name in ("main", "masks", "depth", "positives", "tree-weight", "hyperparameters")
    }
    assert folders["masks"] < folders["main"]
    assert folders["depth"] < folders["masks"]
    # E + S + C is the default, and so are weight 0.5, 32 siblings, temperature 1 and rank 64.
    assert len(folders["masks"] & folders["positives"]) == 4
    assert folders["masks"] < folders["tree-weight"] < folders["hyperparameters"]


def test_a_run_is_named_by_its_data_and_its_settings(tmp_path, dataset):
    other = Setting("tiny", ("training.epochs=3",), SETTING.rates)
    ours = {cell.folder for cell in grid_of(tmp_path, dataset, masks.STUDY).cells}
    theirs = {cell.folder for cell in grid_of(tmp_path, dataset, masks.STUDY, setting=other).cells}
    assert not ours & theirs
    moved = make_dataset(tmp_path / "other", ["i1"], ["q"], [("q", "i1", 3.0)])
    assert not ours & {cell.folder for cell in grid_of(tmp_path, moved, masks.STUDY).cells}


def test_identifiers_are_learned_once_per_settings(tmp_path, dataset):
    cells = grid_of(tmp_path, dataset, geometry.STUDY).cells
    assert len({cell.identifiers for cell in cells}) == 3
    assert (
        len({cell.identifiers for cell in grid_of(tmp_path, dataset, positives.STUDY).cells}) == 1
    )


def test_only_what_is_missing_is_done(tmp_path, dataset):
    grid = grid_of(tmp_path, dataset, masks.STUDY)
    first, second, *_ = grid.cells
    finish(first)
    finish(second, rules=("ar", "all"))
    tasks = grid.tasks()
    assert first.folder not in {task.folder for task in tasks}
    assert sum(task.folder.name.startswith("identifiers") for task in tasks) == 1
    (left,) = [task for task in tasks if task.folder == second.folder]
    assert (left.kind, left.arguments["out"]) == ("run", str(second.folder))
    assert left.arguments["rules"] == {"test": ["0001", "1110"]}
    untrained = next(task for task in tasks if task.folder == grid.cells[2].folder)
    assert untrained.arguments["identifiers"] == str(grid.cells[2].identifiers)
    assert untrained.needs == (grid.cells[2].identifiers,)
    assert untrained.arguments["rules"] == {"test": ["ar", "0001", "1110", "all"]}


def test_a_seed_of_all_systems_comes_before_the_next_seed(tmp_path, dataset):
    """Stopped early, an experiment has a whole table of fewer seeds."""
    tasks = grid_of(tmp_path, dataset, main.STUDY, seeds=3).tasks()
    seeds = [int(one.name[-1]) for one in tasks if ", seed " in one.name]
    assert seeds == sorted(seeds)
    assert set(seeds) == {0, 1, 2}


def test_masks_follow_the_length_of_the_identifiers():
    short = Setting("tiny", ("identifiers.sizes=[16, 16, 16]",))
    assert masks.conditions(short)[0].rules == ("ar", "001", "110", "all")
    kmeans = Setting("tiny", ("identifiers.learner=hierarchical-kmeans",))
    assert STUDIES["depth"].conditions(kmeans)[0].rules == ("all", "0111", "1011", "1101", "1110")
    with pytest.raises(RarsError, match="naive"):
        depth_of(Setting("tiny", ("identifiers.learner=naive",)).recipe("base").identifiers)


def test_the_setting_a_study_varies_wins_over_set_options():
    setting = Setting("tiny", ("objective.terms.tree.weight=9", "objective.terms.tree.rank=8"))
    base, *others = (one.recipe.objective for one in study("tree-weight").conditions(setting))
    assert [one.named("tree").weight for one in others] == [0.1, 0.25, 0.5, 1, 2]
    assert {one.named("tree").own.rank for one in others} == {8}
    assert "tree" not in {
        one.name for one in base.terms
    }  # a term's setting concerns who has the term


def test_a_setting_of_no_known_term_is_refused():
    with pytest.raises(RarsError, match="there is no term 'treee'"):
        Setting("tiny", ("objective.terms.treee.weight=9",))


def test_a_dry_run_lists_the_search_for_a_rate_first(tmp_path, dataset):
    order = Order(main.STUDY, dataset, Setting("tiny"), tmp_path / "work", seeds=1)
    steps = [(one["step"], one["state"]) for one in planned(order)["cells"]]
    assert steps.count(("learning rate", "to train")) == 8
    assert steps.count(("at the chosen rate", "to do")) == 23
    assert not (tmp_path / "work").exists()
    fixed = Order(
        main.STUDY, dataset, Setting("tiny", ("training.learning_rate=1e-3",)), tmp_path, seeds=1
    )
    assert {one["step"] for one in planned(fixed)["cells"]} == {"main"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": 0}, "--seeds"),
        ({"jobs": 0}, "--jobs 0"),
        ({"rates": (0.0,)}, "--rates"),
        ({"study": STUDIES["nq320k"]}, "no column partition"),
    ],
)
def test_an_order_that_cannot_be_met_is_refused_at_once(tmp_path, dataset, change, message):
    given = {"study": main.STUDY, "dataset": dataset, "setting": Setting("tiny"), "home": tmp_path}
    with pytest.raises(RarsError, match=message):
        Order(**{**given, **change})


@pytest.mark.parametrize("lacking", ["test", "validation"])
def test_a_dataset_without_the_queries_it_needs_is_refused(tmp_path, lacking):
    splits = ["train", "train" if lacking == "validation" else "validation"]
    splits.append("train" if lacking == "test" else "test")
    small = make_dataset(
        tmp_path / "small", ["i"], ["a", "b", "c"], [(q, "i", 3.0) for q in "abc"], splits=splits
    )
    with pytest.raises(RarsError, match=f"no {lacking} query"):
        Order(main.STUDY, small, Setting("tiny"), tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RarsError, match="--out .*file/below"):
        writable(tmp_path / "file" / "below")


def test_an_unknown_experiment_is_answered_with_the_known_ones():
    with pytest.raises(RarsError, match="'mian'; choose one of main, objectives, masks"):
        study("mian")
