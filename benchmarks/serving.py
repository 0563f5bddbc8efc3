"""``rars serve`` under load and under faults, on this machine alone.

Loads a server that has one core: at shares of its capacity, ten times beyond it, against the handler that a
user would write, while its catalogue changes every second, and killed again and again. Every answer is
compared with the library's. Asks for: no wrong answer, no 5xx, admitted requests within the deadline, three
times the plain handler's throughput at its p99, and nothing lost that was acknowledged.

    python -m benchmarks.serving --run RUN --seconds 10 --parts levels,plain,switches,kills,memory
    python -m benchmarks.serving --run RUN --parts fuzz --requests 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import faults
from benchmarks.load import Sent, offer, percentiles, post
from benchmarks.measure import report
from benchmarks.served import Serving, ours, plain

TEXTS = 400
CLOSE = 1e-3
"""How much scores of the same query may differ between batches of different sizes."""
DEADLINE = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving")
    parser.add_argument("--run", type=Path, help="a trained run; one is made if not given")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--minutes", type=float, default=10.0, help="that memory is watched")
    parser.add_argument("--requests", type=int, default=100_000, help="of the fuzzing")
    parser.add_argument("--deadline-ms", type=int, default=DEADLINE)
    parser.add_argument("--parts", default="levels,plain,switches,kills,memory,fuzz")
    asked = parser.parse_args()
    parts = asked.parts.split(",")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # connections are files
    with TemporaryDirectory(prefix="rars-serving-") as place:
        home = Path(place)
        run = asked.run or _trained(home)
        shutil.copytree(run, home / "run", symlinks=True)
        known = Known(home / "run")
        if "levels" in parts:
            _levels(home, known, asked.seconds, asked.deadline_ms)
        if "plain" in parts:
            _plain(home, known, asked.seconds)
        if "memory" in parts:
            _memory(home, known, 60 * asked.minutes)
        if "switches" in parts:
            faults.switches(home, asked.seconds)
        if "kills" in parts:
            faults.kills(home, rounds=max(2, round(asked.seconds / 10)))
        if "fuzz" in parts:
            faults.fuzz(home, asked.requests)


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _trained(home: Path) -> Path:
    from rars import Dataset, Recipe
    from rars.data.shop import make_shop
    from rars.pipeline import train

    make_shop(home / "shop", size="demo", realism=0)  # as its figures in the documents
    train(Dataset.load(home / "shop"), Recipe.resolve("practical", size="tiny"), home / "trained")
    return home / "trained"


class Known:
    """What the library answers, with the whole beam and with the narrower one."""

    def __init__(self, run: Path) -> None:
        import torch

        from rars import Retriever

        torch.set_num_threads(1)
        retriever = Retriever.load(run)
        dataset = retriever.run.dataset()
        self.texts: list[str] = dataset.query_texts.to_pylist()[:TEXTS]
        self.requests = [
            post("/v1/search", json.dumps({"query": text}).encode()) for text in self.texts
        ]
        narrow = retriever.with_width(round(0.25 * retriever.settings.width))
        self._whole = retriever.search_many(self.texts)
        self._narrow = narrow.search_many(self.texts)

    def wrong(self, sent: Sent) -> bool:
        """Whether an answer is not the library's; of equal scores the order is free."""
        told = json.loads(sent.body)
        known = (self._narrow if told["degraded"] else self._whole)[sent.which]
        scores = {hit.item_id: hit.score for hit in known}
        hits = told["hits"]
        if len(hits) != len(known):
            return True
        for hit, other in zip(hits, known, strict=True):
            last = known[-1].score
            if abs(hit["score"] - scores.get(hit["item_id"], last)) > CLOSE:
                return True
            if abs(hit["score"] - other.score) > CLOSE:
                return True
        return False


def _offer(server: Serving, known: Known, rate: float, seconds: float, **more: Any) -> list[Sent]:
    return asyncio.run(offer(server.port, known.requests, rate=rate, seconds=seconds, **more))


def _capacity(server: Serving, known: Known, seconds: float, connections: int = 32) -> float:
    """Answers a second when so many clients ask again as soon as they are answered."""
    found = _offer(server, known, 1e6, 0.0002, connections=1)  # the first one is slow
    begun = time.perf_counter()
    count = 0
    while time.perf_counter() < begun + seconds:
        found = _offer(server, known, 1e6, 128e-6, connections=connections)
        count += sum(one.status == 200 for one in found)
    return count / (time.perf_counter() - begun)


def _per_cpu(server: Serving, known: Known, seconds: float, connections: int) -> float:
    """Answers a second of its processor: what other processes take is not counted."""
    begun = server.cpu()
    begun_at = time.perf_counter()
    rate = _capacity(server, known, seconds, connections)
    return rate * (time.perf_counter() - begun_at) / (server.cpu() - begun)


def _row(name: str, found: Sequence[Sent], known: Known, rate: float) -> dict[str, Any]:
    statuses = Counter(one.status for one in found)
    good = [one for one in found if one.status == 200]
    span = max(one.done for one in found) - min(one.due for one in found)
    return {
        "load": name,
        "offered/s": rate,
        "answered/s": len(good) / span,
        **percentiles([one.latency for one in good]),
        "429, %": 100 * statuses[429] / len(found),
        "narrow, %": 100 * sum(b'"degraded":true' in one.body for one in good) / max(1, len(good)),
        "5xx": sum(count for status, count in statuses.items() if status >= 500),
        "broken": statuses[0],
        "wrong": sum(map(known.wrong, good)),
        "requests": len(found),
    }


def _note() -> str:
    load = os.getloadavg()[0]
    return (
        f"one core for the server, load average of the machine {load:.1f} on {os.cpu_count()} cores"
    )


def _levels(home: Path, known: Known, seconds: float, deadline: int) -> None:
    rows = []
    with ours(home / "run", home / "levels", free_port(), deadline_ms=deadline) as server:
        most = _capacity(server, known, seconds)
        for share in (0.5, 0.8, 1.0, 10.0):
            rate = share * most
            # As many as can wait for an answer at once: a client that waits for a connection offers less.
            many = 256 if share <= 1 else 256 + round(1.5e-3 * deadline * rate)
            found = _offer(server, known, rate, seconds, connections=many)
            rows.append(_row(f"{100 * share:.0f} %", found, known, rate))
    report(
        "serving: shares of the capacity, and beyond", rows, f"{_note()}; deadline {deadline} ms"
    )
    bad = [row for row in rows if row["wrong"] or row["5xx"]]
    if bad:
        raise SystemExit(f"wrong answers or 5xx: {bad}")


def _plain(home: Path, known: Known, seconds: float) -> None:
    """The highest rate of ours whose p99 is not above that of the plain handler at most of its own."""
    with plain(home / "run", home / "plain", free_port()) as server:
        capacity = _capacity(server, known, seconds, connections=8)
        rate = 0.8 * capacity
        theirs = percentiles([one.latency for one in _offer(server, known, rate, seconds)])
        alone = _per_cpu(server, known, seconds, 32)
    rows = [{"server": "plain handler", "offered/s": rate, **theirs, "times": 1.0, "refused": 0}]
    with ours(home / "run", home / "beside", free_port(), deadline_ms=60_000, narrow=1) as server:
        together = _per_cpu(server, known, seconds, 32)
        for times in (1, 2, 3, 4, 5, 6):
            found = _offer(server, known, times * rate, seconds, connections=256)
            good = [one for one in found if one.status == 200]
            row = {"server": "rars serve", "offered/s": times * rate}
            tails = percentiles([one.latency for one in good])
            rows.append({**row, **tails, "times": float(times), "refused": len(found) - len(good)})
            if tails["p99"] > 2 * theirs["p99"]:
                break
    per_cpu = f"answers a second of the processor: plain {alone:.1f}, ours {together:.1f}"
    report("serving-plain: against one search a request", rows, f"{per_cpu}; {_note()}")


def _memory(home: Path, known: Known, seconds: float) -> None:
    rows = []
    with ours(home / "run", home / "memory", free_port()) as server:
        rate = 0.8 * _capacity(server, known, 5)
        done = threading.Event()
        seen: list[tuple[float, float]] = []

        def watch() -> None:
            begun = time.perf_counter()
            while not done.wait(min(10.0, seconds / 20)):
                seen.append((time.perf_counter() - begun, server.megabytes()))

        watcher = threading.Thread(target=watch)
        watcher.start()
        found = _offer(server, known, rate, seconds, keep_bodies=False)
        done.set()
        watcher.join()
        step = max(1, len(seen) // 10)
        rows = [{"second": at, "megabytes": held} for at, held in seen[::step]]
    report("serving-memory: held while it is loaded", rows, f"{len(found):,} requests; {_note()}")


if __name__ == "__main__":
    main()
