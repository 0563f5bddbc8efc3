"""An experiment from a notebook: what is written, what is shown, and what is done a second time (nothing)."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from rars import disk
from rars.data import Dataset
from rars.errors import RarsError, Stopped
from rars.evaluation import Truth, measure, stored
from rars.evaluation.ranking import Ranking
from rars.experiments import experiment, experiment_on_all, order, planned
from rars.experiments.design import Point, Setting
from rars.experiments.drawing import standings
from rars.experiments.processes import Failure, State
from rars.experiments.studies import main
from rars.systems import Ranked
from tests.evaluation.worlds import make_dataset

RATE = ("training.learning_rate=1e-3",)


@pytest.fixture
def dataset(tmp_path):
    items, queries = [f"i{n}" for n in range(20)], [f"q{n}" for n in range(8)]
    judged = [(query, f"i{at + n}", 3.0) for at, query in enumerate(queries) for n in range(5)]
    return make_dataset(tmp_path / "data", items, queries, judged)


def stand_in(dataset, fails=""):
    """Instead of training: a random but fixed ranking for each run and rule."""

    def run_all(tasks, jobs, watch=None, engine="local"):
        truth = Truth.of(dataset, "test")
        failures = []
        for task in (one for one in tasks if one.kind == "run"):
            if fails and task.name.startswith(fails):
                failures.append(Failure(task.name, "it is broken.", task.log))
                continue
            folder = Path(task.arguments["out"])
            disk.write_json(folder / "manifest.json", {"steps": {"model": {}, "index": {}}})
            for rule in task.arguments["rules"]["test"]:
                random = np.random.default_rng(zlib.crc32(f"{task.name}{rule}".encode()))
                lists = [random.permutation(dataset.n_items)[:8].tolist() for _ in truth.queries]
                ranking = Ranking.of(truth.queries, Ranked.of_lists(lists))
                files = stored.Files.of(folder / "results", "test", rule)
                found = measure(ranking, truth)
                stored.store(files, ranking, found, dataset, "test", rule=rule)
        return failures

    return run_all


def test_an_experiment_writes_its_results_and_shows_its_tables(tmp_path, dataset, monkeypatch):
    monkeypatch.setattr(order, "run_all", stand_in(dataset))
    said = []
    given = {"out": tmp_path / "work", "seeds": 2, "changes": RATE, "say": said.append}
    outcome = experiment("masks", dataset, **given)
    assert {path.name for path in outcome.folder.iterdir()} == {
        *("results.json", "table.md", "table.tex", "report.html")
    }
    known = json.loads((outcome.folder / "results.json").read_text())
    assert known["points"] == outcome.payload["points"]
    shown = outcome._repr_html_()
    assert shown.count("<table>") == len(outcome.tables) == 3
    assert all(table.title in shown for table in outcome.tables)
    mean = known["points"][0]["measures"]["Recall@100"]["mean"]
    assert f"{100 * mean:.2f}" in shown

    monkeypatch.setattr(
        order, "run_all", lambda tasks, *_: [] if not tasks else pytest.fail("done twice")
    )
    again = experiment("masks", str(dataset.folder), **given)
    assert again.payload["points"] == known["points"]
    assert "4 are there, 0 to train" in said[-1]


def test_runs_that_failed_are_named_in_the_outcome_and_the_report(tmp_path, dataset, monkeypatch):
    monkeypatch.setattr(order, "run_all", stand_in(dataset, fails="Base"))
    outcome = experiment("masks", dataset, out=tmp_path / "work", seeds=1, changes=RATE)
    assert [one.name for one in outcome.failures] == ["Base, seed 0"]
    assert "Not all runs could be made" in (outcome.folder / "report.html").read_text()
    monkeypatch.setattr(order, "run_all", _all_fail)
    with pytest.raises(RarsError, match="No run of masks could be made: .*it is broken"):
        experiment("masks", dataset, out=tmp_path / "other", seeds=1, changes=RATE)


def test_numbers_are_kept_as_runs_end_and_not_when_all_have(tmp_path, dataset, monkeypatch):
    """Stopped in the middle, and the runs gone with their machine: the next sitting needs only the rest."""

    def stopped(tasks, jobs, watch, engine):
        runs = [one for one in tasks if one.kind == "run"]
        stand_in(dataset)(runs[:1], jobs)
        watch(State(done=1, total=len(runs), running=(), failed=0))
        raise Stopped("stopped")

    monkeypatch.setattr(order, "run_all", stopped)
    given = {"seeds": 2, "changes": RATE, "keep": tmp_path / "keep"}
    with pytest.raises(Stopped):
        experiment("masks", dataset, out=tmp_path / "here", **given)
    found = planned("masks", dataset, out=tmp_path / "elsewhere", **given)
    assert [one["state"] for one in found["cells"]].count("there") == 1


def _all_fail(tasks, jobs, watch=None, engine="local"):
    return [Failure(one.name, "it is broken.", one.log) for one in tasks]


def test_the_main_figure_has_every_system_with_numbers_once(tmp_path, dataset, monkeypatch):
    drawn = []

    def watched(blocks, path):
        drawn.append(blocks)
        standings(blocks, path)

    monkeypatch.setattr(main, "standings", watched)
    monkeypatch.setattr(order, "run_all", stand_in(dataset, fails="TIGER"))
    systems = ["fusion", "bm25", "tiger", "calir", "base", "rars"]
    outcome = experiment(
        "main", dataset, out=tmp_path / "work", seeds=1, changes=RATE, systems=systems
    )
    assert (outcome.folder / "figure.png").stat().st_size > 1000
    names = {title: list(rows) for title, rows in drawn[0].items()}
    both = [f"{name}, {rule}" for rule in ("AR only", "all levels") for name in ("Base", "RARS")]
    assert names == {
        "Sparse retrieval": ["BM25"],
        "Controlled": both,
        "Beside the paper's rows": ["BM25 + dense"],
    }
    found = drawn[0]["Sparse retrieval"]["BM25"]
    assert found["Recall@100"] == outcome.results.intervals[Point("bm25", "plain"), "Recall@100"]


def test_several_datasets_are_made_in_turn_and_shown_side_by_side(tmp_path, dataset, monkeypatch):
    items, queries = [f"i{n}" for n in range(20)], [f"q{n}" for n in range(8)]
    judged = [(query, f"i{at + 7 + n}", 3.0) for at, query in enumerate(queries) for n in range(4)]
    other = make_dataset(tmp_path / "other", items, queries, judged, name="other")
    made = {dataset.digest: dataset, other.digest: other}

    def run_all(tasks, jobs, watch=None, engine="local"):
        found = []
        for task in tasks:
            of = Dataset.load(task.arguments["data"])
            found += stand_in(made[of.digest])([task], jobs, watch)
        return found

    monkeypatch.setattr(order, "run_all", run_all)
    asked = {"out": tmp_path / "work", "seeds": 2, "changes": RATE, "systems": ["bm25", "base"]}
    outcome = experiment_on_all("main", [dataset.folder, other.folder], **asked)
    names = list(outcome.parts)
    assert len(names) == 2
    whole = outcome.tables[0]
    assert [title for title, _ in whole.groups] == names
    for at, part in enumerate(outcome.parts.values()):
        alone = part.tables[0].blocks[0].rows[0].cells
        assert whole.blocks[0].rows[0].cells[5 * at : 5 * at + 5] == alone
        assert (part.folder / "table.tex").exists()
        assert part.folder.parent == outcome.folder
    known = json.loads((outcome.folder / "results.json").read_text())
    assert set(known["datasets"]) == set(names)
    assert (outcome.folder / "report.html").exists()
    plan = planned("main", [dataset.folder, other.folder], **asked)
    assert {one["state"] for one in plan["cells"]} == {"there"}
    assert len(plan["cells"]) == 2 * (1 + 2)


def test_rows_whose_weights_cannot_be_had_leave_the_rest_whole(tmp_path, dataset, monkeypatch):
    ordinary = stand_in(dataset)

    def run_all(tasks, jobs, watch=None, engine="local"):
        lacking = [one for one in tasks if one.name.startswith("MPNet")]
        ordinary([one for one in tasks if one not in lacking], jobs)
        return [Failure(one.name, "It is nowhere.", one.log, True) for one in lacking]

    monkeypatch.setattr(order, "run_all", run_all)
    asked = {"out": tmp_path / "work", "seeds": 1, "changes": RATE, "systems": ["bm25", "mpnet"]}
    outcome = experiment("main", dataset, **asked)
    assert outcome.failures == []
    assert outcome.payload["unavailable"] == {"mpnet": "It is nowhere."}
    assert "MPNet (NeurIPS&#39;20): It is nowhere." in (outcome.folder / "report.html").read_text()
    with pytest.raises(RarsError, match="No run of main could be made: It is nowhere"):
        experiment("main", dataset, **{**asked, "systems": ["mpnet"], "out": tmp_path / "none"})


@pytest.mark.parametrize(
    ("name", "asked", "why"),
    [
        ("main", {"systems": ["tigre"]}, "--systems: main has no row 'tigre'; choose among bm25"),
        (
            "masks",
            {"systems": ["base"]},
            "--systems: masks has no row 'base'; it has no such choice",
        ),
        ("main", {"changes": ["tigre:training.epochs=1"]}, "there is no recipe 'tigre'"),
        ("main", {"changes": [*RATE, "mpnet:dense.guess=1"]}, "there is no setting 'dense.guess'"),
    ],
)
def test_a_wrong_row_or_recipe_is_one_sentence(tmp_path, dataset, name, asked, why):
    given = {"changes": RATE, "seeds": 1, **asked}
    with pytest.raises(RarsError, match=why):
        planned(name, dataset, out=tmp_path / "work", **given)
    assert not (tmp_path / "work").exists()


def test_settings_of_one_recipe_or_one_system_reach_no_other():
    setting = Setting(
        "tiny", ("dense.epochs=3", "tiger:training.epochs=2", "mpnet:dense.pooling=cls")
    )
    assert setting.recipe("dpr").own["dense"].epochs == 3
    assert setting.recipe("tiger").training.epochs == 2
    assert setting.recipe("rars").training.epochs == 10
    assert setting.recipe("mpnet").own["dense"].pooling == "cls"
    assert setting.recipe("sentence-t5").own["dense"].pooling == "own"
