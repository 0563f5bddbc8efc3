"""Who may come in, how large and how slow a request may be, and what is written down of it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from rars.errors import RarsError
from rars.serving.keys import Keys
from rars.serving.server import bound
from rars.serving.settings import Settings
from tests.serving.running import awaited, running


@pytest.fixture(scope="module")
def keyed(trained, tmp_path_factory):
    """A server with keys, and the keys."""
    known, search = Keys().added("shop", "search")
    known, admin = known.added("office", "admin")
    place = tmp_path_factory.mktemp("keyed")
    limits = {"body_bytes": 2_000, "catalog_bytes": 50_000, "body_seconds": 1.0}
    with running(trained, state=place, keys=known, deadline_ms=60_000, **limits) as found:
        yield found, {"search": search, "admin": admin}


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@contextmanager
def sending(server, key, *, length):
    """A connection on which the head of a search was sent, and none of its body."""
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port), timeout=20) as line:
        line.sendall(
            b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (key.encode(), length)
        )
        yield line


def everything(line):
    """What comes until the server closes."""
    return b"".join(iter(lambda: line.recv(4_000), b""))


def test_without_a_key_nobody_searches_and_probes_answer(keyed):
    server, _ = keyed
    for path in ("/v1/search?query=mug", "/v1/systems", "/v1/judgments", "/v1/nothing"):
        found = server.client.get(path)
        assert found.status_code == 401, path
        assert found.headers["www-authenticate"] == "Bearer"
    for path in ("/livez", "/readyz", "/metrics", "/openapi.json"):
        assert server.client.get(path).status_code == 200


def test_each_key_allows_what_its_role_says(keyed):
    server, keys = keyed
    for key in keys.values():
        for headers in (bearer(key), {"X-API-Key": key}):
            found = server.client.get("/v1/search?query=mug", headers=headers)
            assert found.status_code == 200
    refused = server.client.post("/v1/catalog", content=b"{}", headers=bearer(keys["search"]))
    assert refused.status_code == 403
    allowed = server.client.post("/v1/catalog", content=b"{}", headers=bearer(keys["admin"]))
    assert allowed.json()["rows"][0]["problem"] == "empty id"
    for wrong in (keys["search"][:-1], keys["search"] + "x", "", "é", "x" * 5_000):
        given = {"X-API-Key": wrong.encode("utf-8")}
        assert server.client.get("/v1/systems", headers=given).status_code == 401


def test_without_any_key_the_catalogue_cannot_be_changed(client):
    found = client.post("/v1/catalog", content=b'{"id": "x", "title": "X"}')
    assert found.status_code == 403
    assert client.post("/v1/catalog/rollback", json={}).status_code == 403


def test_a_key_is_in_no_log_and_in_no_answer(keyed):
    server, keys = keyed
    secret = keys["admin"]
    places = [
        server.client.get(f"/v1/search?query={secret}&key={secret}"),
        server.client.get(f"/v1/items/{secret}", headers=bearer(secret)),
        server.client.get(f"/{secret}", headers={"X-Request-ID": secret}),
        server.client.post("/v1/search", json={secret: 1}, headers={"Cookie": secret}),
        server.client.get("/v1/systems", headers={"Authorization": f"Basic {secret}"}),
        server.client.get("/v1/systems", headers=bearer(f"{secret}x")),
        server.client.request(secret[:20].upper(), "/v1/systems"),
    ]
    assert all(one.status_code < 500 for one in places)
    assert secret not in server.log.getvalue()
    assert secret not in server.client.get("/metrics").text


def test_keys_are_kept_as_digests_and_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "keys.json"
    made, key = Keys().added("shop", "search")
    made.save(path)
    assert key not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    assert Keys.read(path).who(key).name == "shop"
    with pytest.raises(RarsError, match="already"):
        made.added("shop", "admin")
    assert made.without("shop").known == ()
    path.write_text('{"keys": [{"name": "x", "role": "king", "digest": "0"}]}')
    with pytest.raises(RarsError, match="no file of keys"):
        Keys.read(path)


def test_a_large_request_is_refused_while_it_is_read(keyed):
    server, keys = keyed
    headers = bearer(keys["search"])
    said = server.client.post("/v1/search", content=b"x" * 2_001, headers=headers)
    assert said.status_code == 413
    pieces = 0

    def endless():
        nonlocal pieces
        for _ in range(100_000):
            pieces += 1
            yield b"x" * 1_000

    try:
        found = server.client.post("/v1/search", content=endless(), headers=headers)
        assert found.status_code == 413
    except (httpx.WriteError, httpx.ReadError):  # the server had answered and gone
        pass
    assert pieces < 100_000
    row = b'{"id": "", "title": "' + b"x" * 3_000 + b'"}'
    large = server.client.post("/v1/catalog", content=row, headers=bearer(keys["admin"]))
    assert large.status_code == 200


def test_who_still_sends_when_refused_reads_the_answer_all_the_same(keyed):
    """A connection that is closed is reset by what comes after, and the answer may go with it."""
    server, keys = keyed
    with sending(server, keys["search"], length=40_000) as line:
        for _ in range(4):
            time.sleep(0.2)  # it was answered long ago
            line.sendall(b"x" * 10_000)
        begun = time.perf_counter()
        assert everything(line).startswith(b"HTTP/1.1 413 ")
        assert time.perf_counter() - begun < 1.0  # all has come: nobody waits for more


def test_who_never_sends_what_was_refused_is_not_waited_for_long(keyed):
    server, keys = keyed
    with sending(server, keys["search"], length=50_000) as line:
        assert everything(line).startswith(b"HTTP/1.1 413 ")


def test_answers_are_sent_at_once():
    """Head and body are two writes: the second must not wait for the first to be acknowledged (40 ms)."""

    async def accepted(door):
        found = asyncio.get_running_loop().create_future()
        server = await asyncio.start_server(lambda _, writer: found.set_result(writer), sock=door)
        async with server:
            _, ours = await asyncio.open_connection(*door.getsockname())
            theirs = (await found).get_extra_info("socket")
            option = theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            ours.close()
            (await found).close()
        return option

    with bound(Settings(port=0)) as door:
        assert awaited(accepted(door))


def test_a_slow_request_is_given_up(keyed):
    server, keys = keyed
    with sending(server, keys["search"], length=100) as line:
        line.sendall(b"{")
        assert everything(line).startswith(b"HTTP/1.1 408 ")


def test_pages_of_other_sites_and_names_of_other_hosts_are_refused(client, server):
    asked = {"query": "mug"}
    found = client.post("/v1/search", json=asked, headers={"Origin": "https://example.com"})
    assert found.status_code == 403
    assert "access-control-allow-origin" not in found.headers
    own = client.post("/v1/search", json=asked, headers={"Origin": server.url})
    assert own.status_code == 200
    host = client.get("/v1/systems", headers={"Host": "rebound.example.com"})
    assert host.status_code == 403


def test_a_named_origin_may_call(trained, tmp_path):
    origin = {"Origin": "https://shop.example.com"}
    with running(trained, state=tmp_path, cors=("https://shop.example.com",)) as server:
        before = server.client.options(
            "/v1/search",
            headers={
                **origin,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type,x-api-key",
            },
        )
        assert before.status_code == 204
        assert before.headers["access-control-allow-origin"] == origin["Origin"]
        assert "x-api-key" in before.headers["access-control-allow-headers"]
        found = server.client.get("/v1/systems", headers=origin)
        assert found.headers["access-control-allow-origin"] == origin["Origin"]
        other = server.client.options("/v1/search", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_a_request_has_an_id_and_one_line(client, server):
    mine = client.get("/v1/systems", headers={"X-Request-ID": "my-7"})
    assert mine.headers["x-request-id"] == mine.json()["request_id"] == "my-7"
    odd = client.get("/v1/systems", headers={"X-Request-ID": 'a"b c'})
    assert odd.headers["x-request-id"] not in ("", 'a"b c')
    lines = [json.loads(one) for one in server.log.getvalue().splitlines()]
    [line] = [one for one in lines if one.get("request_id") == "my-7"]
    assert (line["route"], line["method"], line["status"]) == ("/v1/systems", "GET", 200)


def test_probes_answer_while_something_is_searched(client, server):
    """The searching thread is held: probes and counts must not wait for it."""
    work, go, begun = server.engine.batcher._work, threading.Event(), threading.Event()

    def held(target, asked, *, narrow):
        begun.set()
        assert go.wait(30)
        return work(target, asked, narrow=narrow)

    server.engine.batcher._work = held
    try:
        asking = threading.Thread(target=client.get, args=("/v1/search?query=mug",))
        asking.start()
        assert begun.wait(30)
        with httpx.Client(base_url=server.url, timeout=30) as other:
            assert other.get("/livez").status_code == 200
            assert "rars_queue_queries" in other.get("/metrics").text
    finally:
        server.engine.batcher._work = work
        go.set()
        asking.join()


def test_under_load_answers_are_marked_and_then_refused(trained, tmp_path):
    """With room for four queries: some narrower and marked, some refused with a time to come again."""
    given = {"queue_rows": 400, "wait_ms": 50, "degrade_at": 0.5, "client_limit": 0}
    with running(trained, state=tmp_path, deadline_ms=60_000, **given) as server:
        narrow = server.engine.systems.now().narrow
        found = []

        def ask():
            with httpx.Client(base_url=server.url, timeout=60) as client:
                found.append(client.post("/v1/search", json={"query": "black mug"}))

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert {one.status_code for one in found} <= {200, 429}
        refused = [one for one in found if one.status_code == 429]
        assert refused
        assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
        known = [hit.item_id for hit in narrow.search("black mug")]
        marked = [one.json() for one in found if one.status_code == 200 and one.json()["degraded"]]
        assert marked
        for one in marked:
            assert [hit["item_id"] for hit in one["hits"]] == known
            assert one["width"] == narrow.settings.width
        time.sleep(0.2)
        after = server.client.post("/v1/search", json={"query": "black mug"}).json()
        assert after["degraded"] is False


def test_a_setting_out_of_bounds_is_one_sentence():
    with pytest.raises(RarsError, match="--port must be between 0 and 65535, not 70000"):
        Settings(port=70_000)
