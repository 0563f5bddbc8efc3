"""One real experiment: killed, resumed, finished; and the mistakes a person can make."""

from __future__ import annotations

import json
import signal
import time

import pytest

from rars.data.shop import make_shop
from tests import command

TINY = (
    "--set=model.vocabulary=400",
    "--set=identifiers.sizes=[16, 16]",
    "--set=training.epochs=1",
    "--set=training.learning_rate=1e-3",
)


def rars(*words):
    return command.rars("experiment", *words, timeout=300)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home") / "shop"
    make_shop(folder, size="tiny")
    return folder


def test_a_killed_experiment_goes_on_and_ends_with_tables_and_a_report(shop, tmp_path):
    out = tmp_path / "work"
    words = ("masks", "--data", shop, "--out", out, "--seeds", 1, "--jobs", 2, *TINY, "--json")
    first = command.start("experiment", *words)
    until = time.monotonic() + 120
    while not list(out.glob("runs/*.log")) and time.monotonic() < until:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert list(out.glob("runs/*.log")), "no run was started before the kill"

    done = rars(*words)  # waits for orphans, if they live, and does the rest
    assert done.returncode == 0, done.stderr
    payload = json.loads(done.stdout)
    assert [one["finished"] for one in payload["runs"]] == [True, True]
    assert {(one["key"], one["rule"]) for one in payload["points"]} == {
        (key, rule) for key in ("base", "rars") for rule in ("ar", "01", "10", "all")
    }
    folder = out / "masks"
    assert {path.name for path in folder.iterdir()} >= {
        *("results.json", "table.md", "table.tex", "report.html")
    }
    stored = json.loads((folder / "results.json").read_text())
    assert stored["points"] == payload["points"]
    assert payload["learning_rate_given"] is True

    # The number in the table is the one that the run itself reports.
    base = next(one for one in payload["points"] if (one["key"], one["rule"]) == ("base", "ar"))
    (run,) = [one["run"] for one in payload["runs"] if one["condition"] == "base"]
    numbers = json.loads((out / "runs" / run / "results" / "test-ar.json").read_text())
    want = numbers["measures"]["Recall@100"]["mean"]
    assert base["measures"]["Recall@100"]["mean"] == pytest.approx(want)
    assert f"{100 * want:.2f}" in (folder / "table.md").read_text()

    trained = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/model/*.safetensors")}
    again = rars(*words)
    assert again.returncode == 0, again.stderr
    assert "2 are there, 0 to train" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in trained} == trained


def test_without_a_name_the_experiments_are_listed():
    done = rars("--json")
    names = list(json.loads(done.stdout)["experiments"])
    assert names[:3] == ["main", "objectives", "masks"]
    assert {"geometry", "positives", "hyperparameters", "depth", "nq320k", "learning-rate"} <= set(
        names
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mian",), "There is no experiment 'mian'"),
        (("main", "--seeds", "0"), "--seeds"),
        (("main", "--size", "huge"), "There is no size 'huge'"),
        (("main", "--rates", "fast"), "--rates 'fast'"),
        (("main", "--set", "training.rate=1", "--dry-run"), "there is no setting"),
        (("nq320k",), "no column partition"),
        (("learning-rate", "--set", "training.learning_rate=1"), "chooses training.learning_rate"),
        (("main", "--out", "/dev/null/x"), "--out /dev/null/x cannot be made"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(shop, words, message):
    done = rars(*words, "--data", shop)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
