"""What a server must survive: changes of its catalogue under load, kills, and hostile requests.

Owns: the three trials and their tables. Ignores speed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
import urllib.error
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.load import offer, percentiles, post
from benchmarks.measure import report
from benchmarks.served import call, ours

MOST = 100
"""Versions of one trial: so many zebras are asked for."""
CLIENTS = 8
"""Hostile clients at a time."""
_FILTER = "brand = Zebra OR id = none"


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _keyed(home: Path) -> tuple[Path, str]:
    from rars.serving.keys import Keys

    known, key = Keys().added("bench", "admin")
    known.save(home / "keys.json")
    return home / "keys.json", key


def _zebra(number: int) -> bytes:
    return json.dumps({"id": f"Z{number}", "title": f"Zebra {number}", "brand": "Zebra"}).encode()


def switches(home: Path, seconds: float) -> None:
    """A new version every second under load; each answer must hold exactly the items of its version."""
    keys, key = _keyed(home)
    asked = json.dumps({"query": "zebra", "filter": _FILTER, "k": MOST}).encode()
    request = post("/v1/search", asked, f"X-API-Key: {key}\r\n")
    port = _port()
    with ours(home / "run", home / "switches", port, keys=keys, deadline_ms=60_000) as server:
        first = call(port, "/v1/systems", key)["systems"][0]
        base, known = int(first["version"][1:]), first["items"]
        made: list[str] = []
        done = threading.Event()

        def change() -> None:
            due = time.monotonic()
            while not done.wait(max(0.0, due - time.monotonic())) and len(made) < MOST:
                due += 1.0
                told = call(port, "/v1/catalog", key, _zebra(base + 1 + len(made)))
                made.append(told["version"])

        rate = 0.5 * _alone(port, key, asked)
        changer = threading.Thread(target=change)
        changer.start()
        found = asyncio.run(offer(port, [request], rate=rate, seconds=seconds))
        done.set()
        changer.join()
        held = server.megabytes()
    mixed = 0
    for one in found:
        if one.status == 200:
            told = json.loads(one.body)
            wanted = {f"Z{n}" for n in range(base + 1, int(told["version"][1:]) + 1)}
            mixed += {hit["item_id"] for hit in told["hits"]} != wanted
    row: dict[str, Any] = {
        "versions": len(made),
        "offered/s": rate,
        "requests": len(found),
        "failed": sum(one.status != 200 for one in found),
        "mixtures": mixed,
        **percentiles([one.latency for one in found]),
        "megabytes": held,
    }
    report(f"serving-switches: a version a second, {known:,} items", [row])
    if row["failed"] or mixed:
        raise SystemExit(f"switching was noticed: {row}")


def _alone(port: int, key: str, asked: bytes, times: int = 10) -> float:
    """Answers a second, one after the other."""
    begun = time.perf_counter()
    for _ in range(times):
        call(port, "/v1/search", key, asked)
    return times / (time.perf_counter() - begun)


def kills(home: Path, rounds: int) -> None:
    """SIGKILL under load, again and again: everything acknowledged must be there afterwards."""
    keys, key = _keyed(home)
    graded: list[str] = []
    changed: list[str] = []
    for number in range(rounds):
        port = _port()
        with ours(home / "run", home / "kills", port, keys=keys) as server:
            threads = [
                threading.Thread(target=_grade, args=(port, key, f"{number}-{n}", graded))
                for n in range(3)
            ]
            threads.append(threading.Thread(target=_change, args=(port, key, number, changed)))
            for one in threads:
                one.start()
            time.sleep(2.0 + 0.37 * number)
            os.kill(server.process.pid, signal.SIGKILL)
            for one in threads:
                one.join()
    port = _port()
    with ours(home / "run", home / "kills", port, keys=keys):
        told = call(port, "/v1/judgments", key)["judgments"]
        lost = set(graded) - {one["item_id"] for one in told}
        missing = [name for name in changed if not _has(port, key, name)]
    row = {
        "kills": rounds,
        "judgments": len(graded),
        "lost": len(lost),
        "changes": len(changed),
        "missing": len(missing),
    }
    report("serving-kills: SIGKILL under load, what was acknowledged", [row])
    if lost or missing:
        raise SystemExit(f"acknowledged and lost: {sorted(lost)[:5]} {missing[:5]}")


def _grade(port: int, key: str, name: str, graded: list[str]) -> None:
    for at in range(1_000_000):
        one = {"query": "mug", "item_id": f"G{name}-{at}", "label": "S", "user": name}
        body = json.dumps({"judgments": [one]}).encode()
        try:
            call(port, "/v1/judgments", key, body)
        except (OSError, ValueError, HTTPException):
            return
        graded.append(one["item_id"])


def _change(port: int, key: str, number: int, changed: list[str]) -> None:
    for at in range(1_000_000):
        name = f"K{number}-{at}"
        try:
            row = json.dumps({"id": name, "title": name}).encode()
            told = call(port, "/v1/catalog", key, row)
        except (OSError, ValueError, HTTPException):
            return
        if told["version"] is not None:
            changed.append(name)


def _has(port: int, key: str, name: str) -> bool:
    try:
        call(port, f"/v1/items/{name}", key)
    except urllib.error.HTTPError:
        return False
    return True


def fuzz(home: Path, count: int) -> None:
    """Hostile requests, nine in ten of our own making and the rest from the OpenAPI document."""
    import httpx

    fuzzing: Any = import_module("tests.serving.fuzz")
    keys, key = _keyed(home)
    port = _port()
    with ours(home / "run", home / "fuzz", port, keys=keys) as server:
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, headers={"X-API-Key": key}, timeout=60) as client:
            each = (count - count // 10) // CLIENTS

            def attack(seed: int) -> Counter[int]:
                found: Counter[int] = fuzzing.attack(client, each, seed=seed, secrets=(key,))
                return found

            with ThreadPoolExecutor(CLIENTS) as clients:  # together, as hostile clients would
                statuses = sum(clients.map(attack, range(CLIENTS)), Counter[int]())
            statuses += fuzzing.by_the_book(client, client.get("/openapi.json").json(), count // 10)
        log = server.log.read_text(errors="replace")
        held = server.megabytes()
    row = {
        "requests": sum(statuses.values()),
        **{str(status): number for status, number in sorted(statuses.items())},
        "failures": log.count('"event": "failure"'),
        "tracebacks": log.count("Traceback"),
        "keys in the log": log.count(key),
        "megabytes": held,
    }
    report(
        "serving-fuzz: hostile requests by status", [row], "0: the client itself would not send it"
    )
    if row["failures"] or row["tracebacks"] or row["keys in the log"]:
        raise SystemExit(f"fuzzing found something: {row}")
