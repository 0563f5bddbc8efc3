"""Replicas on a Ray cluster answer as one process does, and one that is killed is replaced."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
from pathlib import Path

import pytest

from rars.errors import RarsError
from rars.serving.keys import Keys
from rars.serving.on_ray import _why
from rars.serving.settings import Settings
from tests.serving.test_process import process
from tests.serving.test_replicas import ASKED, Asking, hits, until

NEEDS_RAY_SERVE = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("ray", "grpc", "aiohttp")),
    reason="Ray Serve is not installed: pip install 'rars[ray-serve]'",
)


def replicas():
    """The processes of replicas, by what Ray calls them."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            said = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if said.startswith(b"ray::ServeReplica:rars"):
            found.append(int(entry.name))
    return found


def who(server):
    """Which replica answers."""
    return re.search(r'replica="(\w+)"', server.get("/metrics").text)[1]


@NEEDS_RAY_SERVE
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_replicas_on_a_cluster_are_one_server(run, client, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray keeps its token
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    known, key = Keys().added("office", "admin")
    known.save(tmp_path / "keys.json")
    given = {"keys": tmp_path / "keys.json", "state": tmp_path / "state", "poll_seconds": 0.2}
    given |= {"deadline_ms": 60_000, "engine": "ray", "replicas": 2}
    with process(run, **given) as (server, url, lines):
        assert url, "".join(lines)
        both = Asking(url, key)
        until(lambda: len({who(both) for _ in range(8)}) == 2)
        for text in ASKED:
            alone = client.get("/v1/search", params={"query": text, "k": 20})
            for _ in range(4):
                assert hits(both.get("/v1/search", params={"query": text, "k": 20})) == hits(alone)
        row = '{"id": "NEW", "title": "Zebra theremin"}'
        assert both.post("/v1/catalog", content=row).json()["added"] == 1
        until(lambda: all(both.get("/v1/items/NEW").status_code == 200 for _ in range(8)))
        before, first = {who(both) for _ in range(16)}, replicas()
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len({who(both) for _ in range(8)} - before) == 1, seconds=90)
        assert both.get("/v1/items/NEW").status_code == 200
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(60) == 0
        until(lambda: not replicas())
    assert "Traceback" not in "".join(lines)


@NEEDS_RAY_SERVE
def test_what_is_wrong_with_a_run_is_one_sentence(run, tmp_path, monkeypatch):
    """Found before a cluster is asked for, or told by a replica that could not open it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    [weights] = (run / "model").glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1])
    for name, problem in (("nowhere", "nowhere is not a rars run"), (run, "bytes, not")):
        with process(name, engine="ray", state=tmp_path) as (server, url, lines):
            assert url is None
            assert server.wait(60) == 2
        said = "".join(lines)
        assert problem in said
        assert "Traceback" not in said


def test_an_engine_that_there_is_not_is_refused():
    with pytest.raises(RarsError, match="--engine 'kubernetes' is unknown; choose local or ray"):
        Settings(engine="kubernetes")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("a\n rars.errors.RarsError: x is not a rars run.\n b", "x is not a rars run."),
        ("It failed.\nmore", "Ray Serve could not start the replicas: It failed."),
    ],
)
def test_what_a_replica_says_is_found_in_what_ray_says(said, told):
    assert _why(said) == told
