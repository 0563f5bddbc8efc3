"""The engine that ``--engine`` and ``--workers`` ask for."""

from __future__ import annotations

from rars.errors import RarsError
from rars.scale.as_needed import AS_NEEDED
from rars.scale.engine import INLINE, Engine
from rars.scale.local import Local

NAMES = ("local", "ray")


def choose(name: str = "local", workers: int | None = None) -> Engine:
    """``local`` with one worker is this process, without a number others too where work is long; ``ray``
    without a number uses what the cluster has.

    >>> choose("local", 1).workers, choose("local", 3).workers
    (1, 3)
    """
    if workers is not None and workers < 1:
        raise RarsError(f"--workers {workers} is less than 1.")
    if name == "local":
        if workers is None:
            return AS_NEEDED
        return INLINE if workers == 1 else Local(workers)
    if name == "ray":
        from rars.scale.cluster import Ray

        return Ray(workers)
    raise RarsError(f"--engine {name!r} is unknown; choose {' or '.join(NAMES)}.")
