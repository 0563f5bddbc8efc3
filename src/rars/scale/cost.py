"""What long work will cost, said before it is paid.

Owns: the cost of a stage as a line over its amount of work, and the sentence about it. The coefficients are
data (``costs.toml``, written by ``python -m benchmarks costs``): processor seconds, peak memory and disk,
fitted on shops of two sizes on one core. A short probe says how fast this machine is now, beside the one they
were fitted on and with all else that runs here; so many minutes are meant for this machine as it is.

cost = base + rate * amount;  seconds of a stage that is cut into shards are divided by the workers
"""

from __future__ import annotations

import re
import statistics
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from rars.scale.memory import shown
from rars.scale.products import ONE_THREAD

_TABLE = 1 << 22
"""Numbers of four bytes in the memory that a probe reads all over."""
_WORD = re.compile(r"[^\W_]+")
_PROBES, _WATCHED = 5, 0.3
"""How often a machine is probed, and the seconds after which that is enough in any case."""


@dataclass(frozen=True)
class Cost:
    """Seconds on the machine of the benchmark, and bytes."""

    seconds: float = 0.0
    memory: float = 0.0
    disk: float = 0.0

    def __add__(self, after: Cost) -> Cost:
        """One after the other: memory is given back in between."""
        return Cost(
            self.seconds + after.seconds,
            max(self.memory, after.memory),
            self.disk + after.disk,
        )

    def as_dict(self, slowness: float) -> dict[str, int]:
        """Plain values, in seconds on this machine."""
        return {
            "seconds": round(self.seconds * slowness),
            "memory": round(self.memory),
            "disk": round(self.disk),
        }

    def sentence(self, slowness: float) -> str:
        """Such as: Expected: about 4 minutes, 1.2 GB of memory, 340 MB of disk."""
        return (
            f"Expected: about {duration(self.seconds * slowness)}, {shown(self.memory)} of memory, "
            f"{shown(self.disk)} of disk."
        )


def stage(name: str, amount: float, *, workers: int = 1, at_once: float | None = None) -> Cost:
    """The cost of a stage of ``costs.toml`` for so much work, by so many workers.

    ``at_once``  how much of it is in memory together, where it is cut into shards
    """
    known = coefficients()[name]
    spread = workers if known.get("shards") else 1
    return Cost(
        known["seconds"] + known["seconds_each"] * amount / spread,
        known["memory"] + known["memory_each"] * min(amount, at_once or amount),
        known["disk_each"] * amount,
    )


@cache
def coefficients() -> dict[str, Any]:
    """The measured coefficients, by stage."""
    return tomllib.loads((files("rars.scale") / "costs.toml").read_text(encoding="utf-8"))


def slowness(measure: Callable[[], float] | None = None) -> float:
    """How many times longer work takes here and now than where the coefficients were measured.

    A machine that others use gives its cores in turns: where probes differ, they go on for a third of a
    second, and their mean counts. A few of them alone may meet nothing but the turns of others.
    """
    begun, measure = time.perf_counter(), measure or probe
    seen = [measure() for _ in range(_PROBES)]
    while max(seen) > 2 * min(seen) and time.perf_counter() - begun < _WATCHED:
        seen.append(measure())
    return max(0.1, statistics.mean(seen) / float(coefficients()["probe"]["seconds"]))


def probe(clock: Any = time.perf_counter) -> float:
    """Seconds of a fixed piece of work, of the kinds that stages do: products, sorts, texts, Python itself,
    and numbers taken from all over a memory that few caches hold.

    By one thread, as stages multiply: several would wait for each other on a busy machine, many times longer.
    """
    random = np.random.default_rng(0)
    matrix = random.random((256, 256), dtype=np.float32)
    keys = random.integers(0, 2**60, 60_000)
    table = np.arange(_TABLE, dtype=np.int32)
    places = random.integers(0, _TABLE, _TABLE // 32)
    text = " ".join(map(hex, keys[:10_000].tolist()))
    with ONE_THREAD:
        begun = clock()
        for _ in range(8):
            matrix @ matrix
        np.sort(keys)
        table += 1
        table[places]
        _WORD.findall(text)
        sum(len(str(number)) for number in range(10_000))
        return float(clock() - begun)


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(4), duration(95), duration(600), duration(9000)
    ('4 s', '95 s', '10 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
