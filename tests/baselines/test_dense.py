"""Dense search is exact: the same as sorting all inner products."""

from __future__ import annotations

import numpy as np
import pytest

from rars.baselines import Dense
from rars.errors import RarsError
from rars.identifiers import embed
from rars.identifiers import nearest as searching
from rars.identifiers.nearest import nearest
from tests.evaluation.worlds import make_dataset


@pytest.mark.parametrize("cosine", [False, True])
def test_block_by_block_equals_all_at_once(monkeypatch, cosine):
    """Small whole numbers make many ties; they stay in catalogue order across blocks."""
    rng = np.random.default_rng(0)
    items = rng.integers(-2, 3, size=(200, 4)).astype(np.float32)
    queries = rng.integers(-2, 3, size=(9, 4)).astype(np.float32)
    items[7] = 0
    monkeypatch.setattr(searching, "_QUERIES", 4)
    monkeypatch.setattr(searching, "_ITEMS", 33)
    found = nearest(queries, items, 25, cosine=cosine)
    scores = queries @ items.T
    if cosine:
        lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(items, axis=1)
        scores = scores / np.where(lengths > 0, lengths, 1)
    for row in range(9):
        shown, values = found.row(row)
        np.testing.assert_allclose(values, np.sort(scores[row])[::-1][:25], atol=1e-6)
        np.testing.assert_allclose(values, scores[row, shown], atol=1e-6)
        if not cosine:
            assert shown.tolist() == np.argsort(-scores[row], kind="stable")[:25].tolist()


def test_a_small_catalogue_gives_fewer_than_k():
    found = nearest(np.ones((2, 3), np.float32), np.eye(3, dtype=np.float32), 10)
    assert [len(found.row(i)[0]) for i in range(2)] == [3, 3]


class Letters:
    """A vector counts the letters a, b and c."""

    dim = 3
    digest = "letters"

    def embed(self, texts):
        return np.array([[t.count(c) for c in "abc"] for t in texts], np.float32).reshape(-1, 3)


def test_any_embedder_searches_the_catalogue(tmp_path, monkeypatch):
    dataset = make_dataset(
        tmp_path / "data", ["x", "y", "z"], ["q"], [("q", "x", 3)], titles=["aa", "b", "cab"]
    )
    opened = []
    monkeypatch.setattr(
        embed, "open_embedder", lambda name, device: (opened.append(name), Letters())[1]
    )
    system = Dense.of(dataset, "letters", cache=tmp_path / "cache")
    assert opened == ["letters"]  # once: weights may be large
    assert system.search(["a"], k=2).items.tolist() == [0, 2]
    assert system.search(["c"], k=1).items.tolist() == [2]
    assert len(system.search([])) == 0


def test_ready_vectors_without_an_embedder_cannot_answer_a_text(tmp_path):
    dataset = make_dataset(tmp_path / "data", ["x"], ["q"], [("q", "x", 3)])
    with pytest.raises(RarsError, match="cannot embed a new text"):
        Dense.of(dataset, "file:vectors.npy")
