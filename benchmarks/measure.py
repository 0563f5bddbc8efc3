"""How the benchmarks measure: alternate the contestants, report medians, keep what was seen.

Owns: timing, memory of Python objects, the table and the JSON of results. Ignores what is measured.
"""

from __future__ import annotations

import gc
import json
import platform
import resource
import statistics
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

TURN = 0.25

RESULTS = Path(__file__).parent / "results"


def alternate(
    contestants: Mapping[str, Callable[[], Any]],
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds a call of each contestant; they take turns, so that a noisy machine is fair to all.

    A turn lasts at least ``TURN`` seconds: a quick contestant is called several times in it. For work of one
    thread ``clock`` may be ``time.process_time``, which does not count what other processes take.
    """
    calls = {name: max(1, round(TURN / _once(call))) for name, call in contestants.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats):
        names = sorted(contestants, reverse=turn % 2 == 1)
        for name in names:
            gc.collect()
            start = clock()
            for _ in range(calls[name]):
                contestants[name]()
            seconds[name].append((clock() - start) / calls[name])
    return {name: statistics.median(values) for name, values in seconds.items()}


def _once(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return max(time.perf_counter() - start, 1e-6)


def python_bytes(build: Callable[[], object]) -> int:
    """Bytes that the Python objects made by ``build`` keep allocated."""
    gc.collect()
    tracemalloc.start()
    kept = build()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size


def resident_megabytes() -> float:
    """The memory this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def peak_megabytes(call: Callable[[], Any]) -> float:
    """The most memory this process holds while ``call`` runs, looked at every other millisecond."""
    seen = [resident_megabytes()]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            seen.append(resident_megabytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        call()
    finally:
        done.set()
        watcher.join()
    return max(seen)


def report(name: str, rows: list[dict[str, Any]], note: str = "") -> None:
    """Print a table and keep it in ``benchmarks/results/NAME.json``."""
    table = Table(title=name, caption=note or None, title_justify="left")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for row in rows:
        table.add_row(*(_text(row.get(column)) for column in columns))
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    payload = {"name": name, "machine": machine, "note": note, "rows": rows}
    (RESULTS / f"{name.split(':')[0].replace(' ', '-')}.json").write_text(
        json.dumps(payload, indent=2)
    )


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
