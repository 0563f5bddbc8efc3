"""The engine that ``--engine`` and ``--workers`` ask for."""

from __future__ import annotations

from rars.errors import RarsError
from rars.scale.engine import INLINE, Engine
from rars.scale.local import Local

NAMES = ("local", "ray")


def choose(name: str = "local", workers: int | None = None) -> Engine:
    """``local`` with one worker is this process; ``ray`` without a number uses what the cluster has.

    >>> choose().workers, choose("local", 3).workers
    (1, 3)
    """
    if workers is not None and workers < 1:
        raise RarsError(f"--workers {workers} is less than 1.")
    if name == "local":
        return INLINE if workers in (None, 1) else Local(int(workers or 1))
    if name == "ray":
        from rars.scale.cluster import Ray

        return Ray(workers)
    raise RarsError(f"--engine {name!r} is unknown; choose {' or '.join(NAMES)}.")
