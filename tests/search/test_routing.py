"""A query reaches exactly the identifiers of its admitted categories, and every prefix above them."""

from __future__ import annotations

import numpy as np
import pytest

from rars.search import routing
from rars.search.routing import Routes, Several, Shared, admit_leaves
from rars.tree import PrefixTree
from rars.tree.categories import CategoryTree


@pytest.fixture(scope="module")
def setting():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (120, 3))
    paths = [
        None if i % 11 == 0 else [f"d{i % 3}", f"m{i % 5}", f"l{i % 7}"][: 1 + i % 3]
        for i in range(120)
    ]
    tree, categories = PrefixTree.build(codes), CategoryTree.of_paths(paths)
    return codes, paths, tree, Routes.of(categories, tree)


def test_terminal_categories_hold_exactly_their_items_identifiers(setting):
    _, paths, tree, routes = setting
    for index, name in enumerate(routes.names):
        own = [i for i, path in enumerate(paths) if path and " > ".join(path) == name]
        leaves = routes.leaves[routes.start[index] : routes.start[index + 1]]
        assert leaves.tolist() == sorted({int(leaf) for leaf in tree.leaves_of(own)})


def test_a_prefix_is_admitted_if_and_only_if_an_admitted_identifier_is_below(setting):
    codes, paths, tree, routes = setting
    terminals = np.array([[0, 3], [5, 5], [1, 2]])
    admitted = routes.admit(terminals)
    for query, chosen in enumerate(terminals):
        names = {routes.names[t] for t in chosen}
        items = [i for i, path in enumerate(paths) if path and " > ".join(path) in names]
        for depth in range(3):
            allowed = {tuple(codes[i][: depth + 1]) for i in items}
            nodes = np.arange(tree.n_nodes(depth + 1))
            found = admitted.allows(depth, np.full(len(nodes), query), nodes)
            prefixes = [tuple(p) for p in tree.paths(depth + 1, nodes).tolist()]
            assert [p in allowed for p in prefixes] == found.tolist()


def test_the_best_categories_are_the_most_probable_paths(setting):
    *_, routes = setting
    rng = np.random.default_rng(1)
    sizes = [int(routes.node[routes.level == level].max()) + 1 for level in range(3)]
    probabilities = [rng.normal(size=(4, size)) for size in sizes]
    best = routes.best(probabilities, 3)
    for query in range(4):
        scores = [
            probabilities[level][query, node]
            for level, node in zip(routes.level, routes.node, strict=True)
        ]
        assert best[query].tolist() == np.argsort(scores)[::-1][:3].tolist()


def test_no_admitted_leaves_admit_nothing():
    tree = PrefixTree.build([[0, 1], [1, 0]])
    admitted = admit_leaves(tree, np.array([0]), np.array([1]))
    assert admitted.allows(0, np.array([0, 0, 1]), np.array([0, 1, 1])).tolist() == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("outside", [False, True])
def test_marked_tables_and_sorted_sets_admit_the_same(setting, monkeypatch, outside):
    # Large batches over large catalogues take the second way; the union must not depend on it.
    *_, tree, routes = setting
    loose = np.random.default_rng(7).random(tree.n_leaves) < 0.1
    always = Shared.of(tree, loose) if outside else None
    terminals = np.array([[0, 3, 1], [5, 5, 2], [1, 2, 8]])
    marked = routes.admit(terminals, always)
    monkeypatch.setattr(routing, "_CELLS", 0)
    by_sorting = routes.admit(terminals, always)
    assert type(marked) is not type(by_sorting)
    for depth in range(tree.depth):
        node = np.tile(np.arange(tree.n_nodes(depth + 1)), 3)
        query = np.repeat(np.arange(3), tree.n_nodes(depth + 1))
        allowed = marked.allows(depth, query, node)
        assert allowed.tolist() == by_sorting.allows(depth, query, node).tolist()
        assert 0 < allowed.sum() <= len(allowed)


def test_queries_of_one_batch_are_admitted_as_each_would_be_alone(setting):
    *_, tree, routes = setting
    marks = np.random.default_rng(3).random(tree.n_leaves) < 0.2
    three, one = np.array([[0, 3, 1], [5, 6, 2]]), np.array([[4], [7]])
    parts = [routes.admit(three), None, Shared.of(tree, marks), routes.admit(one)]
    rows = [[1, 4], [0], [2, 6], [5, 3]]
    together = Several.of(parts, [np.array(members) for members in rows])
    for depth in range(tree.depth):
        nodes = np.arange(tree.n_nodes(depth + 1))
        for part, members in zip(parts, rows, strict=True):
            for place, query in enumerate(members):
                found = together.allows(depth, np.full(len(nodes), query), nodes)
                if part is None:
                    assert found.all()
                    continue
                alone = part.allows(depth, np.full(len(nodes), place), nodes)
                assert found.tolist() == alone.tolist()
    assert Several.of(parts[:1], [np.arange(2)]) is parts[0]


@pytest.mark.parametrize("seed", range(20))
def test_filled_categories_are_the_fewest_that_hold_enough_matches(setting, seed):
    """In the model's order, those with a match alone; never fewer than asked for, never one too many."""
    _, _, tree, routes = setting
    rng = np.random.default_rng(seed)
    marks = rng.random(120) < rng.choice([0.0, 0.02, 0.2, 1.0])
    matching = None if marks.all() else routing.Matching.of(tree, marks)
    sizes = [1 + int(routes.node[routes.level == level].max(initial=0)) for level in range(3)]
    chances = [rng.normal(size=(2, size)) for size in sizes]
    wanted = [1, int(rng.integers(1, 40))]
    found = routes.holding(chances, 2, matching, wanted)
    full = {int(leaf) for leaf in tree.leaves_of(np.flatnonzero(marks))}
    held = [
        {*routes.leaves[routes.start[t] : routes.start[t + 1]].tolist()} & full
        for t in range(len(routes.names))
    ]
    for query, least in enumerate(wanted):
        order = [
            t for t in routes.best([one[query : query + 1] for one in chances], 99)[0] if held[t]
        ]
        count = 2
        while count < len(order) and len(set().union(*(held[t] for t in order[:count]))) < least:
            count += 1
        assert found[query].tolist() == order[:count]
