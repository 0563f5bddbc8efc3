"""Servers for the load: ours, and the one that a user would write, each in a process on a core of its own.

python -m benchmarks.served RUN PORT      the plain handler: one search a request
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel


class Asked(BaseModel):
    """What the plain handler reads."""

    query: str
    k: int = 10


@dataclass
class Serving:
    """A server that answers."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def megabytes(self) -> float:
        """The memory it holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu(self) -> float:
        """Seconds of the processor that it used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def ours(run: Path, state: Path, port: int, **settings: object) -> Iterator[Serving]:
    """``rars serve`` with some settings."""
    given = {"port": port, "state": state, "client_limit": 0, **settings}
    words = [
        part
        for name, value in given.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    with _started(["-m", "rars", "serve", str(run), *words], state / "server.log", port) as found:
        yield found


@contextmanager
def plain(run: Path, state: Path, port: int) -> Iterator[Serving]:
    """What a user would write."""
    words = ["-m", "benchmarks.served", str(run), str(port)]
    with _started(words, state / "plain.log", port) as found:
        yield found


@contextmanager
def _started(words: list[str], log: Path, port: int) -> Iterator[Serving]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, *words],
            stdout=out,
            stderr=out,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            preexec_fn=_pinned,
        )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5)
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        yield Serving(process, port, log)
    finally:
        process.terminate()
        process.wait(60)


def _pinned() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def call(port: int, path: str, key: str, body: bytes | None = None) -> Any:
    """One request, and its answer as JSON."""
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    with urllib.request.urlopen(asked, timeout=120) as found:
        return json.load(found)


def main() -> None:
    """The plain handler: read the question, search, answer."""
    import torch
    import uvicorn
    from fastapi import FastAPI

    from rars import Retriever

    torch.set_num_threads(1)
    retriever = Retriever.load(sys.argv[1])
    app = FastAPI()

    @app.post("/v1/search")
    def search(asked: Asked) -> dict[str, Any]:
        hits = retriever.search(asked.query, asked.k)
        return {"hits": [hit.as_dict() for hit in hits]}

    @app.get("/readyz")
    def ready() -> str:
        return "ok"

    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")


if __name__ == "__main__":
    main()
