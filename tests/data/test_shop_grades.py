"""Grades follow from the facts: a slow checker, written apart, reads them off the written tables."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rars.data import Dataset
from rars.data.shop import LOCALES, make_shop
from rars.data.shop.lexicon import lexicon
from rars.data.shop.world import world
from rars.errors import RarsError

FAMILY = {
    device: family
    for family in ("phone", "watch", "camera", "printer", "coffee", "shaver", "console", "vacuum")
    for device in world().devices[family]
}
BASE_UNITS = {"tb": 1000, "m": 100, "l": 1000, "kg": 1000}


@dataclass
class Shop:
    """The tables of a shop as plain Python."""

    locale: str
    items: dict[str, dict[str, Any]]
    queries: list[dict[str, Any]]
    intents: dict[str, list[dict[str, str]]]
    judged: dict[str, dict[str, float]]
    truth: dict[str, dict[str, float]]


def read_shop(folder: Path, locale: str) -> Shop:
    items = {}
    for row in pq.read_table(folder / "items.parquet").to_pylist():
        facts = dict(row["attributes"]) | {"brand": row["brand"], "category": row["category"][2]}
        items[row["id"]] = facts | ({"color": row["color"]} if row["color"] else {})
    intents = defaultdict(list)
    for row in pq.read_table(folder / "intents.parquet").to_pylist():
        intents[row["query_id"]].append(row)
    queries = pq.read_table(folder / "queries.parquet").to_pylist()
    return Shop(
        locale, items, queries, intents, _pairs(folder, "judgments"), _pairs(folder, "truth")
    )


def _pairs(folder: Path, table: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row in pq.read_table(folder / f"{table}.parquet").to_pylist():
        assert row["item_id"] not in found[row["query_id"]], "an item is graded twice"
        found[row["query_id"]][row["item_id"]] = row["grade"]
    return found


@pytest.fixture(scope="module", params=LOCALES)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("grades") / request.param
    make_shop(folder, size="tiny", locale=request.param, seed=5)
    return read_shop(folder, request.param)


def number(text: str) -> float:
    text = unicodedata.normalize("NFKC", text).casefold().replace(",", ".")
    found = re.search(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text)
    assert found is not None
    return float(found[1]) * BASE_UNITS.get(found[2], 1)


def satisfies(item: dict[str, Any], name: str, op: str, value: str) -> bool:
    if op == "ne":
        return bool(item[name] != value)
    if op == "at_least":
        return number(item[name]) >= number(value)
    if op == "at_most":
        return number(item[name]) <= number(value)
    return bool(item[name] == value)


def slow_grade(shop: Shop, query_id: str, item: dict[str, Any]) -> int:
    category, *conditions = shop.intents[query_id]
    if item["category"] == category["value"]:
        missed = sum(not satisfies(item, c["name"], c["op"], c["value"]) for c in conditions)
        return {0: 3, 1: 2}.get(missed, 0)
    if item["category"] not in complements(shop.locale, category["leaf"]):
        return 0
    wanted = {
        c["value"] for c in conditions if c["name"] in ("fits", "model") and c["value"] in FAMILY
    }
    own = {item[name] for name in ("fits", "model") if item.get(name) in FAMILY}
    same_family = {FAMILY[w] for w in wanted} & {FAMILY[o] for o in own}
    return 0 if same_family and not wanted & own else 1


def complements(locale: str, leaf: str) -> set[str]:
    words = lexicon(locale)
    spec = next(entry for entry in world().leaves if entry.key == leaf)
    return {words.leaves[index].category for index in spec.complements}


def test_every_judgment_follows_from_the_facts(shop: Shop) -> None:
    for query_id, judged in shop.judged.items():
        for item_id, grade in judged.items():
            assert grade == slow_grade(shop, query_id, shop.items[item_id]), (query_id, item_id)


def test_truth_is_complete_in_a_small_shop(shop: Shop) -> None:
    for query_id, known in shop.truth.items():
        grades = {i: slow_grade(shop, query_id, item) for i, item in shop.items.items()}
        positives = {item_id: grade for item_id, grade in grades.items() if grade > 0}
        assert known.items() <= positives.items()
        assert {i for i, g in positives.items() if g >= 2} <= known.keys()
        assert len(known) == len(positives) or sum(g == 1 for g in known.values()) == 100


def test_every_query_has_an_exact_item_and_two_positives(shop: Shop) -> None:
    assert shop.judged.keys() == {query["id"] for query in shop.queries}
    for judged in shop.judged.values():
        assert max(judged.values()) == 3
        assert sum(grade > 0 for grade in judged.values()) >= 2


def test_about_twenty_items_are_judged(shop: Shop) -> None:
    sizes = [len(judged) for judged in shop.judged.values()]
    assert min(sizes) >= 15
    assert max(sizes) <= 25
    assert 18 <= sum(sizes) / len(sizes) <= 22


def test_judged_positives_are_part_of_the_truth(shop: Shop) -> None:
    for query_id, judged in shop.judged.items():
        positives = {item_id: grade for item_id, grade in judged.items() if grade > 0}
        assert positives.items() <= shop.truth[query_id].items()


def test_what_a_query_excludes_its_exact_items_lack(shop: Shop) -> None:
    seen = 0
    no = lexicon(shop.locale).yes_no[1]
    for query_id, rows in shop.intents.items():
        for row in (row for row in rows if row["op"] == "lacks"):
            exact = [i for i, grade in shop.judged[query_id].items() if grade == 3]
            assert all(shop.items[item_id][row["name"]] == no for item_id in exact)
            seen += 1
    assert seen >= 5


def test_all_kinds_of_conditions_occur(tmp_path: Path) -> None:
    make_shop(tmp_path / "shop", size="small", seed=1, realism=0)
    small = read_shop(tmp_path / "shop", "en")
    rows = [row for rows in small.intents.values() for row in rows]
    assert {row["op"] for row in rows} == {
        *("is", "eq", "ne", "at_least", "at_most", "has", "lacks")
    }
    assert {"brand", "model", "color", "material", "fits", "pack", "audience"} <= {
        row["name"] for row in rows
    }
    counts = [len(rows) - 1 for rows in small.intents.values()]
    assert set(counts) == {0, 1, 2, 3}
    positives = [sum(g > 0 for g in judged.values()) for judged in small.judged.values()]
    assert sum(5 <= count <= 16 for count in positives) > 0.85 * len(positives)
    grades = [g for judged in small.judged.values() for g in judged.values()]
    assert min(grades.count(3), grades.count(2), grades.count(0)) > 0.15 * len(grades)
    assert grades.count(1) > 0.03 * len(grades)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_complements_are_judged_in_the_share_of_queries_asked_for(
    tmp_path: Path, share: float
) -> None:
    make_shop(tmp_path / "all", size="small", realism=0)
    make_shop(tmp_path / "some", size="small", realism=0, complements=share)
    every, some = (Dataset.load(tmp_path / name) for name in ("all", "some"))

    def complements(data: Dataset) -> set[int]:
        judged = data.judgments
        return set(judged.query[judged.grade == 1].tolist())

    def others(data: Dataset) -> set[tuple[int, int, int]]:
        judged = data.judgments
        kept = judged.grade > 1
        columns = (judged.query[kept], judged.item[kept], judged.grade[kept])
        return set(zip(*(c.tolist() for c in columns), strict=True))

    assert complements(some) <= complements(every)
    assert len(complements(some)) / len(complements(every)) == pytest.approx(share, abs=0.1)
    assert others(some) == others(every), "nothing else changes"


def test_an_impossible_share_of_complements_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RarsError, match="between 0 and 1, not 1.5"):
        make_shop(tmp_path / "shop", size="tiny", complements=1.5)
    assert not (tmp_path / "shop").exists()
