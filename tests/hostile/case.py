"""A hostile case, and a budgeted hunt over many of them: only a ``RarsError`` may come out of one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rars.errors import RarsError


class Case(NamedTuple):
    """What is tried, for a message, and the trial: it returns, or raises a ``RarsError``."""

    name: str
    run: Callable[[], object]


Cases = Callable[[random.Random], Iterator[Case]]


def hunt(cases: Cases, *, seed: int = 0, seconds: float = 2.0, most: int | None = None) -> int:
    """Run cases until the budget is spent; how many. Anything but a ``RarsError`` is raised with its case."""
    ends = None
    count = 0
    for case in cases(random.Random(seed)):
        ends = ends or time.monotonic() + seconds  # what the first case is made from is not counted
        try:
            case.run()
        except RarsError as error:
            if not str(error) or "\n" in str(error).splitlines()[0]:
                raise AssertionError(f"{case.name}: {error!r} is no sentence") from error
        except BaseException as error:
            error.add_note(f"case {count} of seed {seed}: {case.name[:2000]}")
            raise
        count += 1
        if time.monotonic() > ends or count == most:
            break
    return count
