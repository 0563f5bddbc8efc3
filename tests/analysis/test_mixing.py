"""Mixed prefixes and torn queries against plain loops over pairs."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.analysis.mixing import FEWEST, mixed_by_category, mixed_by_vectors, mixing, torn
from rars.data import Dataset
from rars.errors import RarsError
from rars.tree import PrefixTree, Relevance

seeds = st.integers(0, 2**32 - 1)


def world(seed, n=25, depth=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, depth)).astype(np.int32)
    return rng, codes, PrefixTree.build(codes)


def members(codes, tree, depth, node):
    path = tree.paths(depth, [node])[0]
    return np.flatnonzero((codes[:, :depth] == path).all(axis=1))


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_mixed_is_the_chance_that_two_items_differ(seed):
    rng, codes, tree = world(seed)
    category = rng.integers(-1, 4, len(codes))
    vectors = rng.normal(size=(len(codes), 5))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    by_category, by_vectors = mixed_by_category(tree, category), mixed_by_vectors(tree, vectors)
    for depth in range(1, tree.depth + 1):
        for node in range(tree.n_nodes(depth)):
            own = members(codes, tree, depth, node)
            pairs = list(itertools.combinations(own.tolist(), 2))
            if not pairs:
                assert by_category[depth - 1][node] == by_vectors[depth - 1][node] == 0
                continue
            differ = np.mean([category[a] != category[b] or category[a] < 0 for a, b in pairs])
            assert by_category[depth - 1][node] == pytest.approx(differ)
            cosine = np.mean([unit[a] @ unit[b] for a, b in pairs])
            assert by_vectors[depth - 1][node] == pytest.approx(1 - cosine)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_torn_is_the_chance_that_two_relevant_items_part(seed):
    rng, codes, tree = world(seed)
    query = np.sort(rng.integers(0, 4, 12))
    item = np.concatenate([rng.choice(25, (query == q).sum(), replace=False) for q in range(4)])
    rho = rng.integers(1, 4, 12).astype(float)
    relevance = Relevance.of(query, item, rho)
    found, counts = torn(tree, relevance)
    for row in range(len(relevance.queries)):
        own = np.flatnonzero(relevance.row == row)
        assert counts[row] == len(own)
        for depth in range(1, tree.depth + 1):
            apart = total = 0.0
            for a, b in itertools.permutations(own.tolist(), 2):
                weight = relevance.mass[a] * relevance.mass[b]
                total += weight
                differ = (
                    codes[relevance.item[a], :depth] != codes[relevance.item[b], :depth]
                ).any()
                apart += weight * differ
            assert found[row, depth - 1] == pytest.approx(apart / total if total else 0.0)
    assert (np.diff(found, axis=1) >= -1e-12).all()


def shop(categories=True):
    """Twelve items: a tidy prefix of mugs, and one that mixes mugs with saws."""
    items = []
    for at in range(12):
        kind = "Mug" if at < 6 or at % 2 else "Saw"
        path = ["Home"] if kind == "Mug" else ["Tools"]
        items.append({"id": at, "title": f"{kind} {at}", "category": path if categories else None})
    queries = [
        {"id": "q", "text": "mug", "split": "test"},
        {"id": "p", "text": "saw", "split": "test"},
    ]
    judged = [{"query_id": "q", "item_id": at, "label": "E"} for at in (0, 1, 7)]
    judged += [{"query_id": "p", "item_id": at, "label": "E"} for at in (6, 8)]
    codes = np.array([[0, at] for at in range(6)] + [[1, at] for at in range(6)])
    return Dataset.of(items, queries, judged), PrefixTree.build(codes)


def test_the_worst_come_first_with_examples():
    dataset, tree = shop()
    found = mixing(dataset, tree, "test")
    assert found.by == "categories, level 1"
    [prefix] = found.prefixes
    assert (prefix.prefix, prefix.items, dict(prefix.groups)) == ("a1", 6, {"Home": 3, "Tools": 3})
    assert prefix.mixed == pytest.approx(1 - 2 * 3 * 2 / (6 * 5))
    assert {title.split()[0] for title in prefix.examples} == {"Mug", "Saw"}
    [query] = found.torn
    assert (query.query, query.relevant, query.branches) == ("mug", 3, 2)
    assert query.torn == pytest.approx(4 / 6)
    assert query.examples == (("a0", "Mug 0"), ("a1", "Mug 7"))
    assert found.mean[0] == pytest.approx(prefix.mixed / 2)
    assert found.apart[0] == pytest.approx((4 / 6 + 0) / 2)
    assert [one.key for one in found.tables()] == ["mixing", "mixed", "torn"]
    json.dumps(found.as_dict())
    assert FEWEST <= 6


def test_without_categories_vectors_tell_items_apart_or_nothing_does():
    dataset, tree = shop(categories=False)
    points = np.ones((12, 4))
    points[6::2] = -1
    found = mixing(dataset, tree, "test", vectors=lambda: points)
    assert found.by == "vectors"
    assert [one.prefix for one in found.prefixes] == ["a1"]
    none = mixing(dataset, tree, "test")
    assert (none.by, none.prefixes, none.mean) == (None, (), ())
    assert [one.key for one in none.tables()] == ["mixing", "torn"]


def test_a_split_without_judgments_has_nothing_torn():
    dataset, tree = shop()
    found = mixing(dataset, tree, "validation")
    assert (found.apart, found.queries, found.torn) == ((), 0, ())
    assert [one.key for one in found.tables()] == ["mixing", "mixed"]


def test_a_tree_of_other_items_is_refused():
    dataset, _ = shop()
    with pytest.raises(RarsError, match="holds 2 items"):
        mixing(dataset, PrefixTree.build([[0], [1]]), "test")
