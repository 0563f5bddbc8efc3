"""A server from its settings: systems opened, a port bound, and an orderly end.

Owns: the order in which things start and stop. What a person got wrong (a run, a key file, a port) is said
before anything listens. On SIGTERM or Ctrl-C nobody new is let in, what was begun is answered, and the
process ends. Ignores what is served.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import uvicorn

from rars.disk import reason
from rars.errors import RarsError
from rars.progress import SILENT, Tell
from rars.scale import threads
from rars.serving.app import create_app
from rars.serving.engine import Engine
from rars.serving.keys import Keys
from rars.serving.logs import Handler, Log
from rars.serving.metrics import Metrics
from rars.serving.replicas import supervise
from rars.serving.settings import Settings
from rars.serving.systems import Systems

_TURN = 0.001
"""Seconds after which the searching thread lets the others have a turn; Python's own 5 ms are long here."""


def serve(
    named: Sequence[str],
    settings: Settings,
    *,
    ready: Callable[[str], None] = lambda address: None,
    tell: Tell = SILENT,
) -> None:
    """Serve runs until somebody stops it; ``ready`` is called with the address."""
    keys = Keys() if settings.keys is None else Keys.read(settings.keys)
    if not settings.local and not keys.known:
        raise RarsError(
            f"--host {settings.host} can be reached from other machines: give --keys, a file made by "
            "rars keys, or leave --host out."
        )
    if settings.engine == "ray":
        from rars.serving.on_ray import serve_on_ray

        serve_on_ray(named, settings, ready=ready)
        return
    with bound(settings) as door:
        answers = partial(_at, door, ready)
        if settings.replicas > 1:
            supervise(named, settings, door, ready=answers, tell=tell)
        else:
            serve_on(door, named, settings, ready=answers, tell=tell)


def _at(door: socket.socket, ready: Callable[[str], None]) -> None:
    ready(address(door))


def serve_on(
    door: socket.socket,
    named: Sequence[str],
    settings: Settings,
    *,
    ready: Callable[[], None],
    replica: int | None = None,
    tell: Tell = SILENT,
) -> None:
    """Serve runs on a bound socket; ``replica`` is the number among those that share it."""
    keys = Keys() if settings.keys is None else Keys.read(settings.keys)
    server = Server(engine_of(named, settings, replica, tell=tell), settings, keys)
    server.ready = ready
    server.run([door])


def engine_of(
    named: Sequence[str], settings: Settings, replica: int | str | None, *, tell: Tell = SILENT
) -> Engine:
    """Runs opened, in a process that is theirs; ``replica`` is what their series are called by."""
    threads.settle(settings.threads)
    sys.setswitchinterval(_TURN)
    systems = Systems.open(named, narrow=settings.narrow, keep=settings.open_versions, tell=tell)
    return Engine(systems, settings, Metrics(replica))


class Server(uvicorn.Server):
    """The library's server, with our log and our end."""

    def __init__(
        self, engine: Engine, settings: Settings, keys: Keys, log: Log | None = None
    ) -> None:
        log = log or Log(on=settings.log)
        app = create_app(engine, keys=keys, log=log)
        _library_logs(log)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
                backlog=2_048,
                timeout_keep_alive=65,  # longer than balancers keep theirs: no request meets a closing line
            )
        )
        self.ready: Callable[[], None] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say so when everything answers."""
        await super().startup(sockets)
        if self.started:
            self.ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first signal lets everybody finish, a second one nobody; neither is passed on."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def bound(settings: Settings) -> Iterator[socket.socket]:
    """A socket on the address of the settings; one that cannot be had is one sentence."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named by its protocol: asyncio sends at once on such sockets alone, and head and body of an answer are
    # two writes. On another the body would wait for the client to acknowledge the head: 40 ms an answer.
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((settings.host, settings.port))
        except OSError as error:
            where = f"{settings.host}, port {settings.port}"
            raise RarsError(f"The server cannot listen on {where}: {reason(error)}.") from error
        yield door
    finally:
        door.close()


def address(door: socket.socket) -> str:
    """Where a browser finds a socket."""
    host, port = door.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def _library_logs(log: Log) -> None:
    for name in ("uvicorn", "uvicorn.error", "asyncio", "fastapi"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Handler(log)], False
