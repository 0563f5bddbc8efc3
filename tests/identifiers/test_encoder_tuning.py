"""A whole sentence-transformers model is tuned, kept in a folder, and opened again as an embedder."""

from __future__ import annotations

import numpy as np
import pytest

from rars.config import FitSettings
from rars.identifiers.embedders import open_embedder
from rars.identifiers.encoder_tuning import SentenceEncoder, tuned_name
from rars.identifiers.towers import Held, embedded, tune

from .sentence_models import sentence_model
from .worlds import judged_shop

TITLES = ["red mug", "blue mug", "desk lamp", "red lamp"]
WANTED = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=bool)


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory):
    return sentence_model(tmp_path_factory.mktemp("encoder"), " ".join(TITLES))


def margin(queries, items):
    """The worst relevant cosine minus the best irrelevant one, smallest over queries."""
    queries, items = (side / np.linalg.norm(side, axis=1)[:, None] for side in (queries, items))
    scores = queries @ items.T
    worst = np.where(WANTED, scores, 9).min(axis=1)
    return float((worst - np.where(WANTED, -9, scores).max(axis=1)).min())


def test_tuning_an_encoder_pulls_pairs_together(tmp_path, tiny_encoder):
    """After tuning, a query is nearest to what it wants: red things, blue things, the lamp for desks."""
    queries = ["red", "blue", "lamp"]
    judged = [("q0", "i0", 3), ("q0", "i3", 3), ("q1", "i1", 3), ("q2", "i2", 3)]
    dataset = judged_shop(tmp_path / "data", TITLES, queries, judged, ["train"] * 3)
    towers = SentenceEncoder.of(dataset, f"sentence-transformers:{tiny_encoder}")
    rows = np.arange(3)

    def quality(found):
        return margin(embedded(towers.queries, rows), embedded(towers.items, np.arange(4)))

    settings = FitSettings(epochs=15, learning_rate=0.01, batch=4)
    report = tune(towers, dataset, settings, Held(rows, quality))
    assert report["quality"][0] < 0 < report["quality"][report["epoch"]]
    assert quality(None) == pytest.approx(report["quality"][report["epoch"]], abs=1e-5)
    towers.save(tmp_path)
    opened = open_embedder(tuned_name(tmp_path))
    found = margin(opened.embed(queries), opened.embed(TITLES))
    assert found == pytest.approx(quality(None), abs=1e-4)
