"""Vectors in segments, kept whole or rounded: rows that are asked for, in any order, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.artifacts import opening, writing
from rars.runs import Run
from rars.search import catalog
from rars.search import vectors as vectors_of
from rars.search.index import build_index
from rars.search.retriever import Retriever
from rars.search.vectors import VECTORS, Vectors, rounded, save_vectors

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


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 100)), min_size=1, max_size=6),
    st.sampled_from(VECTORS),
    st.sampled_from([None, 1, 30]),
    st.integers(0, 10_000),
)
def test_items_keep_their_vectors_through_any_changes(changes, kind, celled, seed):
    """Each change adds some items and keeps a share of the old ones; segments, cells and rows follow."""
    rng = np.random.default_rng(seed)
    whole, old, folder = np.zeros((0, 8), dtype=np.float32), None, None
    with TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patched:
        patched.setattr(vectors_of, "_LOOSE", 40)
        patched.setattr(vectors_of, "_SEGMENTS", 4)
        patched.setattr(vectors_of, "_GROUP", 16)
        for number, (added, share) in enumerate(changes):
            kept = np.flatnonzero(rng.random(len(whole)) * 100 < share)
            new = rng.normal(size=(added, 8)).astype(np.float32)
            whole = np.concatenate([whole[kept], new])
            if not len(whole):
                return
            with writing(Path(home) / f"v{number}", kind="vectors") as draft:
                save_vectors(draft, f"s{number}", new, old, kept, folder, kind, celled)
            artifact = opening(Path(home) / f"v{number}", kind="vectors")
            old, folder = Vectors.load(artifact), artifact.folder
            assert old.fits(len(whole))
            assert len(old.segments) <= 4
            every = old.taken(np.arange(len(whole)))
            np.testing.assert_allclose(every, whole, rtol=0, atol=6 * CLOSE[kind])
            loose = sum(len(s) for s, c in zip(old.segments, old.cells, strict=True) if c is None)
            assert celled is None or loose <= 40 + 30
            if old.celled:
                found = old.near(rng.normal(size=8).astype(np.float32), 10_000)
                assert np.sort(found).tolist() == list(range(len(whole)))


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
