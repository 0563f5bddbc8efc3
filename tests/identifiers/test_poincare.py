"""The Poincare ball against another formula of the same distance, its identities, and its flat limit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rars.identifiers.ball import BallQuantizer, distances
from rars.identifiers.poincare import RIM, added, ball_distances, distance, exp, log
from rars.identifiers.quantizers import load_quantizer, save_quantizer
from rars.identifiers.residual import ResidualQuantizer

from .worlds import families


def tangents(seed, count=6, dim=5, length=1.0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(scale=length / dim**0.5, size=(count, dim)))


def by_cosh(x, y, c):
    """The textbook distance: cosh(sqrt(c) d) = 1 + 2c|x - y|^2 / ((1 - c|x|^2)(1 - c|y|^2)).

    Ours ends where artanh is kept off its pole; so does this.
    """
    apart = ((x - y) ** 2).sum(-1)
    below = (1 - c * (x**2).sum(-1)) * (1 - c * (y**2).sum(-1))
    longest = 2 * np.arctanh(1 - RIM) / c**0.5
    return (torch.arccosh(1 + 2 * c * apart / below) / c**0.5).clamp_max(longest)


@given(st.integers(0, 10**6), st.floats(0.05, 3.0), st.floats(0.1, 1.5))
def test_distances_are_those_of_another_formula(seed, c, length):
    x, y = exp(tangents(seed, length=length), c), exp(tangents(seed + 1, length=length), c)
    assert torch.allclose(distance(x, y, c), by_cosh(x, y, c), rtol=1e-6)
    each = ball_distances(tangents(seed, length=length), tangents(seed + 1, length=length), c)
    for i in range(len(x)):
        assert torch.allclose(each[i], by_cosh(x[i], y, c) ** 2, rtol=1e-6)
    plain = distances(
        tangents(seed, length=length).numpy(), tangents(seed + 1, length=length).numpy(), c
    )
    assert np.allclose(plain, each.numpy(), rtol=1e-9), "with and without torch it is the same"


@given(st.integers(0, 10**6), st.floats(0.05, 3.0))
def test_maps_and_sums_obey_their_laws(seed, c):
    v, w = tangents(seed), tangents(seed + 1)
    x, y = exp(v, c), exp(w, c)
    assert torch.allclose(log(x, c), v, rtol=1e-6), "log undoes exp"
    assert (c * x.square().sum(-1) < 1).all(), "points lie inside the ball"
    origin = torch.zeros_like(x)
    assert torch.allclose(distance(origin, x, c), 2 * v.norm(dim=-1), rtol=1e-6)
    assert torch.allclose(added(-x, added(x, y, c), c), y, atol=1e-9), "the sum cancels on the left"
    assert torch.allclose(distance(x, y, c), distance(y, x, c), rtol=1e-6)


def test_a_ball_of_no_curvature_is_flat():
    v, w = tangents(0), tangents(1)
    for c in (1e-4, 1e-6):
        assert torch.allclose(exp(v, c), v, atol=10 * c)
        flat = 2 * (v - w).norm(dim=-1)
        assert torch.allclose(distance(exp(v, c), exp(w, c), c), flat, rtol=10 * c)


def test_far_points_and_equal_points_have_finite_distances_and_gradients():
    v = torch.tensor([[0.0, 0.0], [30.0, 0.0], [0.3, 0.4]], dtype=torch.float32, requires_grad=True)
    w = torch.tensor([[0.0, 0.0], [-30.0, 0.0], [0.3, 0.4]], dtype=torch.float32)
    found = distance(exp(v, 1.0), exp(w, 1.0), 1.0)
    found.square().sum().backward()
    assert torch.isfinite(found).all()
    assert torch.isfinite(v.grad).all()


@pytest.fixture(scope="module")
def books():
    vectors = families(300, dim=6)
    return vectors, tuple(vectors[start : start + 8] * 0.5 for start in (0, 8, 16))


def test_codes_are_the_nearest_in_the_ball_depth_by_depth(books, tmp_path):
    vectors, words = books
    quantizer = BallQuantizer(words, None, None, 0.7)
    codes = quantizer.encode(vectors)
    for row in range(0, 300, 17):
        left = vectors[row].astype(np.float64)
        for depth, book in enumerate(words):
            point, others = (exp(torch.from_numpy(np.float64(one)), 0.7) for one in (left, book))
            assert codes[row, depth] == by_cosh(point, others, 0.7).argmin()
            left = left - book[codes[row, depth]]
    last = quantizer.last_distances(vectors, codes)
    assert np.array_equal(last.argmin(axis=1), codes[:, -1])
    save_quantizer(quantizer, tmp_path / "q")
    again = load_quantizer(tmp_path / "q")
    assert isinstance(again, BallQuantizer)
    assert again.curvature == 0.7
    assert np.array_equal(again.encode(vectors), codes)


def test_codes_of_a_flat_ball_are_those_of_flat_space_and_of_a_curved_one_not(books):
    vectors, words = books
    flat = ResidualQuantizer(words).encode(vectors)
    assert np.array_equal(BallQuantizer(words, None, None, 1e-9).encode(vectors), flat)
    assert not np.array_equal(BallQuantizer(words, None, None, 1.0).encode(vectors), flat)
