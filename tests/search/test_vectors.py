"""Vectors in segments, kept whole or rounded: rows that are asked for, in any order, and nothing else."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from rars.runs import Run
from rars.search import catalog
from rars.search.index import build_index
from rars.search.retriever import Retriever
from rars.search.store import VECTORS, Vectors, rounded

CLOSE = {"float32": 1e-6, "float16": 1e-3, "int8": 1e-2}


def made(kind, seed=0):
    """Three segments of unit vectors, and the vectors as they were."""
    rng = np.random.default_rng(seed)
    every = rng.normal(size=(90, 16)).astype(np.float32)
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    kinds = ("float32", kind, kind)
    pieces = [
        rounded(part, one) for part, one in zip(np.split(every, [20, 50]), kinds, strict=True)
    ]
    rows = rng.permutation(90).astype(np.int32)
    segments, scales = zip(*pieces, strict=True)
    return Vectors(("a", "b", "c"), segments, rows, scales), every[rows]


@pytest.mark.parametrize("kind", VECTORS)
def test_rows_and_products_are_those_of_the_vectors(kind):
    vectors, whole = made(kind)
    items = np.array([3, 89, 0, 41, 3])
    queries = whole[:4]
    close = {"rtol": 0, "atol": CLOSE[kind]}
    assert vectors.fits(90)
    np.testing.assert_allclose(vectors.taken(items), whole[items], **close)
    np.testing.assert_allclose(vectors.scores(queries), queries @ whole.T, **close)
    many = np.tile(items, 300)
    expected = whole[many] @ queries[1]
    np.testing.assert_allclose(vectors.scores_of(queries[1], many), expected, **close)


def test_a_vector_of_zeros_stays_one():
    stored, scale = rounded(np.zeros((2, 3), dtype=np.float32), "int8")
    assert not (stored * scale[:, None]).any()


def test_what_does_not_fit_is_found():
    vectors, _ = made("int8")
    broken = (None, vectors.scales[1][:-1], vectors.scales[2])
    assert not Vectors(vectors.names, vectors.segments, vectors.rows, broken).fits(90)
    broken = (None, vectors.scales[1] * np.float32(np.nan), vectors.scales[2])
    assert not Vectors(vectors.names, vectors.segments, vectors.rows, broken).fits(90)
    assert not Vectors(vectors.names, vectors.segments, vectors.rows).fits(90)


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_an_index_keeps_them_so_through_changes(trained, tmp_path, kind):
    run = shutil.copytree(trained, tmp_path / "run")
    before = Retriever.load(run)
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('vectors = "float32"', f'vectors = "{kind}"'))
    build_index(Run.open(run))
    new = tmp_path / "new.jsonl"
    new.write_text(json.dumps({"id": "N1", "title": "black bottle 0.75 l"}) + "\n")
    catalog.add_items(Run.open(run), new)
    after = Retriever.load(run)
    assert [segment.dtype for segment in after.index.vectors.segments] == [np.dtype(kind)] * 2
    seen = before.reader.vectors(["black bottle"])
    expected = before.index.vectors.scores(seen)
    found = after.index.vectors.scores(seen)[:, : expected.shape[1]]
    np.testing.assert_allclose(found, expected, atol=CLOSE[kind])
    assert len(after.search("black bottle", 10)) == 10
