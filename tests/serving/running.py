"""A real server on this machine, in a thread of the test."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from rars.serving.engine import Engine
from rars.serving.keys import Keys
from rars.serving.logs import Log
from rars.serving.server import Server, address, bound
from rars.serving.settings import Settings
from rars.serving.systems import Systems


def awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """Run it in a loop of its own thread: a browser's tests may have left a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@dataclass
class Running:
    url: str
    engine: Engine
    log: io.StringIO
    client: httpx.Client


@contextmanager
def running(*runs: str | Path, state: Path, keys: Keys | None = None, **given):
    settings = Settings(port=0, state=state, **{"poll_seconds": 0.1, **given})
    log = io.StringIO()
    with bound(settings) as door:
        engine = Engine(Systems.open(list(map(str, runs)), narrow=settings.narrow), settings)
        server = Server(engine, settings, keys or Keys(), Log(log))
        ready = threading.Event()
        server.ready = ready.set
        thread = threading.Thread(target=server.run, args=([door],))
        thread.start()
        assert ready.wait(60)
        url = address(door)
        try:
            with httpx.Client(base_url=url, timeout=60) as client:
                yield Running(url, engine, log, client)
        finally:
            server.should_exit = True
            thread.join(60)
