"""Additive codes against every combination there is, and codebooks against an independent least squares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.identifiers.additive import (
    AdditiveQuantizer,
    AdditiveSettings,
    fit_additive,
    least_squares,
)
from rars.identifiers.kmeans import fit_residual_kmeans
from rars.identifiers.quantizers import load_quantizer, save_quantizer
from rars.identifiers.residual import ResidualQuantizer

from .worlds import families


def random_books(seed, sizes=(5, 4, 3), dim=6):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(size, dim)).astype(np.float32) for size in sizes)


def error(quantizer, vectors):
    return float(((vectors - quantizer.reconstruct(quantizer.encode(vectors))) ** 2).sum())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_beam_that_keeps_every_path_finds_the_nearest_sum(seed):
    books = random_books(seed)
    vectors = np.random.default_rng(seed + 1).normal(size=(9, 6)).astype(np.float32)
    every = list(product(*(range(len(book)) for book in books)))
    sums = np.array(
        [sum(book[code] for book, code in zip(books, codes, strict=True)) for codes in every]
    )
    nearest = ((vectors[:, None] - sums) ** 2).sum(axis=2).argmin(axis=1)
    found = AdditiveQuantizer(books, beam=60).encode(vectors)
    assert found.tolist() == [list(every[at]) for at in nearest]


def test_a_beam_of_one_is_residual_quantisation():
    books = random_books(3)
    vectors = np.random.default_rng(4).normal(size=(300, 6)).astype(np.float32)
    ours = AdditiveQuantizer(books, beam=1).encode(vectors)
    assert np.array_equal(ours, ResidualQuantizer(books).encode(vectors))


def test_codebooks_solve_the_pulled_least_squares():
    """The same system, written out as a matrix and given to NumPy's own solver."""
    before = random_books(5)
    rng = np.random.default_rng(6)
    points = rng.normal(size=(80, 6)).astype(np.float32)
    codes = np.stack([rng.integers(len(book), size=80) for book in before], axis=1).astype(np.int32)
    codes[:, 1] = np.minimum(codes[:, 1], 2)  # one code has no item, and stays where it was
    hot = np.zeros((80, 12))
    hot[np.arange(80)[:, None], codes + np.array([0, 5, 9])] = 1
    pull = 0.1 * np.eye(12)
    wanted, *_ = np.linalg.lstsq(
        np.concatenate([hot, pull]),
        np.concatenate([points, 0.1 * np.concatenate(before)]),
        rcond=None,
    )
    found = least_squares(points, codes, before)
    assert np.concatenate(found) == pytest.approx(wanted, abs=1e-5)
    assert found[1][3] == pytest.approx(before[1][3], abs=1e-6)


def test_sums_of_codes_are_nearer_than_those_of_residual_kmeans():
    vectors = families(1500)
    plain = fit_residual_kmeans(vectors, (16, 16, 16))
    errors = [error(plain, vectors)]
    for rounds in (1, 4):
        fitted = fit_additive(vectors, (16, 16, 16), settings=AdditiveSettings(rounds=rounds))
        errors.append(error(fitted, vectors))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.97 * errors[0]


def test_an_item_alone_has_the_codes_it_has_among_others(tmp_path):
    vectors = families(700)
    quantizer = fit_additive(vectors, (16, 16, 16), settings=AdditiveSettings(rounds=1))
    every = quantizer.encode(vectors)
    assert np.array_equal(quantizer.encode(vectors[123:124])[0], every[123])
    save_quantizer(quantizer, tmp_path)
    again = load_quantizer(tmp_path)
    assert isinstance(again, AdditiveQuantizer)
    assert again.beam == 8
    assert np.array_equal(again.encode(vectors), every)


def test_a_beam_that_was_not_stored_is_one_sentence():
    tensors = AdditiveQuantizer(random_books(1)).tensors()
    for wrong in (None, np.array([0]), np.array([1, 2]), np.array([1000])):
        changed = {key: value for key, value in tensors.items() if key != "beam"}
        with pytest.raises(RarsError, match="without the width of its beam"):
            AdditiveQuantizer.restore(changed if wrong is None else changed | {"beam": wrong})
