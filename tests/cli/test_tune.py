"""``rars tune`` as a newcomer types it: what it will do, what it chose and why, what to type next."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from rars.data.shop import make_shop
from tests.command import rars, start

QUICK = ("--set=model.vocabulary=300", "--set=training.epochs=2", "--set=training.pseudo.share=1")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "shop"
    make_shop(folder, size="tiny")
    return folder


@pytest.fixture(scope="module")
def tuned(shop, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "mine"
    return out, rars("tune", shop, "--out", out, *QUICK)


def test_it_says_what_it_will_do_what_it_chose_and_what_to_type_next(tuned):
    out, done = tuned
    assert done.returncode == 0, done.stderr
    assert "Steps: the embedder; whether fine-tuning it pays; identifiers" in done.stderr
    assert "Step 6 of 6: the weights of hybrid search." in done.stderr
    assert "Expected: about" in done.stderr
    for words in (
        "What was chosen",
        "fine-tuning",
        "4 x 256",
        "of 2 epochs",
        "hybrid search",
        "minutes",
    ):
        assert words in done.stdout
    for command in ("search", "evaluate", "compare", "serve", "report"):
        assert f"rars {command} {out}" in done.stdout


def test_what_it_made_can_be_searched_and_evaluated(tuned):
    out, _ = tuned
    found = json.loads(rars("search", out, "led lamp", "-k", "3", "--json").stdout)
    assert (found["rule"], len(found["hits"])) == ("hybrid", 3)
    assert rars("evaluate", out, "--rule", "ar,hybrid", "--json").returncode == 0


def test_the_same_as_json(shop, tuned):
    out, _ = tuned
    done = rars("tune", shop, "--out", out, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["run"] == str(out)
    assert found["choices"]["sizes"]["sizes"] == [256, 256, 256, 256]
    assert "tuned already" in done.stderr


def test_killed_it_goes_on(shop, tuned, tmp_path):
    """Killed while it chooses and while it trains, it ends in the same weights."""
    whole, _ = tuned
    out = tmp_path / "mine"
    for reached in (out / "tuning.json", out / "journal.jsonl"):
        process = start("tune", shop, "--out", out, *QUICK)
        while process.poll() is None and not reached.exists():
            time.sleep(0.01)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    done = rars("tune", shop, "--out", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "chosen already" in done.stderr
    weights = "model/model.safetensors"
    assert (out / weights).read_bytes() == (whole / weights).read_bytes()
    assert not (out / "trials").exists()
