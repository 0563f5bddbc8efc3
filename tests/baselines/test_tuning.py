"""Dense search through learned maps finds what the maps were trained to find."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.baselines.maps import mapped_dense
from rars.errors import RarsError
from rars.identifiers.fitting import ResidualMaps
from tests.evaluation.worlds import make_dataset


class Letters:
    """A vector counts the letters a, b and c."""

    dim = 3
    digest = "letters"

    def embed(self, texts):
        return np.array([[t.count(c) for c in "abc"] for t in texts], np.float32).reshape(-1, 3)


def test_saved_maps_search_as_they_were_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    titles = ["aab", "abc", "ccb", "bbb"]
    dataset = make_dataset(
        tmp_path / "data", list("wxyz"), ["a"], [("a", "w", 3)], titles=titles, splits=["train"]
    )
    maps = ResidualMaps.of(dataset, Letters())
    with torch.no_grad():
        maps.query_map.copy_(torch.tensor([[-1.0, 0, 1], [0, 0, 0], [1, 0, -1]]))  # a <-> c
        maps.item_map.copy_(torch.diag(torch.tensor([0.0, -1, 0])))  # b does not count
    maps.save(tmp_path)
    system = mapped_dense(dataset, Letters(), tmp_path)
    half = 0.5**0.5
    turned = [[1, 0, 0], [half, 0, half], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(system.vectors, turned, atol=1e-6)
    assert system.search(["a"], k=2).items.tolist() == [2, 1]  # "a" looks for c
    assert system.embedder.dim == 3
    assert system.embedder.digest != Letters.digest


def test_maps_of_another_width_are_refused(tmp_path):
    dataset = make_dataset(tmp_path / "data", ["x"], ["q"], [("q", "x", 3)])
    vectors = np.ones((1, 8), dtype=np.float32)
    ResidualMaps(vectors, np.arange(1), vectors).save(tmp_path)
    with pytest.raises(RarsError, match="but vectors have 3 numbers"):
        mapped_dense(dataset, Letters(), tmp_path)
    (tmp_path / "maps.safetensors").write_bytes(b"nonsense")
    with pytest.raises(RarsError, match="does not hold the maps"):
        mapped_dense(dataset, Letters(), tmp_path)
