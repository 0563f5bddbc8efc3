"""A tiny shop, and runs trained on it for a moment."""

from __future__ import annotations

import numpy as np
import pytest

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.pipeline.training import train
from rars.tree import PrefixTree

FAST = (
    *("model.vocabulary=400", "identifiers.sizes=[16, 16, 16]"),
    *("training.epochs=2", "training.pairs=64"),
)


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    home = tmp_path_factory.mktemp("analysis")
    make_shop(home / "shop", size="tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(home / "cache"))
        yield Dataset.load(home / "shop")


@pytest.fixture(scope="session")
def run_of(shop, tmp_path_factory):
    """Runs by the name of their recipe, each trained once."""
    home, known = tmp_path_factory.mktemp("runs"), {}

    def trained(name):
        if name not in known:
            recipe = Recipe.resolve(name, size="tiny", changes=FAST)
            known[name] = train(shop, recipe, home / name).run
        return known[name]

    return trained


@pytest.fixture(scope="session")
def identified(shop):
    """The shop and a tree of identifiers that put similar items together."""
    paths = shop.items(["category"])["category"].to_pylist()
    words = {name: at for at, name in enumerate(sorted({one for path in paths for one in path}))}
    rows = [[words[path[0]], words[path[-1]], at % 5, at] for at, path in enumerate(paths)]
    return shop, PrefixTree.build(np.array(rows))
