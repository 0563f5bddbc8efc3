"""Open-loop load on a server on this machine: requests leave when they are due, answered or not.

Owns: sending requests at random times of a given rate over kept connections, and noting when each was due,
sent and answered. Ignores what is asked. Latency is counted from the moment a request was due, so a server
that stalls is charged for everybody who would have come meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass
class Sent:
    """One request: which, and when it was due and answered; ``status`` 0 where the connection broke."""

    which: int
    due: float
    done: float = 0.0
    status: int = 0
    body: bytes = b""

    @property
    def latency(self) -> float:
        """Seconds from when it was due."""
        return self.done - self.due


def post(path: str, body: bytes, headers: str = "") -> bytes:
    """A request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Line(asyncio.Protocol):
    """A kept connection: one request at a time."""

    def __init__(self, pool: deque[_Line], wake: asyncio.Event) -> None:
        self._pool, self._wake = pool, wake
        self._sent: Sent | None = None
        self._data = b""
        self.broken = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, sent: Sent, data: bytes) -> None:
        self._sent, self._data = sent, b""
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(body) < length or self._sent is None:
            return
        self._sent.done, self._sent.body = time.perf_counter(), body
        self._sent.status = int(head[9:12])
        self._sent = None
        self._pool.append(self)
        self._wake.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.broken = True
        if self._sent is not None:
            self._sent.done = time.perf_counter()
            self._sent = None
        if self in self._pool:
            self._pool.remove(self)

    def close(self) -> None:
        self._transport.close()


async def offer(
    port: int,
    requests: Sequence[bytes],
    *,
    rate: float,
    seconds: float,
    connections: int = 64,
    seed: int = 0,
    keep_bodies: bool = True,
) -> list[Sent]:
    """Offer a rate of requests for some time, drawn from ``requests``; what became of each."""
    draws = np.random.default_rng(seed)
    gaps = draws.exponential(1 / rate, int(rate * seconds * 1.2) + 10)
    due = np.cumsum(gaps)
    due = due[due < seconds]
    which = draws.integers(0, len(requests), len(due))
    loop = asyncio.get_running_loop()
    pool: deque[_Line] = deque()
    wake = asyncio.Event()
    lines = []
    for _ in range(connections):
        _, line = await loop.create_connection(lambda: _Line(pool, wake), "127.0.0.1", port)
        lines.append(line)
        pool.append(line)
    found: list[Sent] = []
    start = time.perf_counter()
    for at, chosen in zip(due.tolist(), which.tolist(), strict=True):
        left = start + at - time.perf_counter()
        if left > 0.0005:
            await asyncio.sleep(left)
        while not pool:
            wake.clear()
            await asyncio.wait_for(wake.wait(), 60)
        sent = Sent(chosen, start + at)
        found.append(sent)
        pool.popleft().send(sent, requests[chosen])
        if len(found) % 64 == 0:
            await asyncio.sleep(0)
    limit = time.perf_counter() + 30
    while any(not one.done for one in found[-connections - 1 :]) and time.perf_counter() < limit:
        await asyncio.sleep(0.01)
    for line in lines:
        line.close()
    if not keep_bodies:
        for one in found:
            one.body = b""
    return found


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Middle and tails in milliseconds."""
    if not seconds:
        return {}
    values = np.percentile(np.array(seconds), [50, 95, 99])
    return {name: float(1e3 * v) for name, v in zip(("p50", "p95", "p99"), values, strict=True)}
