"""The frame of all studies: settings, names, and a folder that is written as a whole."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

from rars import pipeline
from rars.analysis.studies import STUDIES, study
from rars.cli import app
from rars.config import Recipe
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.experiments import analysis, planned_analysis

SMALL = ("identifiers.sizes=[16, 16, 16]",)


@pytest.fixture(scope="module")
def run(shop, tmp_path_factory):
    home = tmp_path_factory.mktemp("study") / "run"
    return pipeline.identify(shop, Recipe.resolve("rars", size="tiny", changes=SMALL), home).run


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_writes_its_folder(run, name):
    quick = {
        "hierarchy": ["assignments=9", "draws=20"],
        "heterogeneity": ["draws=20"],
        "replication": ["splits=1", "draws=20", "randomisations=20"],
        "sensitivity": ["subsamples=1"],
        "evidence": ["replicates=1", "draws=20", "randomisations=20"],
    }
    if study(name).trains:
        pytest.skip("needs a trained run; tested with its own")
    made = pipeline.analyze(run, name, changes=quick.get(name, []), split="train")
    assert made.folder == run.results / name
    figures = {f"{one.name}.{end}" for one in made.result.figures() for end in ("png", "svg")}
    told = {"results.json", "table.md", "table.tex", "section.html", "report.html", "manifest.json"}
    assert {path.name for path in made.folder.iterdir()} == told | figures
    stored = json.loads((made.folder / "results.json").read_text())
    assert stored["study"] == name
    assert stored["settings"]["split"] == "train"
    assert stored["findings"] == list(made.result.findings())
    assert (made.folder / "table.tex").read_text().count(r"\begin{table}") == len(
        made.result.tables()
    )
    page = (made.folder / "report.html").read_text()
    assert "<section" in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(run):
    def numbers(seed):
        made = pipeline.analyze(
            run, "hierarchy", changes=["assignments=9"], split="train", seed=seed
        )
        return made.as_dict()["results"]

    first = numbers(0)
    assert numbers(0) == first
    assert numbers(1) != first


def test_a_failed_study_leaves_the_old_folder(run):
    made = pipeline.analyze(run, "sensitivity", changes=["subsamples=1"], split="train")
    before = (made.folder / "results.json").read_bytes()
    with pytest.raises(RarsError, match="Unknown split 'monday'"):
        pipeline.analyze(run, "sensitivity", split="monday")
    assert (made.folder / "results.json").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["draws=0"], "--set for the study hierarchy: draws: "),
        (["colour=red"], "there is no setting 'colour'"),
        (["colour"], "is not of the form"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes, said):
    with pytest.raises(RarsError, match=said):
        study("hierarchy").asked(changes)


def test_a_second_run_is_refused_where_none_is_compared(run):
    with pytest.raises(RarsError, match="--against does not concern"):
        pipeline.analyze(run, "hierarchy", against=run)


def test_an_unknown_study_lists_those_there_are():
    with pytest.raises(RarsError, match="choose one of ambiguity, hierarchy"):
        study("astrology")


def test_two_datasets_are_studied_side_by_side(tmp_path, shop):
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    make_shop(tmp_path / "es", size="tiny", locale="es")
    asked = {
        "out": tmp_path / "home",
        "changes": [*SMALL, "heterogeneity.draws=20", "heterogeneity.split=train"],
    }
    both = [shop, tmp_path / "es"]
    assert [one["state"] for one in planned_analysis("heterogeneity", both, **asked)["cells"]] == [
        "to do"
    ] * 2
    made = analysis("heterogeneity", both, **asked)
    assert list(made.result.scenes) == ["en", "es"]
    assert made.folder == tmp_path / "home" / "heterogeneity"
    assert made.settings.draws == 20
    assert [one["state"] for one in planned_analysis("heterogeneity", both, **asked)["cells"]] == [
        "there"
    ] * 2
    with pytest.raises(RarsError, match="Two of the datasets are called"):
        analysis("heterogeneity", [shop, shop], **asked)


def test_the_command_lists_studies_and_refuses_what_does_not_concern_them(run, shop, tmp_path):
    listed = CliRunner().invoke(app, ["analyze", str(run.folder), "--json"])
    assert set(STUDIES) <= set(json.loads(listed.stdout)["studies"])
    for words, said in (
        (
            ["analyze", str(run.folder), "hierarchy", "--relevance", "binary"],
            "--relevance does not",
        ),
        (["analyze", str(run.folder), "ambiguity", "--seed", "3"], "--seed does not concern"),
    ):
        refused = CliRunner().invoke(app, words)
        assert isinstance(refused.exception, RarsError)
        assert said in str(refused.exception)


def test_the_command_prints_tables_findings_and_places(run):
    words = ["analyze", str(run.folder), "heterogeneity", "--split", "train", "--set", "draws=20"]
    done = CliRunner().invoke(app, words)
    assert done.exception is None
    assert "pairs of queries with the same graded evidence" in done.stdout
    assert "results/heterogeneity/report.html" in done.stdout.replace("\n", "")
