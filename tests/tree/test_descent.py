"""A pass down the tree reaches what its width allows, and scores it as the sum of its codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.tree import END, PrefixTree
from rars.tree.descent import code_terms, descend

QUERIES, CODES = 3, 5


def catalogue(seed, items=60, depth=3):
    """A random tree; some identifiers end early, some are shared."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CODES, (items, depth))
    lengths = rng.integers(1, depth + 1, items)
    codes[np.arange(depth) >= lengths[:, None]] = END
    words = [rng.normal(size=(CODES, 4)) for _ in range(depth)]
    return PrefixTree.build(codes), words, rng.normal(size=(QUERIES, 4))


def score(words, vector, path):
    """s of a path by the definition: what its codes add up to; an end adds nothing."""
    return sum(words[d][code] @ vector for d, code in enumerate(path) if code != END)


def beam(tree, words, vector, width, legal=lambda depth, node: True):
    """The rule in plain Python: the best prefixes of a depth, as long as their children are few."""
    kept = [0]
    for depth in range(1, tree.depth + 1):
        children = [c for u in kept for c in tree.expand(depth - 1, [u])[1].tolist()]
        paths = tree.paths(depth, np.array(children, dtype=int))
        ranked = sorted(
            (-score(words, vector, path), child)
            for child, path in zip(children, paths.tolist(), strict=True)
            if legal(depth - 1, child)
        )[:width]
        kept, below = [], 0
        for _, child in ranked:
            below += tree.n_children(depth, [child])[0] if depth < tree.depth else 0
            if kept and below > 2 * width:
                break
            kept.append(child)
    return sorted(kept)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40))
def test_a_pass_keeps_the_best_of_every_depth(seed, width):
    tree, words, vectors = catalogue(seed)
    found = descend(tree, code_terms(vectors, words), width)
    for query, vector in enumerate(vectors):
        own = found.query == query
        assert found.node[own].tolist() == beam(tree, words, vector, width)
        paths = tree.paths(tree.depth, found.node[own])
        expected = [score(words, vector, path) for path in paths.tolist()]
        np.testing.assert_allclose(found.score[own], expected, atol=1e-12)


def test_a_wide_pass_reaches_everything():
    tree, words, vectors = catalogue(0)
    found = descend(tree, code_terms(vectors, words), 1000)
    assert found.node.tolist() == [*range(tree.n_leaves)] * QUERIES


@pytest.mark.parametrize("width", [1, 7, 1000])
def test_what_is_not_legal_is_not_reached(width):
    tree, words, vectors = catalogue(1)
    allowed = [np.arange(tree.n_nodes(depth + 1)) % 3 != 0 for depth in range(tree.depth)]
    terms = code_terms(vectors, words)
    found = descend(tree, terms, width, lambda depth, query, node: allowed[depth][node])
    for query, vector in enumerate(vectors):
        expected = beam(tree, words, vector, width, lambda depth, node: allowed[depth][node])
        assert found.node[found.query == query].tolist() == expected


def test_a_pass_may_reach_nothing():
    tree, words, vectors = catalogue(2)
    found = descend(
        tree, code_terms(vectors, words), 5, lambda depth, query, node: (node < 0) | (query == 1)
    )
    assert set(found.query.tolist()) == {1}
    assert not len(descend(tree, code_terms(vectors, words), 5, lambda d, q, node: node < 0))
