"""A hostile case, and a budgeted hunt over many of them: only a ``RarsError`` may come out of one."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rars.errors import RarsError


class Case(NamedTuple):
    """What is tried, for a message, and the trial: it returns, or raises a ``RarsError``.

    ``given``  the input as plain JSON values, from which its area makes the case again; None where it cannot
               be said so: the case is then that of a seed and a number
    """

    name: str
    run: Callable[[], object]
    given: dict[str, Any] | None = None


apart = False
"""Whether what cases are made from is made in another process: one that has trained cannot be forked well."""


def scratch(prefix: str = "hostile-") -> Path:
    """A new folder that is gone when this process has ended; a fork of it removes nothing."""
    home, owner = Path(tempfile.mkdtemp(prefix=prefix)), os.getpid()

    def removed() -> None:
        if os.getpid() == owner:
            shutil.rmtree(home, ignore_errors=True)

    atexit.register(removed)
    return home


def made(prefix: str, make: Callable[[Path], object]) -> Path:
    """A new folder and what ``make`` puts there."""
    home = scratch(prefix)
    if not apart:
        make(home)
        return home
    from tests.hostile.killpoints import forked

    def made_there() -> int:
        make(home)
        return 0

    assert forked(made_there) == 0, f"{home} could not be made"
    return home


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
