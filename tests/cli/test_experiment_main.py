"""The main table end to end on the tiny shop: words, two encoders, weights that are not there, TIGER."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rars.data.shop import make_shop
from tests.identifiers.sentence_models import sentence_model


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The outcome of one command, with its folder."""
    home = tmp_path_factory.mktemp("main")
    make_shop(home / "shop", size="tiny")
    encoder = sentence_model(home, "red blue black steel mug lamp bottle")
    settings = [
        "training.learning_rate=1e-3",
        "training.epochs=1",
        "model.vocabulary=400",
        "tiger:identifiers.sizes=[16, 16]",
        "tiger:identifiers.rqvae.epochs=1",
        f"dpr:dense.embedder=sentence-transformers:{encoder}",
        "dpr:dense.epochs=1",
        f"mpnet:dense.embedder=sentence-transformers:{home / 'nowhere'}",
    ]
    words = ["main", "--data", str(home / "shop"), "--out", str(home / "out"), "--seeds", "1"]
    words += ["--jobs", "2", "--systems", "bm25,dpr,mpnet,tiger", "--json"]
    words += [f"--set={one}" for one in settings]
    done = subprocess.run(
        [sys.executable, "-m", "rars", "experiment", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},  # nothing is asked for outside
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), home / "out" / "main"


def test_every_row_that_can_be_made_has_numbers(made):
    payload, _ = made
    points = {(one["key"], one["rule"]) for one in payload["points"]}
    assert points == {("bm25", "plain"), ("dpr", "plain"), ("tiger", "ar")}
    assert payload["failures"] == []
    found = {one["key"]: one["measures"]["Recall@100"]["mean"] for one in payload["points"]}
    assert all(0 < value <= 1 for value in found.values())


def test_the_row_whose_weights_are_not_there_says_why(made):
    payload, folder = made
    assert "cannot be loaded" in payload["unavailable"]["mpnet"]
    text = (folder / "table.md").read_text()
    [row] = [line for line in text.splitlines() if line.startswith("| MPNet")]
    assert row.count("—") == 5
    assert "Without numbers: MPNet (NeurIPS'20): Embedder" in text
    latex = (folder / "table.tex").read_text()
    assert r"\emph{Generative retrieval}" in latex
    assert "TIGER (NeurIPS'23)" in latex
