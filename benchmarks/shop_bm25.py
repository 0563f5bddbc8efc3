"""How far plain BM25 gets on the bundled shop, in each language.

``python -m benchmarks.shop_bm25 [--size demo] [--realism 0]`` makes a shop in a temporary folder, indexes
title, brand, color and description of the whole catalogue (k1 1.2, b 0.75, no stemming), and prints
Recall@100 over the judged positives (E, S, C) of the test queries, by grade, and the share of positives that
have no word in common with their query. A shop that is worth learning on leaves BM25 somewhere in the middle.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.baselines import Bm25
from rars.data import Dataset
from rars.data.shop import LOCALES, make_shop
from rars.data.words import indexed, words

DEPTH = 100


@dataclass(frozen=True)
class Result:
    """What BM25 reaches on one shop."""

    recall: float
    by_grade: dict[str, float]
    without_shared_word: float
    positives_per_query: float


def measure(shop: Dataset) -> Result:
    """Index the whole catalogue and search it with the test queries."""
    columns = shop.items(["title", "brand", "color", "text"]).to_pydict()
    rows = zip(*columns.values(), strict=True)
    documents = [indexed(" ".join(part for part in row if part)) for row in rows]
    wanted = shop.queries_in("test")
    texts = [shop.query_texts[int(i)].as_py() for i in wanted]
    ranked = Bm25.of(shop).search(texts, min(DEPTH, shop.n_items))
    found = [ranked.items[slice(*ranked.pointers[row : row + 2])] for row in range(len(texts))]
    return _score(shop, wanted, [words(text) for text in texts], documents, found)


def _score(
    shop: Dataset,
    wanted: npt.NDArray[np.int32],
    queries: list[list[str]],
    documents: list[list[str]],
    found: Sequence[npt.NDArray[np.integer[Any]]],
) -> Result:
    query, item, grade = shop.positives("test")
    recalls, hits, strangers = [], [], []
    for place, name in enumerate(wanted):
        positives = item[query == name]
        hit = np.isin(positives, found[place])
        recalls.append(hit.mean())
        hits.append(hit)
        asked = set(queries[place])
        strangers += [asked.isdisjoint(documents[row]) for row in positives]
    flat = np.concatenate(hits)
    return Result(
        recall=float(np.mean(recalls)),
        by_grade={
            label: float(flat[grade == value].mean())
            for label, value in (("E", 3), ("S", 2), ("C", 1))
        },
        without_shared_word=float(np.mean(strangers)),
        positives_per_query=len(item) / len(wanted),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall@100 of BM25 on the bundled shop.")
    parser.add_argument("--size", default="demo", help="tiny, small, demo or a number of items")
    parser.add_argument("--seed", type=int, default=0, help="seed of the shop")
    parser.add_argument(
        "--realism", type=float, help="of the shop, 0 to 1; the size's own if left out"
    )
    options = parser.parse_args()
    print("locale  Recall@100       E       S       C  no shared word  positives/query")
    for locale in LOCALES:
        with TemporaryDirectory() as home:
            shop = Path(home) / "shop"
            make_shop(
                shop, size=options.size, locale=locale, seed=options.seed, realism=options.realism
            )
            result = measure(Dataset.load(shop))
        grades = "  ".join(f"{share:6.3f}" for share in result.by_grade.values())
        print(
            f"{locale:6}  {result.recall:10.3f}  {grades}  {result.without_shared_word:14.3f}"
            f"  {result.positives_per_query:15.1f}"
        )


if __name__ == "__main__":
    main()
