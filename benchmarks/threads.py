"""One thread against two, for small and large models, on a machine that is idle and on one that is not.

Whole training steps (pack, forward, backward) as in ``benchmarks.training``, in one process that changes its
number of threads from turn to turn; beside it nothing, or other trainings of the tiny model with one thread
each. Wall-clock time, since waiting is what is measured. ``chosen`` is what ``rars.scale.threads`` would take
of a machine as busy as that. Asks for: beside other work what is chosen is the faster; on an idle machine
too, but for small models, which keep to one thread whatever the machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import torch

from benchmarks.measure import alternate, report
from benchmarks.training import QUERIES, example, packed, packed_model
from rars.scale import cores, threads
from rars.scale.cores import THREADS, usable_cores

MODELS = ("tiny", "T5-small", "T5-base")
BESIDE = (0, 1, 2)
MANY = 2


def work() -> None:
    """Train the tiny model until whoever started this closes its end of the pipe."""
    torch.set_num_threads(1)
    data, _, _ = example(QUERIES["tiny"])
    step = packed("tiny", data)
    closed = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        closed.set()

    threading.Thread(target=wait, daemon=True).start()
    step()
    print("ready", flush=True)
    while not closed.is_set():
        step()


@contextmanager
def beside(count: int) -> Iterator[None]:
    """So many other trainings run while the block does."""
    line = [sys.executable, "-m", "benchmarks.threads", "--beside"]
    pipe = subprocess.PIPE
    others = [subprocess.Popen(line, stdin=pipe, stdout=pipe) for _ in range(count)]
    try:
        for one in others:
            assert one.stdout is not None
            one.stdout.readline()
        yield
    finally:
        for one in others:
            assert one.stdin is not None
            one.stdin.close()
            one.wait()


def chosen(weights: int, busy: int) -> int:
    """What a command would take beside so many busy processes."""
    free = {name: value for name, value in os.environ.items() if name not in THREADS}
    with (
        mock.patch.dict(os.environ, free, clear=True),
        mock.patch.object(cores, "others", return_value=float(busy)),
    ):
        return threads.chosen(weights).threads


def with_threads(step: Callable[[], None], count: int) -> Callable[[], None]:
    def call() -> None:
        torch.set_num_threads(count)
        step()

    return call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*", help=f"Of {', '.join(MODELS)}; all if none is named.")
    options = parser.parse_args()
    if options.beside:
        work()
        return
    rows = []
    for name in options.models or MODELS:
        data, pairs, _ = example(QUERIES[name])
        weights = threads.weights(packed_model(name, data).model)
        step = packed(name, data)
        counts = {f"{count} threads": with_threads(step, count) for count in (1, MANY)}
        for busy in BESIDE:
            with beside(busy):
                seconds = alternate(counts, repeats=7)
            speed = {key: len(pairs) / value for key, value in seconds.items()}
            rows.append(
                {
                    "model": name,
                    "million weights": weights / 1e6,
                    "other trainings": busy,
                    "1 thread, pairs/s": speed["1 threads"],
                    f"{MANY} threads, pairs/s": speed[f"{MANY} threads"],
                    "1 thread / 2": speed["1 threads"] / speed[f"{MANY} threads"],
                    "chosen": chosen(weights, busy),
                }
            )
    report("threads", rows, f"whole training steps, wall clock, {usable_cores()} cores")


if __name__ == "__main__":
    main()
