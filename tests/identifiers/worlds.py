"""Small catalogues for the tests: vectors with families inside families, and a dataset folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from rars.data import Dataset, writing_dataset


def families(count: int, dim: int = 24, seed: int = 0) -> np.ndarray:
    """Vectors that cluster at three scales, like embeddings of products do."""
    rng = np.random.default_rng(seed)
    vectors = np.zeros((count, dim))
    for groups, spread in ((8, 1.0), (64, 0.5), (512, 0.25)):
        vectors += spread * rng.normal(size=(groups, dim))[rng.integers(groups, size=count)]
    vectors += 0.05 * rng.normal(size=(count, dim))
    return vectors.astype(np.float32)


def shop(folder: Path, titles: list[str], **columns: list[str | None]) -> Dataset:
    """A dataset whose items have these titles and ids i0, i1, ..."""
    ids = [f"i{row}" for row in range(len(titles))]
    with writing_dataset(folder, name="test", licence="none") as writer:
        writer.add("items", pa.table({"id": ids, "title": titles, **columns}))
    return Dataset.load(folder)
