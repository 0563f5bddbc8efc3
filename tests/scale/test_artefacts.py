"""Identifiers and index are the same bytes by any engine; on Ray, though a node is killed in the middle."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from rars import pipeline
from rars.config import Recipe
from rars.data import Dataset
from rars.identifiers import assigning, embed
from rars.progress import Silent
from rars.runs import Run
from rars.scale import AS_NEEDED, INLINE, as_needed, choose, cores
from rars.scale.local import Local
from rars.search.evidence import sharding
from rars.search.index import build_index, home
from tests.scale.clusters import NEEDS_RAY, two_nodes
from tests.search.trained import CHANGES, make_run


class Watching(Silent):
    """Calls somebody when work has begun to come in."""

    def __init__(self, act):
        self._acts = [act]

    @contextmanager
    def stage(self, name):
        def advance(done, total):
            if self._acts and done < total:
                self._acts.pop()()

        yield advance


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("engines"))


@pytest.fixture(autouse=True)
def many_shards(monkeypatch):
    monkeypatch.setattr(embed, "_FEWEST", 40)
    monkeypatch.setattr(assigning, "ROWS", 64)
    monkeypatch.setattr(sharding, "_FEWEST", 30)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def made(run, out, cache, engine, tell, monkeypatch):
    """All that is computed by shards: vectors, identifiers, and the index but for when it was made."""
    monkeypatch.setenv("RARS_CACHE", str(cache))
    recipe = Recipe.resolve("rars", size="tiny", changes=CHANGES)
    dataset = Dataset.load(run.parent / "shop")
    pipeline.identify(dataset, recipe, out, engine=engine, tell=tell)
    version = build_index(Run.open(run), engine=engine)
    assert not (home(Run.open(run)) / ".shards").exists()
    return {
        "vectors": contents(cache / "embeddings"),
        "identifiers": contents(out / "identifiers"),
        "tree": contents(home(Run.open(run)) / version / "tree"),
        "evidence": contents(home(Run.open(run)) / version / "evidence"),
    }


def same(one, two):
    assert all(one.values())
    assert {part: sorted(files) for part, files in one.items()} == {
        part: sorted(files) for part, files in two.items()
    }
    assert one == two


@pytest.mark.parametrize("engine", [Local(2), AS_NEEDED], ids=["two", "as needed"])
def test_several_processes_make_the_same_bytes(run, tmp_path, monkeypatch, engine):
    monkeypatch.setattr(as_needed, "START", 0.0)
    monkeypatch.setattr(cores, "free", lambda used: 2)
    nothing = Watching(lambda: None)
    plain = made(run, tmp_path / "a", tmp_path / "ca", INLINE, nothing, monkeypatch)
    several = made(run, tmp_path / "b", tmp_path / "cb", engine, nothing, monkeypatch)
    same(plain, several)


@NEEDS_RAY
def test_two_nodes_make_the_same_bytes_though_one_is_killed(run, tmp_path, monkeypatch):
    nothing = Watching(lambda: None)
    plain = made(run, tmp_path / "a", tmp_path / "ca", INLINE, nothing, monkeypatch)
    with two_nodes(tmp_path) as (cluster, second):
        engine = choose("ray")
        assert engine.workers == 2
        killed = []

        def kill():
            cluster.remove_node(second, allow_graceful=False)
            killed.append(second)

        spread = made(run, tmp_path / "b", tmp_path / "cb", engine, Watching(kill), monkeypatch)
        assert killed
    same(plain, spread)
