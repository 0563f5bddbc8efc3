"""Replicas on the nodes of a Ray cluster, behind the proxy of Ray Serve.

Owns: the application that a replica builds, and its beginning and end on the cluster. Each replica is the
whole server but for its port: Ray Serve brings requests, and puts another replica in the place of one that is
lost. Ignores what is served. Needs the extra ``ray-serve``.

Nodes see the run folders under the same paths. What one replica changes the others see as those of
``rars.serving.replicas`` do.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rars.errors import RarsError, Unavailable
from rars.scale.cluster import connected
from rars.scale.cores import THREADS
from rars.serving.app import create_app
from rars.serving.logs import Log
from rars.serving.server import address, bound, engine_of
from rars.serving.settings import Settings
from rars.serving.systems import named_runs

NAME = "rars"
MISSING = "--engine ray needs Ray Serve; install it with: pip install 'rars[ray-serve]'"

_ONGOING = 1_024
"""Requests that a replica may have at once: its own queue says when it is too much."""
_PATIENCE = {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60"}
"""On a busy machine the proxy takes longer to start than the five seconds after which it is killed."""
_SAID = re.compile(r"RarsError: (.+)")


def serve_on_ray(named: Sequence[str], settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Serve runs on the cluster until somebody stops it; ``ready`` is called with the address."""
    try:
        from ray import serve
    except ImportError as error:
        raise Unavailable(MISSING) from error
    named_runs(named)
    for name, seconds in _PATIENCE.items():
        os.environ.setdefault(name, seconds)

    # A plain function: anything else would be taken for the application itself.
    def build() -> Any:
        return application(list(named), settings)

    with bound(settings) as door:  # what cannot be listened on is said before anything starts
        port, shown = door.getsockname()[1], address(door)
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    connected(settings.replicas)
    quiet = {"log_level": "ERROR", "enable_access_log": False}
    serve.start(
        proxy_location="HeadOnly",
        http_options={"host": settings.host, "port": port},
        logging_config=quiet,
    )
    searcher = serve.deployment(
        name=NAME,
        num_replicas=settings.replicas,
        max_ongoing_requests=_ONGOING,
        graceful_shutdown_timeout_s=settings.drain_seconds,
        ray_actor_options={
            "num_cpus": 1,
            "runtime_env": {"env_vars": dict.fromkeys(THREADS, str(settings.threads))},
        },
        logging_config=quiet,
    )(serve.ingress(build)())
    stopped = threading.Event()
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, lambda *_: stopped.set()) for one in kinds}
    try:
        try:
            serve.run(searcher.bind(), name=NAME, route_prefix="/")
        except RuntimeError as error:
            raise RarsError(_why(f"{error}\n{_told(serve)}")) from error
        ready(shown)
        stopped.wait()
    finally:
        serve.delete(NAME)
        for one, handler in before.items():
            signal.signal(one, handler)


def application(named: Sequence[str], settings: Settings) -> Any:
    """The application of one replica, built where it runs."""
    from ray import serve

    own = serve.get_replica_context().replica_id.unique_id
    return create_app(engine_of(named, settings, own), log=Log(on=settings.log))


def _told(serve: Any) -> str:
    """What Ray knows of the application, at length."""
    known = serve.status().applications.get(NAME)
    return "" if known is None else "\n".join(one.message for one in known.deployments.values())


def _why(text: str) -> str:
    """What a replica says of its own end, out of all that Ray says about it."""
    said = _SAID.search(text)
    if said is not None:
        return said[1].strip()
    return f"Ray Serve could not start the replicas: {text.strip().splitlines()[0].rstrip('.')}."
