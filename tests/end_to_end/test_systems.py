"""Every system decided by its identifiers: trained a few steps, searched, and given new items."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rars import Dataset, Recipe, Retriever, Run, train
from rars.data.shop import make_shop
from rars.identifiers import Identifiers
from rars.search.catalog import add_items

SYSTEMS = {
    "dsi-naive": 3,
    "dsi-semantic": None,
    "tiger": 4,
    "hi-gen": 6,
    "merge": 4,
    "cat-id2": 4,
    "forge": 3,
    "hgrec": 4,
    "calir": 4,
}
"""System -> codes of an identifier on the tiny shop; None where they differ."""

BRIEF = (
    "model.vocabulary=400",
    "training.epochs=1",
    "training.pairs=64",
    "identifiers.rqvae.epochs=2",
    "identifiers.rqvae.hidden=[32]",
    "identifiers.rqvae.batch=256",
    "identifiers.category-clusters.epochs=1",
    "identifiers.recursive-kmeans.leaf=20",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("systems")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(folder / "cache"))
        make_shop(folder / "shop", size="tiny")
        yield folder


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_trains_searches_and_takes_new_items(home, name):
    shop = Dataset.load(home / "shop")
    run = train(shop, Recipe.resolve(name, size="tiny", changes=BRIEF), home / name).run
    codes = Identifiers.load(run.folder / "identifiers").codes
    lengths = set((codes >= 0).sum(axis=1).tolist())
    assert lengths == {SYSTEMS[name]} if SYSTEMS[name] else len(lengths) > 1
    retriever = Retriever.load(run.folder)
    hits = retriever.search("wireless mouse", k=5)
    assert len({hit.item_id for hit in hits}) == 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    if name == "forge":
        assert np.unique(codes, axis=0, return_counts=True)[1].max() <= 5
    new = home / f"{name}.jsonl"
    lines = ({"id": f"new-{at}", "title": f"wireless mouse {at}"} for at in range(7))
    new.write_text("\n".join(map(json.dumps, lines)))
    added = add_items(Run.open(run.folder), new)
    assert (added.added, added.items) == (7, shop.n_items + 7)
    found = Retriever.load(run.folder).search("wireless mouse", k=shop.n_items + 7)
    category = Recipe.resolve(name).model.categories
    if category == "off":  # one tree over the whole catalogue: everything can be reached
        assert {f"new-{at}" for at in range(7)} <= {hit.item_id for hit in found}
