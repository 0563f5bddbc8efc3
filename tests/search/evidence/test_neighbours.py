"""Evidence from similar training queries against the sum written out, and after the catalogue has changed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.search.evidence import Ancestry
from rars.search.evidence import neighbours as module
from rars.search.evidence.neighbours import SHARPNESS, JudgedQueries
from rars.tree import PrefixTree
from tests.evaluation.worlds import make_dataset


def made(seed, queries=7, items=12, dim=5):
    """Random judged queries over a random tree."""
    rng = np.random.default_rng(seed)
    tree = PrefixTree.build(rng.integers(0, 3, size=(items, 3)))
    lists = [np.sort(rng.permutation(items)[: rng.integers(0, 6)]) for _ in range(queries)]
    start = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    rows = np.concatenate(lists).astype(np.int32)
    vectors = rng.normal(size=(queries, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    gains = rng.integers(1, 4, size=len(rows)).astype(np.float32) / 3
    texts = pa.array([f"query {number}" for number in range(queries)])
    return JudgedQueries(texts, vectors, start, rows, gains), Ancestry.of(tree), rng


def written_out(judged, vector, nearest, items):
    """The module's equation, one judgment at a time."""
    cosine = judged.vectors @ (vector / np.linalg.norm(vector))
    total = np.zeros(items)
    for query in np.argsort(-cosine)[:nearest]:
        for at in range(judged.start[query], judged.start[query + 1]):
            total[judged.rows[at]] += max(0.0, cosine[query]) ** SHARPNESS * judged.gains[at]
    return total / total.max() if total.max() > 0 else total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_it_is_the_weighted_sum_over_the_nearest_queries(seed, nearest):
    judged, ancestry, rng = made(seed)
    vectors = rng.normal(size=(3, 5)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "NEAREST", nearest)
        found = judged.evidence(vectors, ancestry)
    for one, vector in zip(found, vectors, strict=True):
        wanted = written_out(judged, vector, nearest, 12)
        assert one.of(np.arange(12)) == pytest.approx(wanted, abs=1e-5)
        for depth in (1, 2, 3):
            nodes = np.arange(ancestry.tree.n_nodes(depth))
            low, high = ancestry.tree.item_ranges(depth, nodes)
            best = [wanted[ancestry.tree.order[a:b]].max() for a, b in zip(low, high, strict=True)]
            assert one.prefix_maxima(depth, nodes) == pytest.approx(best, abs=1e-5)


def test_an_explanation_names_the_nearest_queries_and_whose_items_they_are():
    judged, ancestry, _ = made(3)
    [found] = judged.evidence(judged.vectors[4:5], ancestry)
    assert found.reasons[0].text == "query 4"
    own = judged.rows[judged.start[4] : judged.start[5]]
    assert {int(row) for row in own} == {
        item
        for item in range(12)
        if any(match.text == "query 4" and match.matched for match in found.explain(item))
    }


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_items_that_move_keep_what_was_said_of_them(seed):
    judged, _, rng = made(seed)
    kept = np.flatnonzero(rng.random(12) < 0.6)
    origin = np.concatenate([kept, [-1, -1]])
    moved = judged.moved(origin)
    assert moved.fits(len(origin), 5)
    for query in range(len(judged)):
        before = slice(judged.start[query], judged.start[query + 1])
        after = slice(moved.start[query], moved.start[query + 1])
        old = dict(zip(judged.rows[before].tolist(), judged.gains[before].tolist(), strict=True))
        new = dict(zip(moved.rows[after].tolist(), moved.gains[after].tolist(), strict=True))
        assert new == {
            int(np.flatnonzero(origin == row)[0]): gain for row, gain in old.items() if row in kept
        }


def test_training_judgments_are_read_and_no_others(tmp_path):
    dataset = make_dataset(
        tmp_path,
        ["i1", "i2", "i3"],
        ["a", "b", "c"],
        [("a", "i2", 3.0), ("a", "i1", 1.0), ("b", "i3", 2.0), ("c", "i1", 3.0)],
        splits=["train", "train", "test"],
    )
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return np.eye(len(texts), 4, dtype=np.float32)

    judged = JudgedQueries.of(dataset, embed)
    assert judged is not None
    assert asked == judged.texts.to_pylist() == [dataset.query_texts[q].as_py() for q in (0, 1)]
    assert judged.start.tolist() == [0, 2, 3]
    assert judged.rows.tolist() == [0, 1, 2]
    assert judged.gains.tolist() == pytest.approx([1 / 3, 1.0, 2 / 3])
    assert JudgedQueries.of(dataset, embed, "validation") is None


@pytest.mark.parametrize("field", ["vectors", "start", "rows", "gains"])
def test_parts_that_do_not_belong_together_do_not_fit(field):
    judged, _, _ = made(1)
    assert judged.fits(12, 5)
    assert not judged.fits(12, 4)
    changed = {
        name: getattr(judged, name) for name in ("texts", "vectors", "start", "rows", "gains")
    }
    assert not JudgedQueries(**{**changed, field: changed[field][:-1]}).fits(12, 5)
    if field in ("vectors", "gains"):
        broken = changed[field].copy()
        broken[0] = np.nan
        assert not JudgedQueries(**{**changed, field: broken}).fits(12, 5)
    if field == "rows":
        assert not judged.fits(int(judged.rows.max()), 5)
