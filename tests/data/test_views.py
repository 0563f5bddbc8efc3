"""Views share what they can, compose, and equal what brute force over ids says."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data import Dataset, Judgments
from rars.data.checking import check_folder
from rars.data.schema import SPLITS
from rars.data.shop import make_shop
from rars.errors import RarsError

Triples = set[tuple[str, str, float]]


def made(n_items: int, n_queries: int, pairs: list[tuple[int, int, float]]) -> Dataset:
    items = [{"id": f"i{n}", "title": f"title {n}", "shelf": n} for n in range(n_items)]
    queries = [
        {"id": f"q{n}", "text": f"text {n}", "split": SPLITS[n % 3], "locale": f"l{n}"}
        for n in range(n_queries)
    ]
    judgments = [{"query_id": f"q{q}", "item_id": f"i{i}", "grade": g} for q, i, g in pairs]
    return Dataset.of(items, queries, judgments or None)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    n_items, n_queries = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    pair = st.tuples(
        st.integers(0, n_queries - 1), st.integers(0, n_items - 1), st.sampled_from([0, 1, 2, 3])
    )
    return made(n_items, n_queries, draw(st.lists(pair, max_size=25)))


def triples(dataset: Dataset) -> Triples:
    judged = dataset.judgments
    assert np.array_equal(np.lexsort((judged.item, judged.query)), np.arange(len(judged)))
    return {
        (dataset.query_ids[int(q)].as_py(), dataset.item_ids[int(i)].as_py(), float(g))
        for q, i, g in zip(judged.query, judged.item, judged.grade, strict=True)
    }


@settings(max_examples=60, deadline=None)
@given(datasets(), st.data())
def test_subsets_of_queries_and_items(dataset: Dataset, data: st.DataObject) -> None:
    """Against ids, by mask and by rows, on disk and in memory, in either order."""
    queries = np.array(data.draw(st.lists(st.booleans(), min_size=5, max_size=5)))
    items = np.array(data.draw(st.lists(st.booleans(), min_size=6, max_size=6)))
    queries, items = queries[: dataset.n_queries], items[: dataset.n_items]
    kept_queries = [f"q{n}" for n in np.flatnonzero(queries)]
    kept_items = [f"i{n}" for n in np.flatnonzero(items)]
    expected = {t for t in triples(dataset) if t[0] in kept_queries and t[1] in kept_items}
    with TemporaryDirectory() as home:
        for parent in (dataset, dataset.save(Path(home) / "parent")):
            view = parent.with_queries(queries).with_items(np.flatnonzero(items)[::-1])
            assert view.query_ids.to_pylist() == kept_queries
            assert view.item_ids.to_pylist() == kept_items
            assert triples(view) == expected
            assert triples(parent.with_items(items).with_queries(queries)) == expected
            shelves = view.items(["shelf", "brand", "id"])
            assert shelves["shelf"].to_pylist() == np.flatnonzero(items).tolist()
            assert shelves["id"].to_pylist() == kept_items
            blocks = list(view.item_blocks(["id"], size=2))
            assert [i for _, block in blocks for i in block["id"].to_pylist()] == kept_items
            assert [n for rows, _ in blocks for n in rows.tolist()] == [*range(len(kept_items))]
            assert view.query_locales == [f"l{n}" for n in np.flatnonzero(queries)]
            read = view.queries()
            assert read["id"].to_pylist() == kept_queries
            assert read["split"].to_pylist() == [SPLITS[s] for s in view.split]
            saved = view.save(Path(home) / "saved")
            assert triples(saved) == expected
            assert saved.items().to_pylist() == view.items().to_pylist()
            assert saved.queries().to_pylist() == read.to_pylist()


@settings(max_examples=80, deadline=None)
@given(
    datasets(),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([None, "train", "test"]),
)
def test_a_subsample_keeps_its_share_and_is_nested(
    dataset: Dataset, one: float, two: float, seed: int, at_least: int, split: str | None
) -> None:
    small, large = (
        dataset.subsampled(share, seed, at_least=at_least, split=split)
        for share in sorted((one, two))
    )
    assert triples(small) <= triples(large) <= triples(dataset)
    for number in range(dataset.n_queries):
        judged = {t for t in triples(dataset) if t[0] == f"q{number}"}
        kept = {t for t in triples(small) if t[0] == f"q{number}"}
        if split is not None and SPLITS[number % 3] != split:
            assert kept == judged
            continue
        forced = min(at_least, sum(grade > 0 for *_, grade in judged))
        assert len(kept) == max(int(np.floor(min(one, two) * len(judged) + 0.5)), forced)
        assert sum(grade > 0 for *_, grade in kept) >= forced
    again = dataset.subsampled(min(one, two), seed, at_least=at_least, split=split)
    assert (again.digest, triples(again)) == (small.digest, triples(small))


def test_a_subsample_is_drawn_evenly() -> None:
    """Over seeds, each of ten judgments is kept as often as any other."""
    dataset = made(10, 1, [(0, item, 0) for item in range(10)])
    kept = np.zeros(10)
    for seed in range(400):
        kept[dataset.subsampled(0.3, seed).judgments.item] += 1
    assert kept.sum() == 1200
    assert np.abs(kept - 120).max() < 40


def test_what_is_positive_depends_on_the_preset() -> None:
    """At least one positive: of a view that trains on Exact alone, an Exact one."""
    dataset = made(4, 1, [(0, 0, 3), (0, 1, 2), (0, 2, 1), (0, 3, 0)])
    for seed in range(20):
        assert dataset.with_relevance("exact").subsampled(0.0, seed).judgments.item.tolist() == [0]
    assert {dataset.subsampled(0.0, seed).judgments.item[0] for seed in range(20)} == {0, 1, 2}


def test_relevance_is_the_default_of_positives(tmp_path: Path) -> None:
    dataset = made(3, 1, [(0, 0, 3), (0, 1, 2), (0, 2, 1)])
    view = dataset.with_relevance("exact+substitute")
    assert view.positives("train")[2].tolist() == [3.0, 2.0]
    assert view.positives("train", "binary")[2].tolist() == [1.0, 1.0, 1.0]
    assert dataset.positives("train")[2].tolist() == [3.0, 2.0, 1.0]
    assert view.save(tmp_path / "saved").positives("train")[2].tolist() == [3.0, 2.0]
    with pytest.raises(RarsError, match="Unknown relevance preset 'cubic'"):
        dataset.with_relevance("cubic")


def test_other_judgments() -> None:
    """In any order, a pair once; the same judgments have the same digest."""
    dataset = made(3, 2, [(0, 0, 3)])
    query, item, grade = np.array([1, 0, 1]), np.array([2, 1, 2]), np.array([1.0, 3.0, 2.0])
    view = dataset.with_judgments(Judgments(query, item, grade))
    assert triples(view) == {("q0", "i1", 3.0), ("q1", "i2", 2.0)}
    other = dataset.with_judgments(Judgments(query[::-1], item[::-1], grade[::-1]))
    assert other.digest == view.digest
    with pytest.raises(RarsError, match="Judgment 2 is of item row 3; there are 3"):
        dataset.with_judgments(Judgments(query[:2], np.array([0, 3]), grade[:2]))
    with pytest.raises(RarsError, match="Judgment 1 has the grade nan"):
        dataset.with_judgments(Judgments(query[:1], item[:1], np.array([np.nan])))


@pytest.mark.parametrize(
    "split", [["test", "dev"], np.array([2, 1]), {"q0": "test"}, {"q1": "Validation", "q0": "test"}]
)
def test_another_split(split: Any, tmp_path: Path) -> None:
    dataset = made(1, 2, [(0, 0, 1)])
    view = dataset.with_split(split)
    assert view.split.tolist() == [2, 1]
    assert view.queries(["split"])["split"].to_pylist() == ["test", "validation"]
    assert view.save(tmp_path / "saved").split.tolist() == [2, 1]
    assert dataset.split.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.with_queries([0, 2]), "There is no row 2 among 2 queries, counted from 0"),
        (lambda d: d.with_queries([-1]), "There is no row -1 among 2 queries"),
        (lambda d: d.with_items([1, 0, 1]), "Row 1 of the items is chosen twice"),
        (lambda d: d.with_items([True]), "The mask has 1 values, but there are 3 items"),
        (lambda d: d.with_items([0.5]), "row numbers or a mask, not float64"),
        (lambda d: d.with_items([[0]]), "row numbers or a mask, not 2-D"),
        (lambda d: d.subsampled(1.5, 0), "share 1.5 is not between 0 and 1"),
        (lambda d: d.subsampled(0.5, 0, at_least=-1), "at_least -1 is negative"),
        (lambda d: d.subsampled(0.5, 0, split="exam"), "Unknown split 'exam'"),
        (lambda d: d.with_split(["train"]), "The split has 1 values, but there are 2 queries"),
        (lambda d: d.with_split(["train", "exam"]), "Unknown split 'exam'"),
        (lambda d: d.with_split([0, 3]), "3 is the index of no split"),
        (lambda d: d.with_split({"q7": "train"}), "names the query 'q7', which is not there"),
    ],
)
def test_mistakes_are_said(make: Any, message: str) -> None:
    with pytest.raises(RarsError, match=message):
        make(made(3, 2, [(0, 0, 1)]))


def test_digests_tell_views_apart() -> None:
    """Equal parameters, equal digest; anything else differs, and so does the order of views."""
    dataset = made(4, 3, [(0, 0, 3), (0, 1, 2), (1, 1, 1), (2, 3, 0)])
    views = [
        dataset,
        dataset.with_queries([0, 1]),
        dataset.with_queries([0, 2]),
        dataset.with_items([0, 1]),
        dataset.with_items([0, 1]).with_queries([0, 1]),
        dataset.with_queries([0, 1]).with_items([0, 1]),
        dataset.with_relevance("exact"),
        dataset.with_relevance("binary"),
        dataset.subsampled(0.5, 0),
        dataset.subsampled(0.5, 1),
        dataset.subsampled(0.6, 0),
        dataset.subsampled(0.5, 0, at_least=2),
        dataset.subsampled(0.5, 0, split="train"),
        dataset.with_split([0, 1, 1]),
        dataset.with_split([0, 1, 0]),
        dataset.with_judgments(dataset.judgments),
        dataset.with_judgments(dataset.judgments.where(np.array([True, True, True, False]))),
    ]
    assert len({view.digest for view in views}) == len(views)
    mask = np.array([True, True, False])
    assert dataset.with_queries(mask).digest == dataset.with_queries([1, 0]).digest
    same = made(4, 3, [(0, 0, 3), (0, 1, 2), (1, 1, 1), (2, 3, 0)])
    assert same.subsampled(0.5, 0).digest == dataset.subsampled(0.5, 0).digest


def test_views_share_arrays_and_read_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = made(4, 3, [(0, 0, 3), (1, 1, 1)])

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a view reads no columns")

    monkeypatch.setattr("rars.data.store.Columns.read", refuse)
    monkeypatch.setattr("rars.data.store.Columns.blocks", refuse)
    view = dataset.with_items([1, 2]).with_queries([0, 1])
    for other in (
        view.with_relevance("exact"),
        view.subsampled(0.5, 0),
        view.with_split([0, 1]),
        view.with_judgments(view.judgments),
    ):
        assert other.item_ids is view.item_ids
        assert other.query_texts is view.query_texts
        assert other.item_store is view.item_store
        assert other.folder is None


def test_a_view_of_the_shop_is_a_sound_dataset(tmp_path: Path) -> None:
    """Row groups, categories and attributes survive a view and its folder, which an import would accept."""
    make_shop(tmp_path / "shop", size="tiny")
    shop = Dataset.load(tmp_path / "shop")
    rows = np.arange(3, shop.n_items, 7)
    view = shop.with_items(rows).subsampled(0.5, 3)
    assert view.items().equals(shop.items().take(pa.array(rows)))
    saved = view.save(tmp_path / "view")
    assert saved.items().equals(view.items())
    assert saved.facts["views"][1] == {
        "view": "subsampled",
        "share": 0.5,
        "seed": 3,
        "at_least": 1,
        "split": None,
    }
    checked = check_folder(tmp_path / "view")
    assert checked.summary.items == len(rows)
    assert checked.summary.judgments == len(view.judgments)
