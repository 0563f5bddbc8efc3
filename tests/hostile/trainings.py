"""Whole trainings on small and odd catalogues: what is begun is finished, found and measured.

A case makes a catalogue of a few hostile items with categories of any shape, trains a system on it for a
moment, searches and evaluates it. It may be refused before anything is learned, never after.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rars import pipeline
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.pipeline.opening import open_system
from rars.systems import search
from tests.hostile import texts
from tests.hostile.case import Case

RECIPES = ("base", "rars", "practical", "bm25", "dense", "fusion")
QUICK = ("model.vocabulary=300", "training.epochs=1", "training.pairs=256")
CATEGORIES = (None, "All", "A > B > C > D", "A", "A > B", "C > \u3000 > x", "銀 > 1/2 in")


def dataset_of(rng: random.Random) -> Dataset:
    """Items, queries and judgments that somebody may well have."""
    pieces = texts._pieces()
    kinds = rng.choice(((None,), ("All",), CATEGORIES, CATEGORIES[3:], (None, "A > B")))
    items: list[dict[str, Any]] = []
    for n in range(rng.choice((1, 2, 3, 8, 25, 60))):
        title = texts.text_of(rng, pieces).strip() if rng.random() < 0.5 else f"thing {n} red mug"
        item = {"id": f"i{n}", "title": title if title.isprintable() and title else "x"}
        if (kind := rng.choice(kinds)) is not None:
            item["category"] = kind
        if rng.random() < 0.3:
            item["brand"] = rng.choice(("Acme", "N/A", "アクメ", texts.text_of(rng, pieces)))
        items.append(item)
    splits = rng.choice((("train",), ("train", "test"), ("train", "validation", "test")))
    queries = [
        {
            "id": f"q{n}",
            "text": rng.choice(("red mug", "thing", "without a lid", "12 fl.-oz")),
            "split": rng.choice(splits),
        }
        for n in range(rng.choice((1, 2, 9)))
    ]
    judged = [
        {
            "query_id": query["id"],
            "item_id": rng.choice(items)["id"],
            "grade": rng.choice((0, 1, 3)),
        }
        for query in queries
        for _ in range(rng.choice((0, 1, 3)))
    ]
    return Dataset.of(items, queries, judged)


def _trained(seed: int) -> None:
    rng = random.Random(seed)
    home = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        dataset = dataset_of(rng)
        sizes = rng.choice(("[4,4]", "[2]", "[16,16,16]", "[1,3]"))
        recipe = Recipe.resolve(
            rng.choice(RECIPES), size="tiny", changes=[*QUICK, f"identifiers.sizes={sizes}"]
        )
        _followed(dataset, recipe, home / "run")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _followed(dataset: Dataset, recipe: Recipe, run: Path) -> None:
    try:
        pipeline.train(dataset, recipe, run)
    except RarsError as error:
        if (run / "checkpoints").exists() or (run / "model").exists():
            raise AssertionError(f"refused after it was trained: {error}") from error
        raise
    found = search(open_system(run), "red mug", k=3)
    assert all(np.isfinite([hit.score for hit in found]))
    if len(dataset.positives("test")[0]):
        pipeline.evaluate(run)


def cases(rng: random.Random) -> Iterator[Case]:
    """One training after the other; without end."""
    while True:
        seed = rng.randrange(2**32)
        yield Case(f"training of seed {seed}", partial(_trained, seed), {"seed": seed})


def again(given: dict[str, Any]) -> Case:
    """A training by its seed, or of items that are given."""
    if "seed" in given:
        return Case(f"training of seed {given['seed']}", partial(_trained, given["seed"]))

    def run() -> None:
        queries = [{"id": "q", "text": "red mug", "split": "train"}]
        judged = [{"query_id": "q", "item_id": given["items"][0]["id"], "grade": 3}]
        recipe = Recipe.resolve(
            given["recipe"], size="tiny", changes=[*QUICK, "identifiers.sizes=[2,2]"]
        )
        with tempfile.TemporaryDirectory() as home:
            _followed(Dataset.of(given["items"], queries, judged), recipe, Path(home) / "run")

    return Case(f"training {given!r:.300}", run)
