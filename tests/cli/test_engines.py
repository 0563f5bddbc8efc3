"""Engines on the command line: costs are said first and peaks after; a mistake is one sentence."""

from __future__ import annotations

import json
import os

import pytest

from rars.cli import console
from rars.data.shop import make_shop
from rars.progress import Forecast
from tests.command import rars


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines") / "shop"
    make_shop(folder, size="tiny")
    return folder


def test_vectors_are_computed_once_and_their_cost_is_told(shop, tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path))
    done = rars("data", "embed", shop, "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told["width"] == 512
    assert told["items"] > 0 < told["queries"]
    assert set(told["expected"]) == {"seconds", "memory", "disk"}
    assert told["peak_memory"] > 10_000_000
    assert "Expected: about" in done.stderr
    entries = sorted((tmp_path / "embeddings").iterdir())
    rars("data", "embed", shop, "--workers", "2", "--json")
    assert sorted((tmp_path / "embeddings").iterdir()) == entries


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "spark"], "--engine 'spark' is unknown; choose local or ray."),
        (["--workers", "0"], "--workers 0 is less than 1."),
    ],
)
def test_an_engine_that_is_none_is_one_sentence(shop, tmp_path, words, said):
    for command in (
        ["data", "embed", shop],
        ["identify", "--data", shop, "--out", tmp_path / "run"],
    ):
        done = rars(*command, *words)
        assert done.returncode == 2
        assert done.stderr.strip().endswith(said)
        assert not (tmp_path / "run").exists()


def test_a_study_without_a_grid_has_no_engine(shop, tmp_path):
    done = rars(
        "experiment", "identifiers", "--data", shop, "--out", tmp_path / "out", "--engine", "ray"
    )
    assert done.returncode == 2
    assert "trains no grid of runs" in done.stderr


def test_every_result_states_its_peak_of_memory(shop, tmp_path):
    for words in (["data", "check", shop], ["recipes"], ["data", "embed", shop]):
        done = rars(*words, "--json", env=os.environ | {"RARS_CACHE": str(tmp_path)})
        assert json.loads(done.stdout)["peak_memory"] > 10_000_000


def test_a_person_is_told_the_peak_of_what_takes_long(monkeypatch, capsys):
    for seconds, said in ((1.0, ""), (9.0, "Peak memory: ")):
        monkeypatch.setattr(console.os, "times", lambda: (seconds, 0.0, 0.0, 0.0, 0.0))  # noqa: B023
        console.emit({}, False, lambda: None)
        found = capsys.readouterr()
        assert found.out == ""
        assert found.err.startswith(said)
        assert bool(found.err) == bool(said)


def test_a_long_stage_whose_bar_nobody_sees_says_how_long(monkeypatch, capsys):
    monkeypatch.setattr(Forecast, "SHOWN", 0.0)
    monkeypatch.setattr(Forecast, "LONG", 0.0)
    with console.Terminal().stage("postings") as advance:
        advance(0, 100)
        advance(2, 100)
        advance(3, 100)
    assert capsys.readouterr().err.strip() == "postings: about 1 s more."
