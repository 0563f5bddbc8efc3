"""Small datasets with known judgments, random rankings, and measures computed the slow and plain way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from rars.data import Dataset, Judgments, writing_dataset
from rars.evaluation import Ranking
from rars.systems import Ranked


def make_dataset(
    folder: Path,
    item_ids: Sequence[str],
    query_ids: Sequence[str],
    judgments: Sequence[tuple[str, str, float]],
    *,
    splits: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    locales: Sequence[str | None] | None = None,
    name: str = "small",
    **columns: pa.Array,
) -> Dataset:
    """A dataset folder with these ids; every query is a test query unless ``splits`` says otherwise."""
    items = {"id": list(item_ids), "title": list(titles or item_ids), **columns}
    queries = {
        "id": list(query_ids),
        "text": [f"text of {one}" for one in query_ids],
        "split": list(splits or ["test"] * len(query_ids)),
    }
    if locales is not None:
        queries["locale"] = pa.array(locales, pa.string())
    pairs = list(zip(*judgments, strict=True)) if judgments else [[], [], []]
    with writing_dataset(folder, name=name, licence="none") as writer:
        writer.add("items", pa.table(items))
        writer.add("queries", pa.table(queries))
        writer.add(
            "judgments",
            pa.table(
                {
                    "query_id": pa.array(pairs[0], pa.string()),
                    "item_id": pa.array(pairs[1], pa.string()),
                    "grade": pa.array(pairs[2], pa.float32()),
                }
            ),
        )
    return Dataset.load(folder)


def random_judgments(rng, n_queries: int, n_items: int, per_query: int = 8) -> Judgments:
    """Grades 0..3 (about a third of them 0) of random pairs, with duplicates."""
    n = n_queries * per_query
    return Judgments.merged(
        rng.integers(n_queries, size=n),
        rng.integers(n_items, size=n),
        rng.choice([0, 0, 1, 2, 3], size=n).astype(float),
    )


def random_ranking(rng, n_queries: int, n_items: int, most: int, *, ties: bool = True) -> Ranking:
    """Between no and ``most`` results a query, many with equal scores."""
    lists, scores = [], []
    for _ in range(n_queries):
        n = int(rng.integers(0, min(most, n_items) + 1))
        lists.append(rng.permutation(n_items)[:n])
        values = rng.integers(0, 5, size=n) / 2 if ties else rng.random(n)
        scores.append(np.sort(values)[::-1])
    return Ranking.of(np.arange(n_queries), Ranked.of_lists(lists, scores))


def grades_of(judgments: Judgments) -> dict[int, dict[int, float]]:
    """Query -> item -> grade."""
    found: dict[int, dict[int, float]] = {}
    for query, item, grade in zip(
        judgments.query.tolist(), judgments.item.tolist(), judgments.grade.tolist(), strict=True
    ):
        found.setdefault(query, {})[item] = grade
    return found


def plain_measure(kind: str, k: int, ranked: Sequence[int], grades: dict[int, float]) -> float:
    """One measure of one query, straight from its definition."""
    relevant = {item for item, grade in grades.items() if grade > 0}
    top = list(ranked)[:k]
    if kind == "Recall":
        return sum(item in relevant for item in top) / len(relevant)
    if kind == "MRR":
        return next((1 / place for place, item in enumerate(top, 1) if item in relevant), 0.0)
    dcg = sum(grades.get(item, 0) / math.log2(place + 1) for place, item in enumerate(top, 1))
    best = sorted(grades.values(), reverse=True)[:k]
    return dcg / sum(grade / math.log2(place + 1) for place, grade in enumerate(best, 1))
