"""A refused command has changed nothing, and nobody changes a folder in which another process works."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from rars import pipeline
from rars.cli import app
from rars.cli.ending import UsageError
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from tests.search.trained import CHANGES, make_run

QUICK = " ".join(f"--set {change.replace(' ', '')}" for change in CHANGES)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two shops, a trained run, one with identifiers alone, one of words, and files of somebody else."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        make_run(folder)
        for words in (
            f"data shop {folder}/other --size 120 --seed 3",
            f"identify --recipe rars --data {folder}/shop --out {folder}/ids {QUICK}",
            f"train bm25 --data {folder}/shop --out {folder}/words",
        ):
            app(words.split(), standalone_mode=False)
        (folder / "thesis").mkdir()
        (folder / "thesis" / "years.tex").write_text("of work")
        (folder / "half" / "run").mkdir(parents=True)
        (folder / "half" / "run" / "years.tex").write_text("of work")
        (folder / "full" / "experiments").parent.mkdir()
        (folder / "full" / "experiments").touch()
        known = Dataset.load(folder / "shop").item_ids[0].as_py()
        (folder / "known.jsonl").write_text(json.dumps({"id": known, "title": "x"}) + "\n")
        (folder / "unknown.jsonl").write_text(json.dumps({"id": "?", "title": "x"}) + "\n")
        asked = [{"id": "q", "text": "x"}]
        Dataset.of([{"id": "a", "title": "x"}], asked).save(folder / "mine" / "shop")
        yield folder


def everything(folder):
    """Every name, what it leads to, its bytes and when they were written."""
    return {
        str(path.relative_to(folder)): (
            path.is_symlink() and str(path.readlink()),
            path.is_file() and (path.read_bytes(), path.stat().st_mtime_ns),
        )
        for path in folder.rglob("*")
    }


REFUSED = [
    "identify --recipe rars --data {shop} --out {run} --set identifiers.sizes=[4,4]",
    "identify --recipe rars --data {other} --out {run}",
    "identify --recipe rars --data {shop} --out {thesis}",
    "identify --recipe rars --data {shop} --out {known}",
    "identify --recipe rars --data {shop} --out {shop}",
    "identify --recipe rars --data {shop} --out {new} --set identifiers.sizes=[0]",
    "identify --recipe rars --data {thesis} --out {new}",
    "train rars --data {shop} --out {run} {quick} --set training.pairs=32",
    "train rars --data {shop} --out {run} {quick} --set training.seed=5",
    "train base --data {shop} --out {run} {quick}",
    "train rars --data {shop} --out {run} {quick} --set identifiers.seed=9",
    "train rars --data {other} --out {run} {quick}",
    "train bm25 --data {shop} --out {run}",
    "train rars --data {shop} --out {words} {quick}",
    "train bm25 --data {other} --out {words}",
    "train bm25 --data {shop} --out {new} --identifiers {run}",
    "train dense --data {shop} --out {new} --set dense.embedder=magic",
    "train rars --data {shop} --out {new} --set model.backbone=t5:/nowhere",
    "train rars --data {other} --out {new} --identifiers {run} {quick}",
    "train base --data {shop} --out {new} --identifiers {run} {quick} --set identifiers.seed=9",
    "train rars --data {shop} --out {thesis} {quick}",
    "train nothing --data {shop} --out {new}",
    "index {ids}",
    "index {ids} --tune",
    "index {words}",
    "index {thesis}",
    "evaluate {ids}",
    "evaluate {run} --rule sideways",
    "evaluate {run} --rule ar,sideways",
    "compare {words} {run} --rule hybrid --reference hybrid",
    "compare {words} {run} --measures Recall@100,taste",
    "compare {words} {run} {nowhere}",
    "compare {words} {run} --markdown {known}/table.md",
    "compare {words} {run} --markdown {thesis}",
    "compare {words} {run} --rule ar,sideways",
    "compare bm25 {run} --reference nobody",
    "compare {words} {run} --split nowhere",
    "evaluate {run} --split nowhere",
    "evaluate {new}",
    "verify {run}",
    "catalog add {run} {known}",
    "catalog add {run} {new}",
    "catalog add {ids} {unknown}",
    "catalog remove {run} {unknown}",
    "catalog update {run} {unknown}",
    "catalog rollback {run}",
    "catalog rollback {run} --to v000009",
    "experiment nothing --data {shop} --out {new}",
    "experiment main --data {thesis} --out {new}",
    "experiment main --data {shop} --out {new} --jobs 0",
    "data shop {thesis}",
    "data shop {known}",
    "data shop {run}",
    "data shop {new} --size 3",
    "data import {new} --items {known} --queries {nowhere} --judgments {nowhere}",
    "data import {thesis} --items {known} --queries {known} --judgments {known}",
    "data esci {thesis} --out {new}",
    "demo --out {known}",
    "demo --out {new} --size 0",
    "demo --out {new} --size three",
    "demo --out {new} --locale tlh",
    "demo --out {new} --epochs 0",
    "demo --out {home} --size tiny",  # which holds another shop
    "demo --out {mine}",  # a dataset that is no shop
    "demo --out {half} --size tiny",  # no run is in the place of its run
    "demo --out {full} --size tiny",
    "plot {run} --out {known}/x.png",
    "plot {run} --out {new}/x.docx",
    "analyze {run} ambiguity --split nowhere",
    "inspect {run} --plot {new}/x.docx",
    "inspect {words}",
]


def places(home, tmp_path):
    names = {path.stem: path for path in home.iterdir() if not path.name.startswith(".")}
    return names | {
        "new": tmp_path / "a" / "new",
        "nowhere": tmp_path / "nowhere",
        "quick": QUICK,
        "home": home,
    }


@pytest.mark.parametrize("words", REFUSED)
def test_a_refused_command_changes_nothing(home, tmp_path, words):
    before = everything(home)
    with pytest.raises((RarsError, UsageError)):
        app(words.format(**places(home, tmp_path)).split(), standalone_mode=False)
    assert everything(home) == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("recipe", "change"),
    [
        ("rars", "model.backbone=t5:/nowhere"),
        ("base", "training.epochs=1"),  # which has nothing to train on here
        ("dense", "dense.embedder=magic"),
    ],
)
def test_a_refused_training_of_data_in_memory_keeps_no_copy(home, tmp_path, recipe, change):
    shop = Dataset.load(home / "shop")
    view = shop.with_split(["test"] * shop.n_queries)
    resolved = Recipe.resolve(recipe, size="tiny", changes=[change])
    with pytest.raises(RarsError):
        pipeline.train(view, resolved, tmp_path / "run")
    assert not list(tmp_path.iterdir())


# -- one at a time ---------------------------------------------------------------------------------

HOLDER = """
import sys
from rars import locks
with locks.held(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def taken(home, tmp_path):
    """A copy of the trained run in which another process works."""
    run = tmp_path / "run"
    shutil.copytree(home / "run", run, symlinks=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "held\n"
    yield run, holder.pid
    holder.stdin.close()
    holder.wait()


def test_who_would_write_is_told_who_works_there_and_readers_go_on(home, taken):
    run, pid = taken
    before = everything(run)
    for words in (
        f"identify --recipe rars --data {home}/shop --out {run} {QUICK} --force",
        f"train rars --data {home}/shop --out {run} {QUICK}",
        f"index {run} --force",
        f"index {run} --tune",
        f"evaluate {run}",
        f"catalog add {run} {home}/unknown.jsonl",
        f"catalog rollback {run}",
        f"inspect {run}",
        f"analyze {run} ambiguity",
        f"plot {run}",
        f"plot {run} --out {run}/elsewhere.svg",
    ):
        with pytest.raises(RarsError, match=rf"is being changed by process {pid} \("):
            app(words.split(), standalone_mode=False)
    beside = run.parent / "curves.svg"
    for words in (f"search {run} shoes", f"catalog log {run}", f"plot {run} --out {beside}"):
        app(words.split(), standalone_mode=False)
    assert everything(run) == before
    assert beside.read_bytes().startswith(b"<?xml")


# -- what was stored -------------------------------------------------------------------------------


def test_verifying_looks_at_every_version_of_the_index(home, tmp_path):
    pytest.importorskip("ir_measures")
    run = tmp_path / "run"
    shutil.copytree(home / "run", run, symlinks=True)
    app(f"evaluate {run} --rule ar".split(), standalone_mode=False)
    app(f"catalog add {run} {home}/unknown.jsonl".split(), standalone_mode=False)
    app(f"verify {run}".split(), standalone_mode=False)
    path = run / "index" / "v000001" / "codes.npy"  # no longer searched, but one can go back to it
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    with pytest.raises(RarsError, match=r"index/v000001/codes\.npy has changed"):
        app(f"verify {run}".split(), standalone_mode=False)
