"""A little catalogue made by hand, and the tiny shop in three languages, each indexed once."""

from __future__ import annotations

import numpy as np
import pytest

from rars.data import Dataset
from rars.data.shop import LOCALES, make_shop
from rars.search.evidence import EvidenceIndex
from rars.tree import PrefixTree
from tests.search.evidence.catalogue import CORNER, make_catalogue


@pytest.fixture(scope="session")
def corner(tmp_path_factory):
    """The index of a corner shop whose brands are easy to confuse with words."""
    dataset = make_catalogue(tmp_path_factory.mktemp("corner") / "shop", CORNER)
    return EvidenceIndex.build(dataset, random_tree(dataset.n_items))


@pytest.fixture(scope="session", params=LOCALES)
def shop(request, tmp_path_factory):
    """The tiny shop of one language, and its index."""
    folder = tmp_path_factory.mktemp("shops") / request.param
    make_shop(folder, size="tiny", locale=request.param)
    dataset = Dataset.load(folder)
    return dataset, EvidenceIndex.build(dataset, random_tree(dataset.n_items))


def random_tree(items, seed=0):
    """Identifiers that put items in an order of their own, some of them under one leaf."""
    return PrefixTree.build(np.random.default_rng(seed).integers(0, 5, (items, 3)))
