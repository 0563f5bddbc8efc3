"""A report shows what a run has, says which command adds the rest, and needs nothing from outside."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from rars import pipeline
from rars.cli import app
from rars.errors import RarsError
from tests.analysis.conftest import run_of, shop  # noqa: F401


@pytest.fixture
def run(run_of, tmp_path):  # noqa: F811
    """A copy that may be changed."""
    return shutil.copytree(run_of("rars").folder, tmp_path / "run")


def test_a_report_grows_with_what_is_known(run):
    made = pipeline.report(run)
    assert made.page == run / "results" / "report.html"
    assert made.parts == ("identifiers", "ambiguity", "training")
    commands = list(made.missing.values())
    assert f"rars evaluate {run} --rule ar,all" in commands
    assert f"rars analyze {run} coverage" in commands
    pipeline.evaluate(run, rules=["ar"])
    pipeline.analyze(run, "coverage", changes=["draws=50", "k=20"])
    again = pipeline.report(run)
    assert set(again.parts) - set(made.parts) == {"evaluation", "coverage"}
    assert f"rars evaluate {run} --rule all" in again.missing.values()
    assert f"rars analyze {run} coverage" not in again.missing.values()
    text = again.page.read_text()
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)[^"']*|@import""", text) == []
    for words in ("Recall@100", "Loss curves", "Prefix coverage", "Queries that are torn apart"):
        assert words in text


def test_a_damaged_study_is_named_and_not_shown(run):
    pipeline.analyze(run, "coverage", changes=["draws=50", "k=20"])
    path = run / "results" / "coverage" / "section.html"
    path.write_text(path.read_text() + "<p>more</p>")
    made = pipeline.report(run)
    assert "coverage" not in made.parts
    assert f"rars analyze {run} coverage" in made.missing.values()
    text = made.page.read_text()
    assert "<p>more</p>" not in text
    assert "section.html" in text


def test_report_from_the_command_line(run, tmp_path):
    out = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["report", str(run), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["page"] == str(out)
    assert out.read_text().startswith("<!doctype html>")
    shown = CliRunner().invoke(app, ["report", str(run), "--out", str(out)])
    assert f"rars evaluate {run} --rule ar,all" in shown.stdout
    with pytest.raises(RarsError, match="is a folder"):
        pipeline.report(run, out=tmp_path)


def test_inspect_says_what_is_mixed_and_torn(run, tmp_path):
    asked = ["inspect", str(run), "--split", "test", "--plot", str(tmp_path / "x.png")]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["mixing"]
    assert found["by"] == "categories, level 1"
    assert len(found["apart"]) == len(found["mean"]) == 3
    assert found["torn"][0]["examples"]
    shown = CliRunner().invoke(app, asked)
    assert "Queries that are torn apart most" in shown.stdout
