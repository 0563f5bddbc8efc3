"""Several processes behind one port.

Owns: the replicas of a server: starting them, starting another in the place of one that died, and an orderly
end. Each is a whole server of its own; they share the listening socket, so the next connection goes to
whoever takes it, and none is lost while one of them lives. Ignores what is served.

What one changes the others see: an index version by its pointer on disk, which each watches
(``--poll-seconds``), and judgments by their one file (``rars.serving.judgments``).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rars.errors import RarsError
from rars.progress import SILENT, Tell
from rars.serving.settings import Settings

_TICK = 0.1
_YOUNG = 30.0
"""Seconds in which a replica that dies was never of use."""
_DEATHS = 3
"""Replicas that may die young, one after the other, before the server is given up."""


def supervise(
    named: Sequence[str],
    settings: Settings,
    door: socket.socket,
    *,
    ready: Callable[[], None],
    tell: Tell = SILENT,
) -> None:
    """Serve on a bound socket until somebody stops it; ``ready`` is called when every replica answers."""
    door.listen(2_048)
    crew = _Crew(list(named), settings, door, tell)
    with _stopped() as signals:
        try:
            # The first alone: what is wrong with a run is said once.
            crew.start(1, signals)
            for number in range(2, settings.replicas + 1):
                crew.start(number, signals)
            if not signals:
                ready()
            while not signals:
                crew.look()
                time.sleep(_TICK)
        finally:
            crew.end(settings.drain_seconds, signals)


@dataclass
class _Replica:
    number: int
    process: subprocess.Popen[bytes]
    reports: int
    begun: float


class _Crew:
    def __init__(
        self, named: list[str], settings: Settings, door: socket.socket, tell: Tell
    ) -> None:
        self._named, self._settings, self._door, self._tell = named, settings, door, tell
        self._replicas: list[_Replica] = []
        self._deaths = 0

    def start(self, number: int, signals: list[int]) -> None:
        """Start a replica, and wait until it answers; why it does not is raised."""
        replica = self._started(number)
        os.set_blocking(replica.reports, False)
        said = b""
        while not signals:
            code = replica.process.poll()
            with suppress(BlockingIOError):
                said += os.read(replica.reports, 1 << 16)
            if said.endswith(b"ready\n"):
                return
            if code is not None:
                raise RarsError(said.decode().strip() or f"Replica {number} {_how(code)}.")
            time.sleep(_TICK)

    def look(self) -> None:
        """Put another in the place of one that died."""
        for replica in list(self._replicas):
            code = replica.process.poll()
            if code is None:
                continue
            self._forget(replica)
            young = time.monotonic() - replica.begun < _YOUNG
            self._deaths = self._deaths + 1 if young else 0
            if self._deaths >= _DEATHS:
                raise RarsError(
                    f"Replica {replica.number} {_how(code)}, and so did those before it."
                )
            self._tell.say(f"Replica {replica.number} {_how(code)}; another one takes its place.")
            self._started(replica.number)

    def end(self, seconds: float, signals: list[int]) -> None:
        """Let everybody finish; a second signal, or too long a time, lets nobody."""
        for replica in self._replicas:
            replica.process.terminate()
        until = time.monotonic() + seconds + 5
        while any(one.process.poll() is None for one in self._replicas):
            if time.monotonic() > until or len(signals) > 1:
                for replica in self._replicas:
                    replica.process.kill()
            time.sleep(_TICK)
        for replica in list(self._replicas):
            self._forget(replica)

    def _started(self, number: int) -> _Replica:
        reports, theirs = os.pipe()
        descriptors = [self._door.fileno(), theirs]
        order = {
            "runs": self._named,
            "settings": asdict(self._settings),
            "door": self._door.fileno(),
            "reports": theirs,
            "number": number,
            "parent": os.getpid(),
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rars.serving.replica"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl-C is ours; they are told
        )
        os.close(theirs)
        assert process.stdin is not None
        with process.stdin as stdin:
            stdin.write(json.dumps(order, default=str).encode())
        replica = _Replica(number, process, reports, time.monotonic())
        self._replicas.append(replica)
        return replica

    def _forget(self, replica: _Replica) -> None:
        self._replicas.remove(replica)
        os.close(replica.reports)


def ordered(text: str) -> dict[str, Any]:
    """What a replica is told, with its settings as they were."""
    order: dict[str, Any] = json.loads(text)
    given = order["settings"]
    paths = {name: None if given[name] is None else Path(given[name]) for name in ("keys", "state")}
    order["settings"] = Settings(**{**given, **paths, "cors": tuple(given["cors"])})
    return order


def _how(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"


@contextmanager
def _stopped() -> Iterator[list[int]]:
    """The signals that asked for an end."""
    received: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, lambda number, _: received.append(number)) for one in kinds}
    try:
        yield received
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
