"""What a person types: results on stdout, one sentence and exit code 2 for a mistake, JSON when asked."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

from rars.data.shop import make_shop
from tests.command import rars


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A tiny shop, and a run with identifiers on it."""
    folder = tmp_path_factory.mktemp("home")
    make_shop(folder / "shop", size="tiny")
    done = rars(
        *("identify", "--data", folder / "shop", "--out", folder / "run"),
        "--set=identifiers.sizes=[16, 16, 16]",
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_version():
    assert re.fullmatch(r"rars \d+\.\d+\.\d+\n", rars("--version").stdout)


def test_json_is_all_that_is_on_stdout(home):
    for words in (
        ("inspect", home / "run", "--json"),
        ("analyze", home / "run", "ambiguity", "--json"),
        ("identify", "--data", home / "shop", "--out", home / "run", "--json"),
    ):
        changes = ["--set=identifiers.sizes=[16, 16, 16]"] if words[0] == "identify" else []
        done = rars(*words, *changes)
        assert done.returncode == 0, done.stderr
        assert isinstance(json.loads(done.stdout), dict)


def test_inspect_shows_the_curve_of_other_sizes(home):
    done = rars("inspect", home / "run", "--curve")
    assert done.returncode == 0, done.stderr
    assert "exact vectors" in done.stdout
    assert "Proposed: 4 x 256" in done.stdout
    assert (home / "run" / "results" / "identifiers-curve.png").exists()
    told = json.loads(rars("inspect", home / "run", "--curve", "--json").stdout)["curve"]
    assert told["proposed"] == [256, 256, 256, 256]
    assert {len(one["sizes"]) for one in told["points"]} == {2, 3, 4, 5, 6, 8, 10, 12}


def test_inspect_shows_health_and_draws(home):
    done = rars("inspect", home / "run")
    assert "perplexity" in done.stdout
    assert (home / "run" / "results" / "identifiers.png").read_bytes().startswith(b"\x89PNG")


def test_analyze_prints_the_papers_columns(home):
    done = rars("analyze", home / "run", "ambiguity", "--split", "train")
    assert all(word in done.stdout for word in ("Delta", "Q %", "M %", "tau"))
    assert (home / "run" / "results" / "ambiguity-train.png").exists()


MISTAKES = [
    (("nonsense",), "No such command 'nonsense'"),
    (("identify",), "Missing option '--data'"),
    (("identify", "--data", "nowhere", "--out", "out"), "nowhere does not exist"),
    (("identify", "--data", "{shop}", "--out", "out", "--learner", "magic"), "identifiers.learner"),
    (
        ("identify", "--data", "{shop}", "--out", "out", "--set", "identifiers.colour=1"),
        "no setting",
    ),
    (("identify", "--data", "{shop}", "--out", "out", "--set", "nonsense"), "section.key=value"),
    (("identify", "--data", "{shop}", "--out", "out", "--recipe", "soup"), "no recipe 'soup'"),
    (("identify", "--data", "{shop}", "--out", "{shop}"), "not a rars run"),
    (("identify", "--data", "{shop}", "--out", "{run}"), "made with other settings"),
    (("inspect", "{shop}"), "has no manifest.json"),
    (("inspect", "{run}", "--split", "monday"), "Unknown split 'monday'"),
    (("analyze", "{run}", "astrology"), "no study 'astrology'"),
    (("analyze", "{run}", "ambiguity", "--split", "monday"), "Unknown split 'monday'"),
    (("analyze", "{run}", "ambiguity", "--relevance", "vibes"), "Unknown relevance preset 'vibes'"),
    (("train", "rars", "--data", "{shop}", "--out", "out", "--size", "huge"), "no size 'huge'"),
    (("train", "soup.toml", "--data", "{shop}", "--out", "out"), "soup.toml does not exist"),
    (("train", "rars", "--data", "{shop}", "--out", "out", "--set", "training.epochs=0"), "epochs"),
    (
        ("train", "rars", "--data", "{shop}", "--out", "out", "--set", "model.backbone=gpt"),
        "model.backbone: 'gpt' is none of",
    ),
    (("plot", "{run}"), "no training steps"),
    (("tune", "nowhere", "--out", "out"), "nowhere does not exist"),
    (("tune", "{shop}", "--out", "out", "--minutes", "0"), "--minutes 0 is not between"),
    (("tune", "{shop}", "--out", "out", "--set", "training.patience=-1"), "patience"),
    (("tune", "{shop}", "--out", "{run}"), "not made by rars tune"),
    (("tune", "{shop}", "--out", "{shop}"), "not a rars run"),
    (("data", "shop", "out", "--size", "enormous"), "enormous"),
    (("data", "shop", "out", "--locale", "tlh"), "tlh"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_and_exit_code_2(words, sentence, home, tmp_path):
    places = {"shop": home / "shop", "run": home / "run"}
    before = sorted(p for p in home.rglob("*"))
    done = rars(*(word.format(**places) for word in words), cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("rars: ")]
    assert len(said) == 1
    assert sentence in said[0]
    assert sorted(p for p in home.rglob("*")) == before


def test_a_changed_dataset_is_noticed(home, tmp_path):
    make_shop(tmp_path / "shop", size="tiny")
    out = tmp_path / "run"
    changes = "--set=identifiers.sizes=[16, 16, 16]"
    assert rars("identify", "--data", tmp_path / "shop", "--out", out, changes).returncode == 0
    make_shop(tmp_path / "shop", size="tiny", seed=1)
    done = rars("inspect", out)
    assert done.returncode == 2
    assert "has changed since" in done.stderr


def test_the_demo_runs_from_nothing(tmp_path):
    done = rars("demo", "--size", "tiny", "--epochs", "1", "--out", tmp_path / "demo", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["items"] == 300
    systems = {(point["key"], point["rule"]) for point in found["results"]}
    trained = {*product(("base", "rars"), ("ar", "all", "hybrid"))}
    own = {("practical", "ar"), ("practical", "hybrid")}
    assert systems == {("bm25", "plain")} | trained | own
    assert len(found["searches"]) == 3
    assert all(hit["explanation"] for hits in found["searches"].values() for hit in hits)
    assert "What each system finds" in Path(found["report"]).read_text()
    assert (tmp_path / "demo" / "run" / "results" / "ambiguity-train.png").exists()
    digest = json.loads((tmp_path / "demo" / "shop" / "dataset.json").read_text())["files"]
    other = rars("demo", "--size", "tiny", "--locale", "es", "--out", tmp_path / "demo")
    assert other.returncode == 2
    assert "choose another --out" in other.stderr
    assert json.loads((tmp_path / "demo" / "shop" / "dataset.json").read_text())["files"] == digest
