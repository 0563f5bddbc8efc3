"""``rars serve`` as a process: killed, it loses nothing that it acknowledged; asked to stop, it finishes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from rars.cli import app
from rars.errors import RarsError
from rars.search.retriever import Retriever
from rars.serving.judgments import JudgmentLog
from rars.serving.keys import Keys
from rars.serving.server import bound, serve
from rars.serving.settings import Settings, option, variable


@contextmanager
def process(*words, **environment):
    """A server on a free port: the process, its address, and the lines it wrote."""
    names = {f"RARS_SERVE_{name.upper()}": str(value) for name, value in environment.items()}
    started = subprocess.Popen(
        [sys.executable, "-m", "rars", "serve", *map(str, words)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "RARS_SERVE_PORT": "0"} | names,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines: list[str] = []
    ready = threading.Event()

    def read():
        for line in started.stderr:
            lines.append(line)
            if "Open http" in line:
                ready.set()
        ready.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert ready.wait(120)
        found = re.search(r"http://[\d.:]+", "".join(lines))
        yield started, found and found[0], lines
    finally:
        if started.poll() is None:
            started.kill()
        started.wait(60)
        reader.join(60)
        started.stderr.close()


def test_killed_under_load_nothing_acknowledged_is_lost_and_stopped_it_finishes(run, tmp_path):
    known, key = Keys().added("office", "admin")
    known.save(tmp_path / "keys.json")
    state = tmp_path / "state"
    given = {"keys": tmp_path / "keys.json", "state": state, "deadline_ms": 60_000}
    graded: list[str] = []
    changed: list[str] = []
    with process(run, **given) as (server, url, _):
        threads = [
            threading.Thread(target=_grade, args=(url, key, number, graded)) for number in range(3)
        ]
        threads.append(threading.Thread(target=_change, args=(url, key, changed)))
        for one in threads:
            one.start()
        while len(changed) < 2 or len(graded) < 20:
            assert server.poll() is None
            time.sleep(0.05)
        os.kill(server.pid, signal.SIGKILL)
        for one in threads:
            one.join()
    log = JudgmentLog(state)
    assert set(graded) <= {one.item_id for one in log.standing()}
    log.close()
    assert set(changed) <= set(Retriever.load(run).catalogue.ids.to_pylist())
    with process(run, **given) as (server, url, lines):
        with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=60) as client:
            told = client.get("/v1/judgments").json()
            assert set(graded) <= {one["item_id"] for one in told["judgments"]}
            for name in changed:
                assert client.get(f"/v1/items/{name}").status_code == 200
            found: list[int] = []

            def ask():
                found.append(client.get("/v1/search?query=mug&exact=true").status_code)

            asking = threading.Thread(target=ask)
            asking.start()
            while "queries_sum 0" in client.get("/metrics").text and not found:
                pass
            os.kill(server.pid, signal.SIGTERM)
            asking.join()
        assert server.wait(60) == 0
        assert found == [200]
    written = [json.loads(line) for line in lines if line.startswith("{")]
    assert all(one["event"] == "request" for one in written)
    assert key not in "".join(lines)
    assert "Traceback" not in "".join(lines)


def _grade(url, key, number, graded):
    with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=60) as client:
        for at in range(100_000):
            name = f"G{number}-{at}"
            judgment = {"query": "mug", "item_id": name, "label": "S", "user": str(number)}
            try:
                told = client.post("/v1/judgments", json={"judgments": [judgment]})
            except httpx.HTTPError:
                return
            if told.status_code == 201:
                graded.append(name)


def _change(url, key, changed):
    with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=60) as client:
        for at in range(100_000):
            row = json.dumps({"id": f"C{at}", "title": f"Zebra mug {at}"})
            try:
                told = client.post("/v1/catalog", content=row)
            except httpx.HTTPError:
                return
            if told.json()["version"] is not None:
                changed.append(f"C{at}")


@pytest.mark.parametrize(
    ("runs", "given", "said"),
    [
        (["nowhere"], {}, "nowhere"),
        (["bm25"], {}, "Name at least one run folder"),
        (["RUN", "RUN"], {}, "Two systems have the same name"),
        (["RUN"], {"host": "0.0.0.0"}, "give --keys"),
        (["RUN"], {"keys": Path("missing.json")}, "missing.json does not exist"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_listens(trained, tmp_path, runs, given, said):
    named = [str(trained) if one == "RUN" else one for one in runs]
    settings = Settings(**{"port": 0, "state": tmp_path, **given})
    with pytest.raises(RarsError, match=re.escape(said)):
        serve(named, settings, ready=lambda address: pytest.fail("it listens"))


def test_a_port_that_is_taken_is_one_sentence(trained, tmp_path):
    with bound(Settings(port=0)) as door:
        door.listen()
        taken = door.getsockname()[1]
        with pytest.raises(RarsError, match=f"cannot listen on 127.0.0.1, port {taken}"):
            serve([str(trained)], Settings(port=taken, state=tmp_path))


def test_every_setting_is_an_option_and_an_environment_variable():
    command = typer.main.get_command(app).commands["serve"]
    options = {one.name: one for one in command.params}
    for one in fields(Settings):
        assert option(one.name) in options[one.name].opts
        assert options[one.name].envvar == variable(one.name)
    assert options["runs"].envvar == "RARS_SERVE_RUNS"


def test_keys_are_made_shown_once_listed_and_removed(tmp_path):
    path = str(tmp_path / "keys.json")
    ask = CliRunner().invoke
    made = ask(app, ["keys", "add", path, "office", "--role", "admin", "--json"])
    key = json.loads(made.stdout)["key"]
    assert Keys.read(Path(path)).who(key).role == "admin"
    listed = ask(app, ["keys", "list", path, "--json"])
    assert json.loads(listed.stdout)["keys"] == [{"name": "office", "role": "admin"}]
    assert key not in listed.stdout
    assert ask(app, ["keys", "remove", path, "office"]).exit_code == 0
    assert Keys.read(Path(path)).who(key) is None
