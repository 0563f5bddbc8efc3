"""How many threads a model works with.

Owns: the choice, and the one place that sets it. Threads meet after every product, and sharing the cores with
other work they wait for each other there: two of them train at half the speed of one, in bad cases at a tenth
(``python -m benchmarks threads``). A large model gets the cores that others leave. A small one always gets
one thread: it trains in minutes, and the last bits of its weights are then the same on a busy machine as on
an idle one, where two threads would be 1.6 times as fast:

    threads = 1                                  of a model with fewer than ``SMALL`` weights
    threads = max(1, cores - load of others)     of a larger one

Whoever sets ``OMP_NUM_THREADS`` has chosen, and so has a server (``settle``). Only pieces of work that must
be the same bytes whoever does them have always one (``alone``): several are done at a time instead, by
threads of Python's (``on_free_cores``) or by processes. Ignores what the work is, and how many processes
share it (``local``: each is told its share by that variable).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock, local
from typing import Any, TypeVar

from rars.scale import cores, products
from rars.scale.cores import THREADS
from rars.scale.products import ONE_THREAD

SMALL = 25_000_000
"""Weights below which a model is small: the sizes ``tiny`` and ``small``, and MiniLM."""

Part = TypeVar("Part")


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
    if (told := cores.told()) is not None:
        return Choice(told)
    usable = cores.usable_cores()
    if kept is not None:
        return Choice(kept, "" if kept == usable else "the work began with as many")
    if usable == 1:
        return Choice(1)
    if weights < SMALL:
        return Choice(1, "the model is small")
    idle = cores.free()
    return Choice(idle, "" if idle == usable else f"others use {usable - idle} of {usable} cores")


def best_for(model: Any) -> Choice:
    """The threads of a torch module."""
    return chosen(weights(model))


def weights(model: Any) -> int:
    """How many weights a torch module has."""
    return sum(one.numel() for one in model.parameters())


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


@contextmanager
def alone() -> Iterator[None]:
    """NumPy works with one thread while the block runs, and torch too where it is loaded already."""
    with working(Choice(1)) if "torch" in sys.modules else ONE_THREAD:
        yield


def at_a_time(device: str = "cpu", used: Callable[[], float] | None = None) -> int:
    """How many parts ``on_free_cores`` does at a time; a GPU is one, however many cores there are."""
    return cores.free(used) if device == "cpu" else 1


def on_free_cores(
    function: Callable[[Part], None], parts: Sequence[Part], device: str = "cpu"
) -> None:
    """Call a function that works with torch for each part: one after the other on each core that is free.

    Torch has one thread in each, so that what comes of a part does not depend on how many are done at a time.
    One part alone (a query) is done by whoever has chosen already, and so are those of a GPU.
    """
    if len(parts) < 2 or device != "cpu":
        for part in parts:
            function(part)
        return

    import torch

    most = min(at_a_time(device, cores.now), len(parts))
    with working(Choice(1)):
        pool = ThreadPoolExecutor(most, initializer=torch.set_num_threads, initargs=(1,))
        try:
            for _ in pool.map(function, parts):
                pass
        finally:
            pool.shutdown(cancel_futures=True)  # who is interrupted waits for what is in hand alone


def settle(threads: int) -> None:
    """The process works with so many from now on, as if the environment had said so."""
    import torch

    os.environ[THREADS[0]] = str(threads)
    torch.set_num_threads(threads)
    products.limit(threads)
