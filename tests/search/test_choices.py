"""Choices at given prefixes are those that a walk finds one prefix at a time, for any batch."""

from __future__ import annotations

import numpy as np
import pytest

from rars.search import choices as module
from rars.search.choices import Places, choices
from rars.search.walk import walk
from rars.systems import Query
from rars.tree import Relevance, project

TEXTS = ("black bottle 0.75 l", "mug", "usb cable 2 m", "red lamp", "blanket")


def places_of(retriever, seed=0):
    """Random items of every query as the places of their prefixes."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(len(TEXTS)), 6)
    item = rng.integers(0, len(retriever), len(query))
    projection = project(retriever.tree, Relevance.of(query, item, np.ones(len(query))))
    levels = projection.levels[: retriever.tree.depth]
    return [Places(level.row, level.node) for level in levels]


@pytest.mark.parametrize("rule", ["ar", "all"])
@pytest.mark.parametrize("size", [1, 32])
def test_choices_are_those_of_a_walk(retriever, monkeypatch, rule, size):
    monkeypatch.setattr(module, "_QUERIES", size)
    tree, places = retriever.tree, places_of(retriever)
    queries = [Query(text, 5, rule=rule) for text in TEXTS]
    found = choices(retriever, queries, places)
    assert len(found) == tree.depth
    for depth, (here, one) in enumerate(zip(places, found, strict=True)):
        for at in range(0, len(here.node), 3):
            prefix = tree.paths(depth, here.node[at : at + 1])[0].tolist()
            look = walk(retriever, queries[here.query[at]], prefix, limit=10**6)
            own = np.flatnonzero(one.parent == at)
            codes = tree.codes[depth][one.child[own]]
            by_code = {branch.code: branch for branch in look.children}
            assert sorted(by_code) == codes.tolist()
            gained = np.array([by_code[int(code)].model for code in codes])
            expected = gained - np.logaddexp.reduce(gained)
            np.testing.assert_allclose(one.model[own], expected, atol=1e-4)
            if all(branch.legal for branch in look.children):
                added = [by_code[int(code)].evidence for code in codes]
                np.testing.assert_allclose(one.evidence[own], added, atol=1e-6)


def test_evidence_is_the_weighted_maximum_below_each_child(retriever):
    tree, places = retriever.tree, places_of(retriever, seed=3)
    found = choices(retriever, [Query(text, 5, rule="all") for text in TEXTS], places)
    for depth, (here, one) in enumerate(zip(places, found, strict=True)):
        for at in range(0, len(one.child), 7):
            query = here.query[one.parent[at]]
            evidence = retriever.index.evidence.compatibility(TEXTS[query])
            below = tree.items_below(depth + 1, int(one.child[at]))
            assert one.evidence[at] == pytest.approx(2 * evidence.of(below).max())


def test_a_place_without_its_parent_is_refused(retriever):
    root = Places(np.array([0]), np.array([0]))
    other = Places(np.array([1]), np.array([0]))
    with pytest.raises(ValueError, match="no parent"):
        choices(retriever, [Query("mug", 5), Query("cup", 5)], [root, other])
    with pytest.raises(ValueError, match="depths"):
        choices(retriever, [Query("mug", 5)], [])
