"""The catalogue over HTTP: rows with a status, versions, and a switch that nobody notices."""

from __future__ import annotations

import json
import threading

import httpx
import pytest

from rars import locks
from rars.pipeline import catalogue
from rars.search.retriever import Retriever
from rars.serving.keys import Keys
from tests.serving.running import running


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def mug(name, **more):
    return {"id": name, "title": f"Zebra mug {name}", "brand": "Zebra", "color": "black", **more}


@pytest.fixture
def office(run, tmp_path):
    """A server whose catalogue may be changed; its client has the key."""
    known, key = Keys().added("office", "admin")
    with running(run, state=tmp_path / "state", keys=known, keep=2, deadline_ms=60_000) as server:
        server.client.headers["X-API-Key"] = key
        yield server


def found(server, **asked):
    told = server.client.post("/v1/search", json={"query": "zebra mug", "rule": "all", **asked})
    assert told.status_code == 200, told.text
    return [hit["item_id"] for hit in told.json()["hits"]], told.json()["version"]


def test_rows_come_and_go_and_each_has_a_status(office, run):
    items = len(Retriever.load(run))
    first = office.client.post(
        "/v1/catalog",
        content=lines(mug("Z1"), mug("Z2"), {"id": "Z3"}, {"id": "?", "delete": True}) + b"no\n",
    ).json()
    assert [one["status"] for one in first["rows"]] == ["added", "added"] + 3 * ["refused"]
    assert (first["version"], first["items"], first["added"]) == ("v000002", items + 2, 2)
    names, version = found(office, k=2)
    assert (set(names), version) == ({"Z1", "Z2"}, "v000002")
    second = office.client.post(
        "/v1/catalog", content=lines(mug("Z1", color="red"), {"id": "Z2", "delete": True})
    ).json()
    assert [one["status"] for one in second["rows"]] == ["updated", "removed"]
    assert found(office, filter="brand = Zebra") == (["Z1"], "v000003")
    assert found(office, filter="brand = Zebra AND color = red", k=3)[0] == ["Z1"]
    # What was acknowledged is on disk: another process finds it.
    assert len(Retriever.load(run)) == items + 1


def test_all_or_nothing(office):
    refused = office.client.post("/v1/catalog?whole=true", content=lines(mug("Z1"), {"id": "Z2"}))
    told = refused.json()
    assert told["version"] is None
    assert [one["status"] for one in told["rows"]] == ["not applied", "refused"]
    assert found(office)[1] == "v000001"
    assert office.client.post("/v1/catalog", content=b"\n\n").status_code == 400


def test_versions_can_be_compared_asked_and_gone_back_to(office):
    for name in ("Z1", "Z2", "Z3"):
        office.client.post("/v1/catalog", content=lines(mug(name)))
    told = office.client.get("/v1/catalog/versions").json()
    assert told["current"] == "v000004"
    # The policy of this server: two are kept beside the one that is searched.
    assert [one["version"] for one in told["versions"]] == ["v000004", "v000003", "v000002"]
    asked = {"old": "v000002", "queries": ["zebra mug"], "k": 5, "rule": "all"}
    diff = office.client.post("/v1/catalog/diff", json=asked).json()
    assert {one["item_id"] for one in diff["added"]} == {"Z2", "Z3"}
    assert diff["n_rankings"] == 1
    older, version = found(office, version="v000002", filter="brand = Zebra")
    assert (older, version) == (["Z1"], "v000002")
    back = office.client.post("/v1/catalog/rollback", json={"version": "v000002"}).json()
    assert back["version"] == "v000002"
    assert found(office, filter="brand = Zebra") == (["Z1"], "v000002")
    gone = office.client.post("/v1/catalog/rollback", json={"version": "v000001"})
    assert gone.status_code == 400
    assert str(office.engine.systems.now().run.folder) not in gone.text


def test_a_change_by_another_process_is_searched_soon(office, run, tmp_path):
    rows = tmp_path / "new.jsonl"
    rows.write_bytes(lines(mug("Z9")))
    catalogue.add(run, rows)
    for _ in range(600):
        if office.client.get("/v1/systems").json()["systems"][0]["version"] == "v000002":
            break
    assert found(office, filter="brand = Zebra") == (["Z9"], "v000002")


def test_a_catalogue_that_another_process_changes_now_is_busy(office, run, monkeypatch):
    with locks.held(run):
        monkeypatch.setattr(locks, "_mine", {})  # as another process would see it
        told = office.client.post("/v1/catalog", content=lines(mug("Z1")))
        monkeypatch.undo()
    assert told.status_code == 409
    assert "is being changed by process" in told.json()["error"]["message"]


def test_nobody_notices_a_switch_and_nothing_is_answered_from_a_mixture(office):
    """Each version has one zebra more: an answer must hold exactly those of the version it names."""
    problems: list[str] = []
    seen: set[str] = set()
    done = threading.Event()

    def ask():
        with httpx.Client(base_url=office.url, headers=office.client.headers, timeout=60) as client:
            while not done.is_set():
                asked = {"query": "zebra mug", "filter": "brand = Zebra OR id = none", "k": 50}
                told = client.post("/v1/search", json=asked)
                if told.status_code != 200:
                    problems.append(told.text)
                    continue
                answer = told.json()
                wanted = {f"Z{n}" for n in range(2, int(answer["version"][1:]) + 1)}
                seen.add(answer["version"])
                if {hit["item_id"] for hit in answer["hits"]} != wanted:
                    problems.append(f"{answer['version']}: {answer['hits']}")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for number in range(2, 7):
        office.client.post("/v1/catalog", content=lines(mug(f"Z{number}")))
    done.set()
    for one in threads:
        one.join()
    assert not problems
    assert len(seen) > 1
    weights = office.engine.systems.now().system.ready.model
    office.client.post("/v1/catalog/rollback", json={})
    assert office.engine.systems.now().system.ready.model is weights
