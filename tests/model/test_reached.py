"""The prior of prefixes that are asked about: the full pass, but for prefixes that a sample stands for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.model import reached
from rars.model.prior import PriorMeasure
from rars.search.beam import Guide, beam_search
from rars.search.exact import exact_search
from rars.tree import PrefixTree, SidVocabulary
from tests.model.small import Example
from tests.model.test_prior import DIM, begun, model_with_prior, words_of

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture
def small(monkeypatch):
    """Constants for catalogues of a test: (prefixes at the ruler, sample, opened)."""

    def put(ruled, sampled, opened, least=1):
        for name, value in (
            ("RULED", ruled),
            ("SAMPLED", sampled),
            ("OPENED", opened),
            ("LEAST", least),
        ):
            monkeypatch.setattr(reached, name, value)

    return put


def measure_of(example, seed=0, sharpness=3.0):
    words = words_of(example.vocabulary, seed)
    return PriorMeasure(example.tree, example.vocabulary, words, sharpness)


def families(tree, depth):
    """All children of the nodes at a depth, for two queries, as a beam asks for them."""
    _, child = tree.expand(depth, np.arange(tree.n_nodes(depth)))
    return np.repeat([0, 1], len(child)), np.tile(child, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.floats(0.1, 30), st.integers(1, 60))
def test_a_catalogue_that_is_its_own_sample_gives_the_full_pass(seed, ragged, sharpness, ruled):
    example = Example(seed, items=40, codes=4, ragged=ragged)
    measure = measure_of(example, seed, sharpness)
    scales = np.array([[1.0, 0.5, 2.0], [0.3, 1.0, 1.0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reached, "RULED", ruled)
        found = measure.reached(example.vectors[:2], scales)
        assert found.sample.whole
    for depth, table in enumerate(measure.log_shares(example.vectors[:2])):
        query, child = families(example.tree, depth)
        expected = scales[query, depth] * table[query, child]
        np.testing.assert_allclose(found[depth][query, child], expected, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 12), st.integers(0, 20))
def test_what_a_sample_stands_for_is_its_mean_and_the_rest_is_exact(seed, ragged, sampled, opened):
    example = Example(seed, items=80, codes=4, ragged=ragged)
    tree, measure = example.tree, measure_of(example, seed)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("RULED", 4), ("SAMPLED", sampled), ("OPENED", opened), ("LEAST", 1)):
            patch.setattr(reached, name, value)
        found = measure.reached(example.vectors[:1], np.ones((1, 3)))
        shares = [
            found[depth][families(tree, depth)[0] * 0, families(tree, depth)[1]]
            for depth in range(3)
        ]
        ruler = found.sample.depth
    assert ruler == 1
    similar = 3.0 * measure.similarities(example.vectors[:1])[0]
    low, high = tree.leaf_ranges(1, np.arange(tree.n_nodes(1)))
    drawn = np.diff(np.append(found.sample.first, len(found.sample.codes[0])))
    guesses, exact = [], []
    for a, b, k in zip(low.tolist(), high.tolist(), drawn.tolist(), strict=True):
        chosen = a + (2 * np.arange(k) + 1) * (b - a) // (2 * k)
        guesses.append((b - a) / k * np.exp(similar[chosen]).sum())
        exact.append(np.exp(similar[a:b]).sum())
    # Exact in the place of the largest guesses, while these hold few identifiers.
    mass, spent = np.array(guesses), 0
    for at in np.argsort(-mass, kind="stable"):
        if drawn[at] == high[at] - low[at]:
            continue
        spent += high[at] - low[at]
        if spent > opened:
            break
        mass[at] = exact[at]
    half = len(shares[0]) // 2
    np.testing.assert_allclose(shares[0][:half], np.log(mass / mass.sum()), atol=1e-9)
    full = measure.log_shares(example.vectors[:1])
    for depth in (1, 2):
        child = families(tree, depth)[1]
        half = len(child) // 2
        np.testing.assert_allclose(shares[depth][:half], full[depth][0, child[:half]], atol=1e-9)


def test_opened_prefixes_make_it_exact(small):
    example = Example(3, items=200, codes=5)
    measure = measure_of(example)
    small(ruled=5, sampled=5, opened=10_000)
    found = measure.reached(example.vectors[:2], np.ones((2, 3)))
    assert not found.sample.whole
    query, child = families(example.tree, 0)
    full = measure.log_shares(example.vectors[:2])[0]
    np.testing.assert_allclose(found[0][query, child], full[query, child], atol=1e-9)


def test_a_sharp_measure_of_a_large_catalogue_stays_finite(small):
    rng = np.random.default_rng(0)
    tree = PrefixTree.build(rng.integers(0, 16, (5000, 4)))
    vocabulary = SidVocabulary.of(tree)
    words = [100 * w.astype(np.float32) for w in words_of(vocabulary)]
    small(ruled=256, sampled=1000, opened=100)
    vectors = rng.normal(size=(1, DIM)).astype(np.float32)
    found = PriorMeasure(tree, vocabulary, words, 50.0).reached(vectors, np.ones((1, 4)))
    for depth in range(4):
        child = np.arange(tree.n_nodes(depth + 1))
        share = found[depth][np.zeros_like(child), child]
        assert np.isfinite(share).all()
        first = tree.children[depth][:-1]
        np.testing.assert_allclose(np.add.reduceat(np.exp(share), first), 1.0, rtol=1e-4)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("score", ["probability", "logit"])
def test_beam_and_exact_search_read_it_like_the_tables(ragged, score):
    example = Example(ragged=ragged)
    model, _ = model_with_prior(example)
    measure = model.prior.measure(example.tree, example.vocabulary)
    vectors = torch.tensor(example.vectors)
    priors = (
        model.prior.of_nodes(measure, vectors),
        model.prior.of_reached(measure, vectors, np.ones(len(vectors))),
    )
    for search, width in ((beam_search, 5), (beam_search, 1000), (exact_search, 1000)):
        tables, asked = (
            search(
                model,
                example.tree,
                example.vocabulary,
                begun(example, model),
                width=width,
                guide=Guide(normaliser="children", score=score, prior=prior),
            )
            for prior in priors
        )
        np.testing.assert_array_equal(asked.leaves, tables.leaves)
        np.testing.assert_allclose(asked.scores, tables.scores, atol=1e-8)
