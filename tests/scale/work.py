"""Functions that other processes import and call."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from rars.errors import RarsError
from rars.scale.shards import Shards


def square(number: int) -> tuple[int, int]:
    """And who computed it."""
    return number * number, os.getpid()


def slow_for_the_first(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0.0)
    return number


def refuse(number: int) -> int:
    if number == 2:
        raise RarsError("The second one is not to be had.")
    return number


def break_down(number: int) -> int:
    raise ZeroDivisionError(f"of {number}")


def die_once(number: int, marks: Path) -> int:
    """The process is gone, the first time a number is even."""
    mark = marks / str(number)
    if number % 2 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def threads(name: str) -> str | None:
    return os.environ.get(name)


def write(shards: Shards, number: int, rows: int, marks: Path | None = None) -> None:
    """A shard of numbers; ``marks`` says who was asked for."""
    if marks is not None:
        (marks / f"{number}").touch()
    with shards.writing(number) as draft:
        draft.save_array("values", np.arange(rows) + 100 * number)


def write_slowly(shards: Shards, number: int, seconds: float) -> str:
    """A shard that takes its time, and the node it was written on."""
    import ray

    time.sleep(seconds)
    with shards.writing(number) as draft:
        draft.save_array("values", np.full(3, number))
    return str(ray.get_runtime_context().get_node_id())


def threads_of_products():
    """How many threads NumPy multiplies with, here and now."""
    import numpy  # noqa: F401
    import threadpoolctl

    found = threadpoolctl.ThreadpoolController().select(user_api="blas").info()
    return max(one["num_threads"] for one in found if "numpy" in one["filepath"])
