"""A shop is reproducible, well formed, and as hard as it claims to be."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.baselines.bm25 import Bm25
from rars.data import Dataset
from rars.data.checking import check_folder
from rars.data.shop import LOCALES, SIZES, make, make_shop
from rars.data.shop.draws import Draw, key, uniforms, zipf
from rars.data.shop.facts import Facts, make_facts
from rars.data.shop.index import Index
from rars.data.shop.intents import draw_intent
from rars.data.shop.items import item_rows
from rars.data.shop.slips import same_text
from rars.data.shop.world import world
from rars.data.words import words
from rars.errors import RarsError

TABLES = ("items", "queries", "judgments", "truth", "intents")


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("locale", LOCALES)
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, locale: str) -> None:
    for name in ("one", "two"):
        make_shop(tmp_path / name, size="tiny", locale=locale, seed=4)
    make_shop(tmp_path / "other", size="tiny", locale=locale, seed=5)
    one, two, other = (bytes_of(tmp_path / name) for name in ("one", "two", "other"))
    assert {f"{table}.parquet" for table in TABLES} < one.keys()
    assert one == two
    assert all(one[f"{table}.parquet"] != other[f"{table}.parquet"] for table in TABLES)


def test_chunk_and_block_sizes_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_shop(tmp_path / "whole", size="tiny")
    monkeypatch.setattr(make, "CHUNK", 70)
    monkeypatch.setattr(make, "QUERY_BLOCK", 7)
    make_shop(tmp_path / "cut", size="tiny")
    for table in TABLES:
        whole, cut = (pq.read_table(tmp_path / n / f"{table}.parquet") for n in ("whole", "cut"))
        assert whole.equals(cut), table


def test_a_larger_shop_begins_with_the_same_items(tmp_path: Path) -> None:
    make_shop(tmp_path / "small", size=200, realism=0)
    make_shop(tmp_path / "large", size=400, realism=0)
    small, large = (pq.read_table(tmp_path / n / "items.parquet") for n in ("small", "large"))
    assert large.slice(0, 200).equals(small)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(0, 2000),
    st.lists(st.integers(1, 60), min_size=1, max_size=5),
)
def test_items_depend_on_their_position_alone(seed: int, start: int, lengths: list[int]) -> None:
    ends = [start, *(start + np.cumsum(lengths)).tolist()]
    whole = make_facts(seed, start, ends[-1])
    parts = [make_facts(seed, a, b) for a, b in pairwise(ends)]
    joined = Facts.joined(parts)
    for column in ("leaf", "brand", "line", "values", "features"):
        assert np.array_equal(getattr(whole, column), getattr(joined, column))
    last = item_rows(parts[-1], "ja", seed, ends[-2])
    assert item_rows(whole, "ja", seed, start).slice(ends[-2] - start).equals(last)


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    make_shop(
        tmp_path / "shop", size="tiny", advance=lambda done, total: steps.append((done, total))
    )
    assert steps[-1] == (420, 420)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


@pytest.fixture(scope="module", params=LOCALES)
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("demo") / request.param
    make_shop(folder, size="demo", locale=request.param, realism=0)
    return Dataset.load(folder)


def test_demo_has_the_size_it_promises(demo: Dataset) -> None:
    splits = np.bincount(demo.split)
    assert demo.n_items == 10_000
    assert splits[0] + splits[1] == 3_000
    assert splits[2] == 600
    assert 100 < splits[1] < 200
    assert demo.facts["licence"] == "CC0-1.0"
    assert demo.facts["counts"]["queries"] == 3_600


def test_no_query_text_occurs_twice(demo: Dataset) -> None:
    # So no test query is among the training queries, whatever its case, width or spacing.
    texts = [same_text(text) for text in demo.query_texts.to_pylist()]
    assert len(set(texts)) == len(texts)
    assert all(texts)


def test_the_catalogue_is_a_tree_of_three_levels(demo: Dataset) -> None:
    paths = {tuple(path) for path in demo.items(["category"])["category"].to_pylist()}
    assert all(len(path) == 3 for path in paths)
    assert len({path[0] for path in paths}) >= 12
    assert len({path[2] for path in paths}) == len(paths) >= 60
    middles = Counter(middle for _, middle in {path[:2] for path in paths})
    assert max(middles.values()) == 1, "a middle category hangs under two departments"


def test_texts_are_there_and_varied(demo: Dataset) -> None:
    columns = demo.items(["title", "text", "brand"]).to_pydict()
    assert all(columns["title"])
    assert all(columns["text"])
    assert all(columns["brand"])
    assert len(set(columns["title"])) > 9_500
    kana = sum(any("ぁ" <= c <= "ヿ" for c in title) for title in columns["title"])
    assert kana > 9_000 if demo.facts["locale"] == "ja" else kana == 0


def test_popularity_is_skewed(demo: Dataset) -> None:
    for column in ("category", "brand"):
        values = demo.items([column])[column].to_pylist()
        counts = sorted(Counter(str(value) for value in values).values(), reverse=True)
        tenth = max(1, len(counts) // 10)
        assert sum(counts[:tenth]) > 0.25 * sum(counts)
        assert counts[0] > 8 * counts[-1]


def test_popular_categories_are_asked_for_more_often(demo: Dataset) -> None:
    intents = pq.read_table(demo.folder / "intents.parquet").to_pylist()
    asked = Counter(row["leaf"] for row in intents if row["name"] == "category")
    ranked = [world().leaves[index].key for index in world().by_popularity]
    assert sum(asked[leaf] for leaf in ranked[:20]) > 3 * sum(asked[leaf] for leaf in ranked[-20:])


def test_bm25_finds_some_of_it_but_not_all(demo: Dataset) -> None:
    # Below, the shop could not be learned from; above, there would be nothing to learn.
    query, item, grade = demo.positives("test")
    asked, row = np.unique(query, return_inverse=True)
    texts = demo.query_texts.take(pa.array(asked)).to_pylist()
    ranked = Bm25.of(demo).search(texts, 100)
    hit = np.array([i in set(ranked.row(r)[0].tolist()) for r, i in zip(row, item, strict=True)])
    recall = np.bincount(row, hit) / np.bincount(row)
    assert 0.40 <= recall.mean() <= 0.80
    assert hit[grade == 3].mean() > hit[grade == 2].mean() > hit[grade == 1].mean()
    columns = demo.items(["title", "brand", "color", "text"]).to_pydict()
    rows = zip(*columns.values(), strict=True)
    documents = [set(words(" ".join(part for part in one if part))) for one in rows]
    known = [set(words(text)) for text in texts]
    strangers = [known[r].isdisjoint(documents[i]) for r, i in zip(row, item, strict=True)]
    assert 0.1 < np.mean(strangers) < 0.4


def test_a_shop_passes_the_check_of_datasets(tmp_path: Path) -> None:
    make_shop(tmp_path / "shop", size="tiny", locale="es")
    check_folder(tmp_path / "shop")


def test_truth_of_large_categories_is_capped(tmp_path: Path) -> None:
    facts = make_facts(0, 0, 60_000)
    draw = Draw(key("cap"))
    intent = next(
        intent
        for intent in iter(lambda: draw_intent(facts, draw), None)
        if not intent.conditions and len(facts.rows_of(intent.leaf)) > 2_000
    )
    known = make.truth(intent, Index(facts), draw)
    assert len(known.rows) == len(np.unique(known.rows)) == 1_000
    assert set(known.grades.tolist()) == {3, 1}


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("huge", "Unknown shop size 'huge'; choose tiny, small, demo or a number of items."),
        (99, "A shop has 100 to 50000000 items, not 99."),
        ("0", "A shop has 100 to 50000000 items, not 0."),
    ],
)
def test_an_impossible_size_is_a_clear_mistake(
    tmp_path: Path, size: str | int, message: str
) -> None:
    with pytest.raises(RarsError) as error:
        make_shop(tmp_path / "shop", size=size)
    assert str(error.value) == message
    assert not (tmp_path / "shop").exists()


def test_an_unknown_locale_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RarsError, match="Unknown locale 'de'"):
        make_shop(tmp_path / "shop", size="tiny", locale="de")
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_queries_grow_with_the_items() -> None:
    assert (make.parse_size("5000").train, make.parse_size(5000).test) == (1_500, 300)
    assert (make.parse_size(10**7).train, make.parse_size(10**7).test) == (20_000, 4_000)
    assert SIZES["tiny"].items == 300


def test_the_world_is_consistent() -> None:
    leaves = world().leaves
    assert len(leaves) >= 60
    assert len(world().departments) >= 12
    assert sorted(world().by_popularity) == list(range(len(leaves)))
    for leaf in leaves:
        assert leaf.complements
        assert leaf.index not in leaf.complements
        assert len({field.name for field in leaf.fields}) == len(leaf.fields)
        assert not {field.name for field in leaf.fields} & set(leaf.features)


@given(st.integers(0, 2**63), st.integers(1, 400), st.integers(0, 450))
def test_a_sample_has_no_item_twice(stream: int, total: int, count: int) -> None:
    rows = np.arange(total, dtype=np.int32) * 3
    chosen = Draw(stream).some(rows, count)
    assert len(chosen) == min(total, count)
    assert len(np.unique(chosen)) == len(chosen)
    assert np.isin(chosen, rows).all()


def test_draws_are_uniform_and_weights_are_respected() -> None:
    values = uniforms(key("test"), np.arange(100_000))
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(np.histogram(values, 10, (0, 1))[0] / 10_000 - 1).max() < 0.06
    draw = Draw(key("weights"))
    picks = Counter(draw.weighted("abc", (1, 2, 7)) for _ in range(5_000))
    assert abs(picks["c"] / 5_000 - 0.7) < 0.03
    assert zipf(100, 0.6)[0] > 3 * (zipf(100, 0.6)[50] - zipf(100, 0.6)[49])
