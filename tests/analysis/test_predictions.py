"""JS and Support against scipy and plain loops; the sample; the regression by hand."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax as scipy_softmax

from rars.analysis import predictions
from rars.analysis.predictions import (
    Parents,
    by_query,
    jensen_shannon,
    measured,
    regression,
    softmax,
    strata,
    stratified,
)
from rars.errors import RarsError
from rars.search.choices import Choices
from rars.tree import PrefixTree, Relevance, ambiguity, project
from tests.tree import oracle

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, groups=st.integers(1, 5))
def test_divergence_and_softmax_are_those_of_scipy(seed, groups):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, groups)
    owner = np.repeat(np.arange(groups), sizes)
    scores = rng.normal(0, 5, len(owner))
    target = rng.random(len(owner)) * (rng.random(len(owner)) < 0.6)
    for group in range(groups):
        own = owner == group
        if not target[own].any():
            target[np.flatnonzero(own)[0]] = 1.0
        target[own] /= target[own].sum()
    found = softmax(scores, owner, groups)
    js = jensen_shannon(target, found, owner, groups)
    assert (js >= 0).all()
    assert (js <= math.log(2) + 1e-12).all()
    for group in range(groups):
        own = owner == group
        np.testing.assert_allclose(found[own], scipy_softmax(scores[own]))
        assert js[group] == pytest.approx(jensenshannon(target[own], found[own]) ** 2, abs=1e-9)
    np.testing.assert_allclose(jensen_shannon(target, target, owner, groups), 0, atol=1e-12)


def world(seed, depth=3):
    """A random tree, relevance on it, and random scores at every relevance-bearing prefix."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (30, depth)).astype(np.int32)
    tree = PrefixTree.build(codes)
    query = np.repeat(np.arange(4), 5)
    item = np.concatenate([rng.choice(30, 5, replace=False) for _ in range(4)])
    rho = rng.integers(0, 4, len(item)).astype(float)
    rho[::5] = 3
    pairs = list(zip(query.tolist(), item.tolist(), rho.tolist(), strict=True))
    projection = project(tree, Relevance.of(query, item, rho))
    found = []
    for level, above in enumerate(projection.levels[:depth]):
        parent, child = tree.expand(level, above.node)
        model, added = rng.normal(size=(2, len(child)))
        found.append(Choices(parent, child, model, added))
    return codes, tree, pairs, projection, found


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_parents_and_query_means_against_loops(seed):
    codes, tree, pairs, projection, found = world(seed)
    parents = measured(tree, projection, found, 3)
    masses = oracle.masses(codes.tolist(), pairs)
    expected = defaultdict(list)
    for depth in (1, 2, 3):
        above, one = projection.levels[depth - 1], found[depth - 1]
        for at, (row, node) in enumerate(zip(above.row, above.node, strict=True)):
            path = tuple(tree.paths(depth - 1, [node])[0].tolist())
            levels = masses[int(row)]
            own = np.flatnonzero(one.parent == at)
            children = [(*path, int(tree.codes[depth - 1][child])) for child in one.child[own]]
            target = np.array([levels[depth].get(child, 0.0) for child in children])
            target = target / levels[depth - 1][path]
            if (target > 0).sum() < 2:
                continue
            values = [levels[depth - 1][path], float((target > 0).sum()), float(len(own))]
            values.append(-sum(t * math.log(t) for t in target if t > 0) / math.log(len(own)))
            for scores in (one.model[own], one.model[own] + one.evidence[own]):
                p = scipy_softmax(scores)
                values += [jensenshannon(target, p) ** 2, p[target > 0].sum()]
            expected[depth, int(row)].append(values)
    assert len(parents) == sum(map(len, expected.values()))
    for depth in (1, 2, 3):
        means = by_query(parents, depth)
        assert means.rows.tolist() == sorted(row for d, row in expected if d == depth)
        for at, row in enumerate(means.rows):
            table = np.array(expected[depth, int(row)])
            own = (parents.depth == depth) & (parents.row == row)
            listed = (parents.mass, parents.relevant, parents.legal, parents.ambiguity,
                      parents.js_ar, parents.support_ar, parents.js_all, parents.support_all)  # fmt: skip
            np.testing.assert_allclose(np.stack([c[own] for c in listed], 1), table, atol=1e-9)
            weight = table[:, 0] / table[:, 0].sum()
            js, support = weight @ table[:, [4, 6]], weight @ table[:, [5, 7]]
            np.testing.assert_allclose(means.js[at], js, atol=1e-9)
            np.testing.assert_allclose(means.support[at], support, atol=1e-9)
            assert means.reduction[at] == pytest.approx(js[0] - js[1])
            assert means.gain[at] == pytest.approx(support[1] - support[0])


def test_a_prediction_that_is_the_target_diverges_by_nothing():
    _, tree, _, projection, found = world(7)
    exact = []
    for depth, one in enumerate(found, start=1):
        target = predictions._targets(tree, projection, one, depth)
        logits = np.where(target > 0, np.log(np.maximum(target, 1e-300)), -1e3)
        exact.append(Choices(one.parent, one.child, logits, np.zeros(len(logits))))
    parents = measured(tree, projection, exact, 3)
    assert len(parents)
    np.testing.assert_allclose(parents.js_ar, 0, atol=1e-12)
    np.testing.assert_allclose(parents.support_ar, 1)
    np.testing.assert_array_equal(parents.js_ar, parents.js_all)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n=st.integers(1, 200), size=st.integers(1, 100))
def test_a_stratified_sample_holds_every_stratum_in_proportion(seed, n, size):
    of = np.random.default_rng(seed).integers(0, 5, n)
    drawn = stratified(of, size, seed)
    assert len(drawn) == min(n, size) == len(np.unique(drawn))
    assert (np.diff(drawn) > 0).all()
    for stratum in np.unique(of):
        exact = (of == stratum).sum() * min(1, size / n)
        assert abs((of[drawn] == stratum).sum() - exact) < 1
    np.testing.assert_array_equal(drawn, stratified(of, size, seed))


def test_strata_are_ambiguity_by_positive_count():
    tree = PrefixTree.build([[0, 0], [0, 1], [1, 0], [2, 0]])
    query, item = [0, 1, 1, 2, 2, 2, 2], [0, 0, 1, 0, 1, 2, 3]
    found = ambiguity(tree, project(tree, Relevance.of(query, item, np.ones(7))))
    assert strata(found, np.array([1, 2, 4])).tolist() == [0 * 6 + 1, 1 * 6 + 2, 2 * 6 + 3]


def parents_of(rng, n):
    js = rng.random((4, n))
    relevant = rng.integers(2, 6, n)
    return Parents(
        rng.integers(0, n // 3, n), rng.integers(1, 4, n), rng.random(n), rng.random(n),
        relevant, relevant + rng.integers(0, 9, n), *js,
    )  # fmt: skip


def test_the_regression_is_least_squares_with_clustered_errors():
    rng = np.random.default_rng(5)
    parents, locale = parents_of(rng, 120), rng.integers(0, 3, 120)
    found = regression(parents, locale, parents.js_ar)
    z = (parents.ambiguity - parents.ambiguity.mean()) / parents.ambiguity.std()
    dummies = [parents.depth == 2, parents.depth == 3, locale == 1, locale == 2]
    x = np.stack([np.ones(120), z, parents.relevant, parents.legal, *dummies], axis=1).astype(float)
    beta = np.linalg.lstsq(x, parents.js_ar, rcond=None)[0]
    residual = parents.js_ar - x @ beta
    bread = np.linalg.inv(x.T @ x)
    scores = [x[parents.row == g].T @ residual[parents.row == g] for g in np.unique(parents.row)]
    groups, (n, k) = len(scores), x.shape
    meat = sum(np.outer(s, s) for s in scores) * groups / (groups - 1) * (n - 1) / (n - k)
    error = math.sqrt((bread @ meat @ bread)[1, 1])
    assert found.value == pytest.approx(beta[1])
    assert found.low == pytest.approx(beta[1] - 1.959964 * error, rel=1e-5)
    assert found.high == pytest.approx(beta[1] + 1.959964 * error, rel=1e-5)


def test_the_regression_leaves_out_what_never_varies_and_refuses_too_few():
    rng = np.random.default_rng(6)
    parents = parents_of(rng, 60)
    same = np.zeros(60, dtype=int)
    assert np.isfinite(regression(parents, same, parents.js_ar).low)
    few = parents_of(rng, 6)
    with pytest.raises(RarsError, match="regression needs more than"):
        regression(few, same[:6], few.js_ar)
