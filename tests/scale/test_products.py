"""NumPy and torch multiply with one thread where bytes are promised, and as before everywhere else."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading

import pytest
import threadpoolctl

from rars.data.shop import make_shop
from rars.scale import INLINE, cost
from rars.scale.cores import THREADS
from rars.scale.local import Local
from rars.scale.products import _KERNELS, ONE_THREAD, _libraries, as_numpy

from . import work, work_with_torch

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
    assert list(engine.map(work_with_torch.threads_of_torch, [{}, {}])) == [1, 1]


def test_a_machine_is_probed_with_one_too(two):
    """With several, a busy machine seemed ten times slower than the work would find it."""
    seen = []

    def clock():
        seen.append(work.threads_of_products())
        return 0.0

    cost.probe(clock)
    assert seen == [1, 1]


SERVER = """
from contextlib import suppress
from rars.errors import RarsError
from rars.scale import threads
from rars.serving.server import engine_of
from rars.serving.settings import Settings
from tests.scale.work import threads_of_products
before = threads_of_products()
with suppress(RarsError):  # there is nothing to serve
    engine_of([], Settings(threads=THREADS), None)
print(before, threads_of_products(), threads.chosen(1).threads, threads.chosen(10**9).threads)
"""


@pytest.mark.parametrize("count", [1, 3])
def test_a_server_multiplies_with_the_threads_of_its_settings(count):
    """With all cores each search took twice the processor time, and no less of the clock."""
    clean = {name: value for name, value in os.environ.items() if name not in THREADS}
    line = [sys.executable, "-c", SERVER.replace("THREADS", str(count))]
    environment = clean | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", *3 * [str(count)]]


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


FAISS = """
import json, threadpoolctl
from rars.identifiers.kmeans import library
from rars.scale.products import _architectures
numpy = _architectures()
library()
found = threadpoolctl.ThreadpoolController().select(internal_api="openblas").info()
print(json.dumps([numpy, [one["architecture"] for one in found if "faiss" in one["filepath"]]]))
"""


def _taken_for(**environment):
    """What NumPy's libraries, and faiss's OpenBLAS, take this processor for, in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    line = [sys.executable, "-c", FAISS]
    done = subprocess.run(line, env=clean | environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_faiss_multiplies_as_numpy_does():
    """Its own OpenBLAS is older, and would be four to six times slower on a younger processor."""
    numpy, faiss = _taken_for()
    ours = next(filter(None, map(_KERNELS.get, numpy)), None)
    if ours is None or not faiss:
        pytest.skip("NumPy or faiss multiply with another library here")
    assert faiss == [ours]


def test_what_the_environment_says_of_kernels_stands():
    if not _taken_for()[1]:
        pytest.skip("faiss multiplies with another library here")
    assert _taken_for(OPENBLAS_CORETYPE="Nehalem")[1] == ["Nehalem"]


def test_the_environment_is_afterwards_as_it_was(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    with pytest.raises(ZeroDivisionError), as_numpy():
        1 / 0  # noqa: B018
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_the_library_of_numpy_is_found():
    """Without it the switch would switch nothing."""
    assert len(_libraries()) >= 1
