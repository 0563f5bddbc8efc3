"""A tiny shop and a run trained on it for a moment: enough to search, not enough to be good."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.pipeline.training import train

CHANGES = (
    "model.vocabulary=400",
    "identifiers.sizes=[16, 16, 16]",
    "training.epochs=2",
    "training.pairs=64",
    "search.rule=hybrid",
)


def make_run(home: Path, name: str = "run", *changes: str, recipe: str = "rars") -> Path:
    """Train ``home/name`` on the tiny shop in ``home/shop``."""
    if not (home / "shop").exists():
        make_shop(home / "shop", size="tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", os.environ.get("RARS_CACHE", str(home / "cache")))
        resolved = Recipe.resolve(recipe, size="tiny", changes=[*CHANGES, *changes])
        train(Dataset.load(home / "shop"), resolved, home / name)
    return home / name
