"""How many threads a model works with.

Owns: the choice, and the one place that sets it. Threads meet after every product, and sharing the cores with
other work they wait for each other there: two of them train at half the speed of one, in bad cases at a tenth
(``python -m benchmarks threads``). A large model gets the cores that others leave. A small one always gets
one thread: it trains in minutes, and the last bits of its weights are then the same on a busy machine as on
an idle one, where two threads would be 1.6 times as fast:

    threads = 1                                  of a model with fewer than ``SMALL`` weights
    threads = max(1, cores - load of others)     of a larger one

Whoever sets ``OMP_NUM_THREADS`` has chosen, and so has a server (``settle``). Ignores what the work is, and
how many processes share it (``local``: each of several is told its share by that variable).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock, local
from typing import Any

from rars.scale import products
from rars.scale.local import THREADS, usable_cores
from rars.scale.products import ONE_THREAD

SMALL = 25_000_000
"""Weights below which a model is small: the sizes ``tiny`` and ``small``, and MiniLM."""
_MINUTE = 60.0


@dataclass(frozen=True)
class Choice:
    """So many threads, and why; without a reason it is what there would be anyway."""

    threads: int
    why: str = ""

    @property
    def sentence(self) -> str:
        """Such as: 1 thread, because the model is small (OMP_NUM_THREADS would say otherwise)."""
        count = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        return f"{count}, because {self.why} ({THREADS[0]} would say otherwise)."


def chosen(weights: int, *, kept: int | None = None) -> Choice:
    """The threads of a model of so many weights; ``kept``: what an earlier part of the same work had.

    The last bits of a sum depend on the number of threads, so work that goes on keeps what it began with.
    """
    if said := os.environ.get(THREADS[0], ""):
        # The libraries read it themselves, also where it is a list or nonsense.
        first = said.split(",")[0].strip()
        return Choice(max(1, int(first)) if first.isdecimal() else 1)
    cores = usable_cores()
    if kept is not None:
        return Choice(kept, "" if kept == cores else "the work began with as many")
    if cores == 1:
        return Choice(1)
    if weights < SMALL:
        return Choice(1, "the model is small")
    free = max(1, cores - round(others()))
    return Choice(free, "" if free == cores else f"others use {cores - free} of {cores} cores")


def best_for(model: Any) -> Choice:
    """The threads of a torch module."""
    return chosen(weights(model))


def weights(model: Any) -> int:
    """How many weights a torch module has."""
    return sum(one.numel() for one in model.parameters())


def others() -> float:
    """Cores that other processes are busy on: the load of the last minute without our own part in it."""
    try:
        load = os.getloadavg()[0]
    except (OSError, AttributeError):
        return 0.0
    # A process that was busy for t seconds has added 1 - exp(-t / 60) to an average that began without it.
    own = 1 - math.exp(-time.process_time() / _MINUTE)
    return max(0.0, load - own)


class _Inside(local):
    """Who works with a number of our choice: blocks of this thread of Python's."""

    blocks = 0


_lock, _inside = Lock(), _Inside()
_threads = {"inside": 0, "usual": 0}
"""Threads of Python's that are inside, and what torch has when none is."""


@contextmanager
def working(choice: Choice) -> Iterator[None]:
    """Torch works with so many threads while the block runs; with one, NumPy does too.

    (Its products are small then: a second thread would take a core that nothing gains by.) Torch keeps a
    number for each thread of Python's, and one for those to come: the latter must not stay changed where
    several are inside.
    """
    import torch

    with _lock:
        if not _threads["inside"]:
            _threads["usual"] = torch.get_num_threads()
        before = torch.get_num_threads() if _inside.blocks else _threads["usual"]
        _threads["inside"] += not _inside.blocks
        _inside.blocks += 1
    torch.set_num_threads(choice.threads)
    try:
        with ONE_THREAD if choice.threads == 1 else nullcontext():
            yield
    finally:
        with _lock:
            torch.set_num_threads(before)
            _inside.blocks -= 1
            _threads["inside"] -= not _inside.blocks


def settle(threads: int) -> None:
    """The process works with so many from now on, as if the environment had said so."""
    import torch

    os.environ[THREADS[0]] = str(threads)
    torch.set_num_threads(threads)
    products.limit(threads)
