"""Ray: two real nodes on loopback, one of them killed in the middle; nothing is lost and no bit differs."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rars.errors import RarsError, Unavailable
from rars.scale import choose
from rars.scale.cluster import MISSING, Ray
from rars.scale.shards import Shards
from tests.scale import work
from tests.scale.clusters import NEEDS_RAY, two_nodes


def test_without_the_extra_one_sentence_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Unavailable) as said:
        list(Ray().map(work.square, [{"number": 1}]))
    assert str(said.value) == MISSING
    assert "pip install" in MISSING


@NEEDS_RAY
def test_two_nodes_one_killed_in_the_middle(tmp_path):
    with two_nodes(tmp_path) as (cluster, second):
        import ray

        engine = choose("ray")
        found = list(engine.map(work.square, ({"number": n} for n in range(7))))
        assert [value for value, _ in found] == [n * n for n in range(7)]
        assert engine.workers == 2
        with pytest.raises(RarsError, match="The second one is not to be had"):
            list(engine.map(work.refuse, ({"number": n} for n in range(4))))
        shards = Shards(tmp_path / "shards", "numbers", 24)
        calls = ({"shards": shards, "number": n, "seconds": 0.5} for n in range(24))
        seen, killed = [], False
        for node in engine.map(work.write_slowly, calls):
            seen.append(node)
            # Once both have worked: on a busy machine one of them may be late.
            if len(set(seen)) == 2 and not killed:
                cluster.remove_node(second, allow_graceful=False)
                killed = True
        assert len(seen) == 24
        assert killed
        addresses = {node["NodeManagerAddress"] for node in ray.nodes()}
        assert addresses == {"127.0.0.1"}
        joined = np.empty(72, dtype=np.int64)
        shards.join("values", joined)
        np.testing.assert_array_equal(joined, np.repeat(np.arange(24), 3))
