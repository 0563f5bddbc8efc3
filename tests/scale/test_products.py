"""NumPy multiplies with one thread where bytes are promised, and as before everywhere else."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading

import pytest
import threadpoolctl

from rars.data.shop import make_shop
from rars.scale import INLINE, cost
from rars.scale.local import THREADS, Local
from rars.scale.products import ONE_THREAD, _libraries

from . import work

EMBED = """
import hashlib
from rars.identifiers import open_embedder
texts = [f"{a} {b} {n} ml, with lid" for n in range(40) for a in ("red", "steel") for b in ("mug", "jar")]
print(hashlib.sha256(open_embedder("use").embed(texts).tobytes()).hexdigest())
"""


@pytest.fixture
def two():
    """NumPy has two threads, as on a machine of two cores."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if work.threads_of_products() != 2:
            pytest.skip("this NumPy has no products of several threads")
        yield


def test_inside_there_is_one_and_afterwards_what_was(two):
    with ONE_THREAD:
        assert work.threads_of_products() == 1
        with ONE_THREAD:
            assert work.threads_of_products() == 1
        assert work.threads_of_products() == 1, "the inner block is not the last one to leave"
    assert work.threads_of_products() == 2


def test_an_error_inside_puts_it_back_too(two):
    with pytest.raises(ZeroDivisionError), ONE_THREAD:
        1 / 0  # noqa: B018
    assert work.threads_of_products() == 2


def test_whoever_leaves_first_takes_nothing_from_the_others(two):
    left, seen = threading.Event(), []

    def stay():
        with ONE_THREAD:
            inside.set()
            left.wait(10)
            seen.append(work.threads_of_products())

    inside = threading.Event()
    other = threading.Thread(target=stay)
    with ONE_THREAD:
        other.start()
        inside.wait(10)
    left.set()
    other.join()
    assert seen == [1]


@pytest.mark.parametrize("engine", [INLINE, Local(2)], ids=["inline", "local"])
def test_every_engine_makes_its_calls_so(two, engine, monkeypatch):
    monkeypatch.setenv(THREADS[0], "2")
    assert list(engine.map(work.threads_of_products, [{}, {}])) == [1, 1]


def test_a_machine_is_probed_with_one_too(two):
    """With several, a busy machine seemed ten times slower than the work would find it."""
    seen = []

    def clock():
        seen.append(work.threads_of_products())
        return 0.0

    cost.probe(clock, times=2)
    assert seen == [1, 1, 1, 1]


def test_the_environment_does_not_change_a_bit_of_a_vector():
    """A process with all cores, and one of many with a core each, make the same catalogue."""
    found = set()
    for count in ("1", "2", "3"):
        environment = os.environ | dict.fromkeys(THREADS, count)
        done = subprocess.run(
            [sys.executable, "-c", EMBED],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_the_environment_does_not_change_a_bit_of_an_identifier(tmp_path):
    """Nor does what is done with vectors: the maps that turn them, codebooks, codes."""
    make_shop(tmp_path / "shop", size="tiny")
    found = set()
    for count in ("1", "2"):
        environment = os.environ | dict.fromkeys(THREADS, count)
        environment["RARS_CACHE"] = str(tmp_path / f"cache-{count}")
        out = tmp_path / count
        line = ["identify", "--recipe", "practical", "--data", tmp_path / "shop", "--out", out]
        line += ["--set", "identifiers.sizes=[16,16]", "--set", "identifiers.fit.epochs=2"]
        subprocess.run([sys.executable, "-m", "rars", *map(str, line)], env=environment, check=True)
        digests = [
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((out / "identifiers").rglob("*"))
            if path.is_file() and path.suffix in (".npy", ".safetensors")
        ]
        assert len(digests) >= 3
        found.add(tuple(digests))
    assert len(found) == 1


def test_the_library_of_numpy_is_found():
    """Without it the switch would switch nothing."""
    assert len(_libraries()) >= 1
