"""The profile of a split equals the same means by dictionaries and loops, on random trees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings

from rars.analysis.ambiguity import draw, profile
from rars.data import Dataset
from rars.errors import RarsError
from rars.tree import PrefixTree
from tests.tree.oracle import judged_trees, masses, prefixes, refinement_entropy


def dataset_of(codes, pairs):
    items = [{"id": str(n), "title": f"item {n}"} for n in range(len(codes))]
    asked = sorted({q for q, _, _ in pairs})
    queries = [{"id": str(q), "text": f"query {q}", "split": "train"} for q in asked]
    judged = [{"query_id": str(q), "item_id": str(i), "grade": rho} for q, i, rho in pairs]
    whole = Dataset.of(items, queries, judged)
    return whole.with_split(np.full(len(asked), "train"))  # none set aside for validation


def by_hand(codes, levels, depth):
    """Entropy, branching, mass there, normalised entropy, variance and capacity of one query at a depth."""
    entropy = refinement_entropy(levels, depth)
    legal = [z[:-1] for z in prefixes(codes, depth)]
    variance = mass = capacity = 0.0
    for parent, held in levels[depth - 1].items():
        shares = [m / held for z, m in levels[depth].items() if z[:-1] == parent]
        variance += held * (1 - sum(s * s for s in shares))
        mass += held * (len(shares) > 1)
        capacity += held * math.log(legal.count(parent))
    normalised = entropy / capacity if capacity > 0 else 0.0
    return entropy, mass > 0, mass, normalised, variance, capacity


@settings(max_examples=30, deadline=None)
@given(judged_trees())
def test_a_profile_is_the_mean_of_what_every_query_shows(drawn):
    codes, pairs = drawn
    every = {q: levels for q, levels in masses(codes, pairs).items() if levels[0]}
    assume(every)
    found = profile(dataset_of(codes, pairs), PrefixTree.build(codes), "train")
    assert found.n_queries == len(every)
    positive = [q for q, _, rho in pairs if rho > 0]
    assert found.n_multi_positive == sum(positive.count(q) > 1 for q in every)
    depths = range(1, codes.shape[1] + 1)
    measured = {q: [by_hand(codes, levels, d) for d in depths] for q, levels in every.items()}
    for row in found.rows:
        expected = np.mean([values[row.depth - 1] for values in measured.values()], axis=0)
        shown = (
            *(row.entropy, row.ambiguous_queries, row.ambiguous_mass, row.normalised_entropy),
            *(row.sampling_variance, row.capacity),
        )
        np.testing.assert_allclose(shown, expected, atol=1e-9)
    entropies = np.array([[v[0] for v in values] for values in measured.values()])
    divided = entropies[[any(v[1] for v in values) for values in measured.values()]]
    if not len(divided):
        assert math.isnan(found.mean_depth)
        assert not any(row.allocation for row in found.rows)
        return
    shares = divided / divided.sum(axis=1, keepdims=True)
    np.testing.assert_allclose([row.allocation for row in found.rows], shares.mean(0), atol=1e-9)
    assert found.mean_depth == pytest.approx((shares @ list(depths)).mean())


def test_a_split_without_positives_is_one_sentence():
    dataset = dataset_of(np.array([[0, 0], [1, 0]]), [(0, 0, 1.0)])
    with pytest.raises(RarsError, match="The split 'test' of .* has no query with a positive item"):
        profile(dataset, PrefixTree.build([[0, 0], [1, 0]]), "test")


def test_a_profile_can_be_drawn(tmp_path):
    codes = np.array([[0, 0], [0, 1], [1, 0]])
    pairs = [(0, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0)]
    found = profile(dataset_of(codes, pairs), PrefixTree.build(codes), "train")
    draw(found, tmp_path / "ambiguity.png")
    assert (tmp_path / "ambiguity.png").read_bytes().startswith(b"\x89PNG")
