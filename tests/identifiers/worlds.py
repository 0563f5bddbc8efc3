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


def judged_shop(
    folder: Path,
    titles: list[str],
    queries: list[str],
    judgments: list[tuple[str, str, float]],
    splits: list[str],
    **columns: list[object],
) -> Dataset:
    """The same with queries q0, q1, ... of these texts and splits, and grades (query, item, grade)."""
    items = [f"i{row}" for row in range(len(titles))]
    named = [f"q{row}" for row in range(len(queries))]
    query, item, grade = zip(*judgments, strict=True) if judgments else ((), (), ())
    with writing_dataset(folder, name="test", licence="none") as writer:
        writer.add("items", pa.table({"id": items, "title": titles, **columns}))
        writer.add("queries", pa.table({"id": named, "text": queries, "split": splits}))
        judged = {
            "query_id": pa.array(query, pa.string()),
            "item_id": pa.array(item, pa.string()),
            "grade": pa.array(grade, pa.float32()),
        }
        writer.add("judgments", pa.table(judged))
    return Dataset.load(folder)
