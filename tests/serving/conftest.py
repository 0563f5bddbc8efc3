"""One trained run and one server over it for all tests of a process; tests that change a run take a copy."""

from __future__ import annotations

import shutil

import pytest

from rars.search.retriever import Retriever
from tests.search.trained import make_run
from tests.serving.running import running


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("serving"))


@pytest.fixture(scope="session")
def retriever(trained):
    return Retriever.load(trained)


@pytest.fixture(scope="session")
def server(trained, tmp_path_factory):
    state = tmp_path_factory.mktemp("state")
    # A busy machine is slow; that says nothing about the answers.
    with running(trained, "bm25", state=state, deadline_ms=60_000) as found:
        yield found


@pytest.fixture
def client(server):
    return server.client


@pytest.fixture
def run(trained, tmp_path):
    """A copy that may be changed."""
    return shutil.copytree(trained, tmp_path / "run")
