"""A whole sentence-transformers model is tuned, kept in a folder, and opened again as an embedder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.config import FitSettings
from rars.identifiers.embedders import open_embedder
from rars.identifiers.encoder_tuning import SentenceEncoder, tuned_item_name, tuned_name
from rars.identifiers.sentences import SentenceTransformersEmbedder
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


@pytest.mark.parametrize("precision", [None, "bf16"])
def test_tuning_an_encoder_pulls_pairs_together(tmp_path, tiny_encoder, precision):
    """After tuning, a query is nearest to what it wants: red things, blue things, the lamp for desks."""
    queries = ["red", "blue", "lamp"]
    judged = [("q0", "i0", 3), ("q0", "i3", 3), ("q1", "i1", 3), ("q2", "i2", 3)]
    dataset = judged_shop(tmp_path / "data", TITLES, queries, judged, ["train"] * 3)
    towers = SentenceEncoder.of(dataset, f"sentence-transformers:{tiny_encoder}")
    towers.precision = precision
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
    half = quality(None)
    assert found == pytest.approx(half, abs=1e-4 if precision is None else 0.05)
    towers.precision = None  # what is searched is as exact as the weights, however they were found
    assert found == pytest.approx(quality(None), abs=1e-4)
    assert (half != quality(None)) == (precision == "bf16")
    assert {value.dtype for value in towers.parameters()} == {torch.float32}


def test_two_encoders_go_their_own_ways_and_are_kept_apart(tmp_path, tiny_encoder):
    judged = [("q0", "i0", 3), ("q1", "i1", 3), ("q2", "i2", 3)]
    queries = ["red", "blue", "lamp"]
    dataset = judged_shop(tmp_path / "data", TITLES, queries, judged, ["train"] * 3)
    name = f"sentence-transformers:{tiny_encoder}"
    towers = SentenceEncoder.of(
        dataset, name, separate=True, cosine=False, pooling="cls", max_tokens=5
    ).eval()
    rows = np.arange(3)
    same = embedded(towers.queries, rows)
    plain = SentenceEncoder.of(dataset, name, pooling="cls").eval()
    np.testing.assert_allclose(same, embedded(plain.queries, rows), atol=1e-6)
    calls = iter(range(9))
    settings = FitSettings(epochs=1, learning_rate=0.01, batch=4, temperature=1.0)
    tune(towers, dataset, settings, Held(rows, lambda found: float(next(calls))))
    towers.save(tmp_path)
    query, item = open_embedder(tuned_name(tmp_path)), open_embedder(tuned_item_name(tmp_path))
    np.testing.assert_allclose(query.embed(queries), embedded(towers.queries, rows), atol=1e-5)
    items = embedded(towers.items, np.arange(4))
    np.testing.assert_allclose(item.embed(TITLES), items, atol=1e-5)
    assert np.abs(query.embed(TITLES) - items).max() > 1e-3
    assert query._model.max_seq_length == 5


def test_a_pooling_is_the_models_own_unless_another_is_asked_for(tiny_encoder):
    """Against the library's own token states: the first, the last, their mean."""
    source, texts = str(tiny_encoder), ["red mug", "desk"]
    own = SentenceTransformersEmbedder(source)
    states = own._model.encode(texts, output_value="token_embeddings")
    plain = [one.detach().numpy()[:n] for one, n in zip(states, (2, 1), strict=True)]
    wanted = {"cls": lambda t: t[0], "last": lambda t: t[-1], "mean": lambda t: t.mean(axis=0)}
    digests = {own.digest}
    for pooling, of in wanted.items():
        found = SentenceTransformersEmbedder(source, pooling=pooling)
        np.testing.assert_allclose(found.embed(texts), [of(one) for one in plain], atol=1e-5)
        digests.add(found.digest)
    assert len(digests) == 4
    np.testing.assert_allclose(own.embed(texts), [one.mean(axis=0) for one in plain], atol=1e-5)
