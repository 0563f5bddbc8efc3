"""Searching over HTTP: every answer is the library's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rars.baselines.running import Baseline
from rars.data import Dataset
from rars.evaluation.measures import measure
from rars.evaluation.ranking import Ranking
from rars.evaluation.truth import Truth
from rars.search.why_not import why_not
from rars.serving import schemas
from rars.systems import Query, Ranked


@pytest.fixture(scope="module")
def shop(trained):
    return Dataset.load(trained.parent / "shop")


def same(told, hits):
    """Whether an answer over HTTP is the library's; of nearly equal scores the order is free."""
    scores = {hit.item_id: hit.score for hit in hits}
    assert len(told["hits"]) == len(hits)
    np.testing.assert_allclose(
        [one["score"] for one in told["hits"]], [hit.score for hit in hits], atol=1e-3
    )
    for one in told["hits"]:
        known = scores.get(one["item_id"], hits[-1].score if hits else 0.0)
        assert one["score"] == pytest.approx(known, abs=1e-3)


OPTIONS = [
    {},
    {"k": 3, "rule": "ar"},
    {"k": 25, "rule": "all", "categories": "all"},
    {"rule": "hybrid", "filter": "color = black OR color = white"},
    {"filter": "brand IS NOT NULL", "locale": "en", "rule": "010"},
    {"k": 150},
    {"exact": True, "k": 7},
    {"explain": True, "k": 2},
]


def test_unlike_queries_asked_at_once_are_each_answered_as_the_library_would(
    client, retriever, shop
):
    texts = shop.query_texts.to_pylist()[:32]
    asked = [{"query": text, **OPTIONS[at % len(OPTIONS)]} for at, text in enumerate(texts)]
    with ThreadPoolExecutor(16) as many:
        found = list(many.map(lambda one: client.post("/v1/search", json=one), asked))
    assert {one.status_code for one in found} == {200}
    assert max(one.json()["timings"]["batch"] for one in found) > 1
    for one, told in zip(asked, found, strict=True):
        options = {name: value for name, value in one.items() if name != "query"}
        same(told.json(), retriever.search(one["query"], **options))
        answer = schemas.SearchResponse.model_validate(told.json(), strict=True)
        assert answer.degraded is False
        assert answer.count == len(answer.hits)


def test_the_question_may_stand_in_the_address(client):
    asked = {"query": "black mug", "k": 4, "rule": "ar", "facets": ["color", "brand"]}
    found = client.get("/v1/search", params=asked).json()
    posted = client.post("/v1/search", json=asked).json()
    for one in (found, posted):
        del one["timings"], one["request_id"]
    assert found == posted
    assert [one["name"] for one in found["facets"]] == ["color", "brand"]


def test_facets_fields_and_filters_are_those_of_the_library(client, retriever):
    asked = {
        "query": "mug",
        "k": 20,
        "filter": "color = black",
        "facets": ["color", "category"],
        "facet_over": "matching",
        "fields": ["color", "price"] if "price" in _columns(retriever) else ["color", "title"],
    }
    told = client.post("/v1/search", json=asked).json()
    assert told["hits"]
    assert {hit["fields"]["color"][0] for hit in told["hits"]} == {"black"}
    [color, _] = told["facets"]
    marks = retriever.catalogue.columns.marks("color = black")
    assert color["values"] == [{"value": "black", "count": int(marks.sum())}]


def _columns(retriever):
    return [one.name for one in retriever.catalogue.columns.describe()]


@pytest.mark.parametrize(
    ("asked", "status", "field", "position"),
    [
        ({"query": "mug", "filter": "color ="}, 400, "filter", 8),
        ({"query": "mug", "filter": "nothing = 3"}, 400, "filter", 1),
        ({"query": " "}, 400, None, None),
        ({"query": "mug", "rule": "best"}, 400, None, None),
        ({"query": "mug", "system": "other"}, 404, "system", None),
        ({"query": "mug", "version": "v000099"}, 404, "version", None),
        ({"query": "mug", "facets": ["nothing"]}, 400, None, None),
        ({"query": "mug", "k": 0}, 422, "k", None),
        ({"query": "mug", "k": "many"}, 422, "k", None),
        ({"query": "mug", "depth": 3}, 422, "depth", None),
        ({}, 422, "query", None),
    ],
)
def test_a_mistake_is_one_sentence_that_names_its_field(client, asked, status, field, position):
    found = client.post("/v1/search", json=asked)
    assert found.status_code == status
    told = schemas.ErrorResponse.model_validate(found.json())
    assert told.error.message.endswith((".", "?"))
    assert (told.error.field, told.error.position) == (field, position)
    assert "Traceback" not in found.text


def test_a_batch_keeps_its_order_and_each_mistake_is_its_own(client, retriever):
    asked = [{"query": "mug", "k": 2}, {"query": ""}, {"query": "lamp", "system": "x"}]
    asked += [{"query": "lamp", "rule": "ar", "k": 3}, {"query": "mug", "system": "bm25"}]
    found = client.post("/v1/search/batch", json={"queries": asked}).json()["results"]
    assert [one["status"] for one in found] == [200, 400, 404, 200, 200]
    same(found[0]["result"], retriever.search("mug", 2))
    same(found[3]["result"], retriever.search("lamp", 3, rule="ar"))
    assert found[4]["result"]["system"] == "bm25"
    assert found[1]["error"]["message"] == "The query is empty."


def test_another_system_answers_beside_it_and_refuses_what_it_cannot(client, server):
    told = client.post("/v1/search", json={"query": "black mug", "system": "bm25"}).json()
    system = server.engine.systems.now("bm25").system
    assert isinstance(system, Baseline)
    same(told, system.search("black mug"))
    assert (told["rule"], told["version"], told["width"]) == ("plain", None, None)
    refused = client.post("/v1/search", json={"query": "mug", "system": "bm25", "exact": True})
    assert refused.status_code == 400


def test_what_there_is_to_ask(client, retriever):
    ours, bm25 = client.get("/v1/systems").json()["systems"]
    assert (ours["kind"], ours["default"], bm25["kind"]) == ("generative", True, "bm25")
    assert ours["rules"] == list(retriever.rules)
    assert ours["items"] == len(retriever)
    assert ours["versions"] == ["v000001"]
    assert {one["name"] for one in ours["columns"]} == set(_columns(retriever))


def test_an_item_with_all_its_columns(client, retriever):
    [hit] = retriever.search("mug", 1)
    found = client.get(f"/v1/items/{hit.item_id}").json()
    assert found["title"] == hit.title
    assert tuple(found["identifier"]) == hit.identifier
    assert found["columns"]["color"] == ([] if hit.color is None else [hit.color])
    assert client.get("/v1/items/nothing").status_code == 404


def test_why_and_why_not(client, retriever):
    [hit] = retriever.search("mug", 1)
    found = client.post("/v1/explain", json={"query": "mug", "item_id": hit.item_id}).json()
    assert (found["found"], found["reason"]) == (True, "found")
    terms = [one["model"] + one["evidence"] for one in found["hit"]["explanation"]["steps"]]
    assert sum(terms) == pytest.approx(hit.score, abs=1e-3)
    absent = retriever.catalogue.ids[0].as_py()
    shown = {one.item_id for one in retriever.search("mug")}
    assert absent not in shown
    told = client.post("/v1/explain", json={"query": "mug", "item_id": absent}).json()
    known = why_not(retriever, Query("mug"), absent)
    assert (told["reason"], told["why_not"]["depth"]) == (known.reason, known.depth)
    unknown = client.post("/v1/explain", json={"query": "mug", "item_id": "?"}).json()
    assert unknown["reason"] == "unknown"


def test_a_walk_down_the_tree_ends_at_items(client, retriever):
    prefix = ""
    for depth in range(retriever.tree.depth):
        seen = client.get("/v1/tree", params={"query": "mug", "prefix": prefix, "limit": 3}).json()
        assert seen["depth"] == depth
        assert all(one["items"] > 0 for one in seen["children"])
        prefix = f"{prefix} {seen['children'][0]['name']}"
    seen = client.get("/v1/tree", params={"query": "mug", "prefix": prefix}).json()
    assert seen["found"]
    assert client.get("/v1/tree", params={"query": "mug", "prefix": "zz"}).status_code == 400
    walked = client.get("/v1/tree", params={"query": "mug", "system": "bm25"})
    assert walked.status_code == 400


def test_judged_queries_come_with_the_measures_of_an_evaluation(client, retriever, shop):
    asked = {"split": "test", "against": "bm25", "sort": "difference", "limit": 1000}
    for _ in range(100):
        found = client.get("/v1/queries", params={**asked, "wait_ms": 5000}).json()
        if found["complete"]:
            break
    assert found["progress"] == 1.0
    rows = shop.queries_in("test")
    texts = [shop.query_texts[int(row)].as_py() for row in rows]
    ranked = retriever.rank_many(texts, 100)
    ranking = Ranking.of(rows, Ranked.of_lists([one for one, _ in ranked], [s for _, s in ranked]))
    known = measure(ranking, Truth.of(shop, "test"))
    ids = [shop.query_ids[int(row)].as_py() for row in known.queries]
    expected = dict(zip(ids, known.values["nDCG@10"].tolist(), strict=True))
    told = {one["query_id"]: one for one in found["queries"]}
    for name, value in expected.items():
        assert told[name]["measures"]["nDCG@10"] == pytest.approx(value, abs=0.05)
    apart = [abs(one["difference"]) for one in found["queries"] if one["difference"] is not None]
    assert apart == sorted(apart, reverse=True)
    assert client.get("/v1/queries", params={"measure": "luck"}).status_code == 400


def test_a_judged_query_is_measured_where_it_is_asked(client, shop):
    text = shop.query_texts[int(shop.queries_in("test")[0])].as_py()
    told = client.post("/v1/search", json={"query": text, "judged": True, "k": 100}).json()
    assert set(told["measures"]) == {
        "Recall@5",
        "Recall@10",
        "Recall@100",
        "nDCG@10",
        "nDCG@100",
        "MRR@100",
    }
    grades = [one["grade"] for one in told["hits"]]
    if told["measures"]["Recall@100"]:
        assert any(grade for grade in grades if grade is not None)
    ten = client.post("/v1/search", json={"query": text, "judged": True, "k": 10}).json()
    assert set(ten["measures"]) == {"Recall@5", "Recall@10", "nDCG@10"}
    assert ten["measures"]["nDCG@10"] == pytest.approx(told["measures"]["nDCG@10"], abs=0.05)


def test_probes_and_counts(client):
    client.post("/v1/search", json={"query": "mug"})
    assert client.get("/livez").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok"}
    text = client.get("/metrics").text
    for name in ("rars_requests_total", "rars_stage_seconds_sum", "rars_batch_rows_sum"):
        assert name in text
    assert 'rars_catalog_version{system="run"} 1.0' in text
