"""A real Ray cluster of two nodes on the loopback address, with a home folder of its own."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NEEDS_RAY = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'rars[ray]'"
)

_OBJECTS = 80_000_000
"""Bytes of a node's object store; the least that Ray accepts is not much smaller."""


@contextmanager
def two_nodes(home: Path) -> Iterator[tuple[Any, Any]]:
    """The cluster and its second node, each of one core; this process is connected to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))  # where Ray keeps its token
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback alone
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # What tests import, nodes must find too.
        root = str(Path(__file__).parents[2])
        patch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
        patch.delenv("RAY_ADDRESS", raising=False)
        import ray
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "object_store_memory": _OBJECTS, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=node)
        try:
            second = cluster.add_node(num_cpus=1, object_store_memory=_OBJECTS)
            cluster.wait_for_nodes()
            patch.setenv("RAY_ADDRESS", cluster.address)
            yield cluster, second
        finally:
            ray.shutdown()
            cluster.shutdown()
