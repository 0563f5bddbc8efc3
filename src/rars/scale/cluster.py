"""The nodes of a Ray cluster.

Owns: finding or starting the cluster, and calls as its tasks. Ray makes a call again whose node or process
was lost. Ignores the work. Ray is an extra, imported when it is asked for.

With ``RAY_ADDRESS`` set, that cluster is used; without, one is started here for as long as the process lives,
on the loopback address, where nobody else reaches it. Nodes see the same folders under the same paths
(shards, caches and runs are files) and have the same packages installed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from rars.errors import RarsError, Unavailable
from rars.scale.cores import THREADS, usable_cores
from rars.scale.engine import AHEAD, TRIES, Call, ended, opened

MISSING = "--engine ray needs Ray; install it with: pip install 'rars[ray]'"

_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""What Ray sets to 0 where a cluster is this machine alone: it then binds nothing but loopback."""


class Ray:
    """Tasks of one core each; ``most`` is how many at a time, None is as many as there are cores."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most

    @cached_property
    def ray(self) -> Any:
        """The library, connected."""
        return connected(self._most)

    @property
    def workers(self) -> int:
        """Cores of the cluster now, as far as they are wanted."""
        cores = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        return min(cores, self._most or cores)

    def share(self, seconds: float) -> int:
        """All of them, whatever it is."""
        return self.workers

    def map(
        self, function: Callable[..., Any], calls: Iterable[Call], count: int | None = None
    ) -> Iterator[Any]:
        """The results, in order."""
        make = self.ray.remote(ended).options(**task_options(TRIES - 1))
        waiting = iter(calls)
        begun: deque[Any] = deque()
        try:
            while True:
                room = (self._most or AHEAD * self.workers) - len(begun)
                begun.extend(make.remote(function, dict(call)) for call in _some(waiting, room))
                if not begun:
                    return
                yield opened(self._got(begun.popleft()))
        finally:
            for one in begun:
                self.ray.cancel(one, force=True)

    def _got(self, reference: Any) -> Any:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            why = str(error).strip().splitlines()[0].rstrip(".")
            raise RarsError(f"The Ray cluster lost a task {TRIES} times: {why}.") from error


def task_options(retries: int) -> dict[str, Any]:
    """Of a task that has one core and one thread."""
    return {
        "num_cpus": 1,
        "max_retries": retries,
        "runtime_env": {"env_vars": dict.fromkeys(THREADS, "1")},
    }


def connected(cores: int | None = None) -> Any:
    """Ray, connected to the cluster of ``RAY_ADDRESS`` or to one of ``cores`` started here."""
    address = os.environ.get("RAY_ADDRESS")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None or address.startswith("127."):
        os.environ.setdefault(_LOOPBACK, "0")
    try:
        import ray
    except ImportError as error:
        raise Unavailable(MISSING) from error
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            ray.init(
                address="local", num_cpus=cores or usable_cores(), include_dashboard=False, **quiet
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        why = str(error).strip().splitlines()[0].rstrip(".")
        named = "started" if address is None else f"reached at RAY_ADDRESS={address}"
        raise RarsError(f"The Ray cluster cannot be {named}: {why}.") from error
    return ray


def _some(calls: Iterator[Call], most: int) -> Iterator[Call]:
    for _, call in zip(range(most), calls, strict=False):
        yield call
