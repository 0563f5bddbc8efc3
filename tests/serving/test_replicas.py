"""Replicas answer as one process does, see each other's changes, and are replaced when they are killed."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import httpx
import pytest

from rars.errors import RarsError
from rars.serving.judgments import JudgmentLog
from rars.serving.keys import Keys
from rars.serving.schemas import Judgment
from rars.serving.server import serve
from rars.serving.settings import Settings
from tests.serving.running import awaited
from tests.serving.test_process import process

ASKED = ("black bottle 0.75 l", "running shoes", "gift for my sister")


class Asking:
    """Each question on a connection of its own: whoever takes it answers."""

    def __init__(self, url, key):
        self._url, self._more = url, {"headers": {"X-API-Key": key}, "timeout": 60}

    def get(self, path, **given):
        return httpx.get(f"{self._url}{path}", **self._more, **given)

    def post(self, path, **given):
        return httpx.post(f"{self._url}{path}", **self._more, **given)


def who(server):
    """The number of the replica that answers."""
    found = re.search(r'replica="(\d+)"', server.get("/metrics").text)
    return int(found[1])


def until(true, seconds=60):
    """Wait for something that happens by itself."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def hits(told):
    return [(one["item_id"], one["score"]) for one in told.json()["hits"]]


def children(pid):
    """The processes that a process has started."""
    listed = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        listed += [int(one) for one in (task / "children").read_text().split()]
    return listed


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_replicas_are_one_server(run, client, tmp_path):
    known, key = Keys().added("office", "admin")
    known.save(tmp_path / "keys.json")
    given = {"keys": tmp_path / "keys.json", "state": tmp_path / "state", "poll_seconds": 0.2}
    given["deadline_ms"] = 60_000
    with process(run, replicas=2, **given) as (server, url, lines):
        both = Asking(url, key)
        until(lambda: {who(both) for _ in range(8)} == {1, 2})
        for text in ASKED:
            alone = client.get("/v1/search", params={"query": text, "k": 20})
            for _ in range(4):
                assert hits(both.get("/v1/search", params={"query": text, "k": 20})) == hits(alone)
        row = '{"id": "NEW", "title": "Zebra theremin"}'
        told = both.post("/v1/catalog", content=row).json()
        assert told["added"] == 1
        until(lambda: all(both.get("/v1/items/NEW").status_code == 200 for _ in range(8)))
        kept = [f"J{n}" for n in range(8)]
        for name in kept:
            one = {"query": "mug", "item_id": name, "label": "S", "user": "me"}
            told = both.post("/v1/judgments", json={"judgments": [one]})
            assert told.status_code == 201
        for _ in range(6):
            told = both.get("/v1/judgments").json()["judgments"]
            assert {one["item_id"] for one in told} == set(kept)
        first = children(server.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(children(server.pid)) == 2 and first[0] not in children(server.pid))
        assert both.get("/v1/items/NEW").status_code == 200
        until(lambda: {who(both) for _ in range(8)} == {1, 2})
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(60) == 0
    assert "was ended by SIGKILL; another one takes its place" in "".join(lines)
    assert "Traceback" not in "".join(lines)
    log = JudgmentLog(tmp_path / "state")
    assert {one.item_id for one in log.standing()} == set(kept)
    log.close()


def test_a_mistake_is_said_once_and_nothing_is_left_running(tmp_path):
    settings = Settings(port=0, state=tmp_path, replicas=3)
    with pytest.raises(RarsError, match="nowhere is not a rars run"):
        serve(["nowhere"], settings, ready=lambda address: pytest.fail("it listens"))
    with pytest.raises(RarsError, match="--poll-seconds 0 would leave"):
        Settings(replicas=2, poll_seconds=0)


def judgment(item):
    return Judgment(query="mug", item_id=item, grade=2, user="me")


def test_logs_of_replicas_tell_the_same_and_a_single_server_is_refused(tmp_path):
    one, two = (JudgmentLog(tmp_path, shared=True) for _ in range(2))
    with pytest.raises(RarsError, match="is in use by another server"):
        JudgmentLog(tmp_path)
    assert awaited(one.append([judgment("a")])) == 1
    assert awaited(two.append([judgment("b"), judgment("c")])) == 3
    # Another was killed in the midst of a line, which was never acknowledged.
    with one.path.open("ab") as stream:
        stream.write(b'{"at": "')
    assert {kept.item_id for kept in two.standing()} == {"a", "b", "c"}
    assert awaited(one.append([judgment("d")])) == 4
    for log in (one, two):
        assert [kept.item_id for kept in log.standing()] == ["a", "b", "c", "d"]
        log.close()
    alone = JudgmentLog(tmp_path)
    assert alone.total == 4
    alone.close()
