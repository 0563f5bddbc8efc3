"""One trained run for all tests of a process; tests that change a run take a copy."""

from __future__ import annotations

import shutil

import pytest

from rars.search.retriever import Retriever
from tests.search.trained import make_run


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="session")
def retriever(trained):
    return Retriever.load(trained)


@pytest.fixture(scope="session")
def practical(tmp_path_factory):
    # A rate that changes nothing: what is found is what the prior says.
    return make_run(
        tmp_path_factory.mktemp("prior"),
        "run",
        "training.learning_rate=1e-12",
        "training.epochs=1",
        recipe="practical",
    )


@pytest.fixture
def run(trained, tmp_path):
    """A copy that may be changed."""
    return shutil.copytree(trained, tmp_path / "run")
