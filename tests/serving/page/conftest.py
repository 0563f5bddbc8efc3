"""A real server on loopback over a tiny shop, and a real Chromium to look at it."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn

from rars.pipeline import apply
from rars.serving.app import create_app
from rars.serving.engine import Engine
from rars.serving.keys import Key, Keys
from rars.serving.settings import Settings
from rars.serving.systems import Systems

HOSTILE = '<img src=x onerror="window.hurt=1"> ' + "A very long title " * 20
"""A title that would do harm if it were not escaped."""
RIGHT_TO_LEFT = "كوب قهوة أسود كبير"


@dataclass(frozen=True)
class Served:
    """A running server."""

    address: str
    engine: Engine
    run: Path


@contextlib.contextmanager
def serving(named, settings):
    engine = Engine(Systems.open(named), settings)
    config = uvicorn.Config(create_app(engine), host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not (server.started and engine.status == "ok"):
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < until, "the server did not start in a minute"
        time.sleep(0.02)
    [socket] = server.servers[0].sockets
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}", engine
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="session")
def shop_run(trained, tmp_path_factory):
    """A run with two versions of its catalogue; the second has two strange items more."""
    run = shutil.copytree(trained, tmp_path_factory.mktemp("page") / "run")
    rows = [
        {"id": "X<1>", "title": HOSTILE, "brand": 'The "Brand" & Co', "color": "black"},
        {"id": "X2", "title": RIGHT_TO_LEFT, "color": "black"},
    ]
    apply(run, rows)
    return run


@pytest.fixture(scope="session")
def served(shop_run, tmp_path_factory):
    settings = Settings(
        state=tmp_path_factory.mktemp("state"), log=False, poll_seconds=0, deadline_ms=60_000
    )
    with serving([str(shop_run), "bm25"], settings) as (address, engine):
        yield Served(address, engine, shop_run)


KEY = "rars_secret"


@pytest.fixture(scope="session")
def locked(shop_run, tmp_path_factory):
    """A server that asks for a key."""
    folder = tmp_path_factory.mktemp("locked")
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    Keys((Key("shop", "search", digest),)).save(folder / "keys.json")
    settings = Settings(
        state=folder, log=False, poll_seconds=0, deadline_ms=60_000, keys=folder / "keys.json"
    )
    with serving([str(shop_run)], settings) as (address, engine):
        yield Served(address, engine, shop_run)


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests; a skip that says why where there is none."""
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def look(chromium, served):
    """Open an address in a fresh browser; an error in a script, or a breach of the policy, fails the test."""
    opened, wrong = [], []

    def at(path, *, wait="html.ready", **options):
        context = chromium.new_context(base_url=served.address, **options)
        context.set_default_timeout(8_000)
        opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda said: wrong.append(said.text) if "Content Security" in said.text else None,
        )
        page.goto(path)
        if wait:
            page.wait_for_selector(wait)
        return page

    yield at
    for context in opened:
        context.close()
    assert wrong == []
