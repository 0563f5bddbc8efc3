"""Identifiers before training: what can be drawn of them, and what similarity they keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rars.analysis.health import draw, untrained
from rars.identifiers import Identifiers, measure_health


@pytest.fixture(scope="module")
def identifiers(run_of):
    return Identifiers.load(run_of("rars").folder / "identifiers")


@pytest.mark.parametrize(
    "codes",
    [
        np.array([[0, 0], [0, 1], [1, 0], [1, 0]]),
        np.array([[0, -1], [1, 0], [1, 1]]),
        np.zeros((40, 1), dtype=np.int64),
        np.repeat(np.arange(12), np.arange(1, 13))[:, None],
    ],
    ids=["shared", "ragged", "one identifier", "many sizes"],
)
def test_health_is_drawn_whatever_it_is(codes, tmp_path):
    sizes = tuple(int(column.max()) + 1 for column in codes.T)
    draw(measure_health(codes.astype(np.int32), sizes), tmp_path / "health.png")
    assert (tmp_path / "health.png").read_bytes().startswith(b"\x89PNG")


def test_the_untrained_recall_grows_with_k_to_everything(shop, identifiers):
    found = [untrained(shop, identifiers, "train", k) for k in (1, 10, 100, shop.n_items)]
    assert 0 < found[1] < 1
    assert found == sorted(found)
    assert found[-1] == 1.0


def test_it_has_no_meaning_without_queries_or_vectors_of_queries(shop, identifiers):
    nobody = shop.with_split(np.full(shop.n_queries, "test"))
    assert untrained(nobody, identifiers, "train") is None
    changed = identifiers.settings.model_copy(update={"embedder": "file:vectors.npy"})
    assert untrained(shop, replace(identifiers, settings=changed), "train") is None
