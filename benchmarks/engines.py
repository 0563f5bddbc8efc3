"""The same bytes whoever does the work: one process, several, a Ray cluster, a cluster that loses a node.

``python -m benchmarks engines``: by the commands a person would type on the demo's shop, each in a process of
its own with an empty cache, and with as many NumPy threads as it takes by itself (the variables that say how
many are removed). Ray's nodes are of one core, on loopback; the second one is killed while shards of it are
on the way, of an experiment while its runs train and have checkpoints.

    identify   vectors in the cache and identifiers, by each engine
    index      a version of the index, but for the manifest that says when it was made
    grid       the models and the numbers of ``rars experiment demo``, on this machine and on two nodes

Seconds say nothing of engines here: two cores share whatever else runs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measure import report
from rars.scale.cores import THREADS

PARTS = ("identify", "index", "grid")
ENGINES = {
    "one process": ("--workers", "1"),
    "two processes": ("--workers", "2"),
    "Ray, 1 worker": ("--engine", "ray", "--workers", "1"),
    "Ray, 2 workers": ("--engine", "ray", "--workers", "2"),
    "Ray, 4 workers": ("--engine", "ray", "--workers", "4"),
}
NODES = "Ray, two nodes, one killed"
_TICK = 0.02

Kill = Callable[[], None]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", default="demo", help="a size of rars data shop")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--folder", type=Path, help="where all of it is made and left")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = options.folder or Path(scratch)
        shop = home / "shop"
        if not shop.exists():
            rars(home, "data", "shop", shop, "--size", options.items)
        for part in options.parts.split(","):
            {"identify": identify, "index": index, "grid": grid}[part](home, shop)


def identify(home: Path, shop: Path) -> None:
    """Vectors and identifiers from nothing."""

    def make(name: str, words: Iterable[str], kill: Kill | None) -> dict[str, Any]:
        place = _fresh(home / "identify" / _slug(name))
        line = ("identify", "--recipe", "practical", "--data", shop, "--out", place / "run", *words)
        shards = place / "cache" / "embeddings"
        row = watched(place, line, shards, "*.shards/*/manifest.json", kill)
        row["vectors"] = digest(place / "cache" / "embeddings")
        row["identifiers"] = digest(place / "run" / "identifiers")
        return row

    compared("engines-identify: rars identify by engine", make)


def index(home: Path, shop: Path) -> None:
    """A version of the index; the model it belongs to took one step."""
    source = home / "index" / "trained"
    if not (source / "run" / "index" / "current.json").exists():
        line = ("train", "practical", "--data", shop, "--out", source / "run")
        rars(source, *line, "--set", "training.epochs=1", "--set", "training.steps=1")

    def make(name: str, words: Iterable[str], kill: Kill | None) -> dict[str, Any]:
        place = _fresh(home / "index" / _slug(name))
        shutil.copytree(source / "run", place / "run")
        shutil.copytree(source / "cache", place / "cache")
        made = place / "run" / "index"
        before = set(made.iterdir())
        line = ("index", place / "run", "--force", *words)
        row = watched(place, line, made, ".shards/**/manifest.json", kill)
        (version,) = (one for one in made.iterdir() if one.is_dir() and one not in before)
        row["evidence"] = digest(version / "evidence")
        row["all of the version"] = digest(version, but=version / "manifest.json")
        return row

    compared("engines-index: rars index by engine", make)


def grid(home: Path, shop: Path) -> None:
    """Whole experiments: every model and every number."""
    changes = ("training.epochs=2", "training.checkpoint_seconds=2")
    line = [
        *("experiment", "demo", "--data", shop, "--seeds", 1, "--jobs", 2),
        *(word for one in changes for word in ("--set", one)),
    ]

    def made(name: str, *words: str, lose: Kill | None = None) -> dict[str, Any]:
        place = _fresh(home / "grid" / _slug(name))
        begun = time.perf_counter()
        process = started(place, *line, "--out", place / "out", *words)
        runs = place / "out" / "runs"
        if lose is not None:
            wait_for(lambda: len(training(runs)) > 1, process)
            lose()
        finish(process)
        logs = [one.read_text() for one in runs.glob("*.log")]
        return {
            "runs": len(logs),
            "begun again": sum(text.count("$ ") > 1 for text in logs) if lose else 0,
            "from a checkpoint": sum("Going on from step" in text for text in logs),
            "models": digest(*sorted(runs.glob("*/model"))),
            "numbers": digest(*sorted(runs.glob("*/results"))),
            "seconds": round(time.perf_counter() - begun),
        }

    rows = [{"engine": "this machine"} | made("this machine")]
    with two_nodes(home) as lose:
        rows.append({"engine": NODES} | made(NODES, "--engine", "ray", lose=lose))
    report("engines-grid: rars experiment demo, two runs at a time", rows)
    same(rows, ("models", "numbers"))
    if not rows[1]["from a checkpoint"]:
        sys.exit("no run of the lost node went on from a checkpoint")


# -- what is the same ------------------------------------------------------------------------------


def compared(title: str, make: Callable[[str, Iterable[str], Kill | None], dict[str, Any]]) -> None:
    """A row for every engine; anything that differs ends the benchmark."""
    rows = [{"engine": name} | make(name, words, None) for name, words in ENGINES.items()]
    with two_nodes(Path(tempfile.mkdtemp())) as lose:
        rows.append({"engine": NODES} | make(NODES, ("--engine", "ray"), lose))
    report(title, rows)
    same(
        rows, [name for name in rows[0] if name not in ("engine", "seconds", "shards at the kill")]
    )


def same(rows: list[dict[str, Any]], names: Iterable[str]) -> None:
    """End where rows differ in what they made."""
    for name in names:
        if len({row[name] for row in rows}) > 1:
            sys.exit(f"{name}: not the same by every engine")


def digest(*folders: Path, but: Path | None = None) -> str:
    """Of the names and bytes of all files; the lock files that processes leave have none."""
    found = hashlib.sha256()
    for folder in folders:
        files = sorted(one for one in folder.rglob("*") if one.is_file() and one != but)
        assert files, f"nothing in {folder}"
        for one in files:
            found.update(f"{folder.parent.name}/{one.relative_to(folder)}".encode())
            found.update(hashlib.sha256(one.read_bytes()).digest())
    return found.hexdigest()[:12]


def training(runs: Path) -> list[Path]:
    """Runs that have a checkpoint and no model yet."""
    begun = {one.parents[2] for one in runs.glob("*/checkpoints/*/step-*")}
    return [one for one in begun if not (one / "model").exists()]


# -- commands, and nodes that are lost -------------------------------------------------------------


def watched(
    place: Path, line: Iterable[object], shards: Path, pattern: str, kill: Kill | None
) -> dict[str, Any]:
    """Run a command; ``kill`` when the first shard is there, and say how many there were by then."""
    begun = time.perf_counter()
    process = started(place, *line)
    row: dict[str, Any] = {}
    if kill is not None:
        wait_for(lambda: any(shards.glob(pattern)), process)
        row["shards at the kill"] = sum(1 for _ in shards.glob(pattern))
        kill()
    finish(process)
    return {"seconds": round(time.perf_counter() - begun)} | row


def rars(place: Path, *words: object) -> None:
    """A command, to its end."""
    finish(started(place, *words))


def started(place: Path, *words: object) -> subprocess.Popen[bytes]:
    """A command with a cache of its own; what it says is in ``log``."""
    place.mkdir(parents=True, exist_ok=True)
    known = {name: value for name, value in os.environ.items() if name not in THREADS}
    with (place / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "rars", *map(str, words)],
            env=known | {"RARS_CACHE": str(place / "cache")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for it; a failure ends the benchmark."""
    if code := process.wait():
        sys.exit(f"{' '.join(map(str, process.args[2:]))}: exit {code}")  # type: ignore[index]


def wait_for(seen: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Until it is seen; too late if the command has ended by then."""
    while not seen():
        if process.poll() is not None:
            sys.exit("the command ended before a node could be killed")
        time.sleep(_TICK)


@contextmanager
def two_nodes(home: Path) -> Iterator[Kill]:
    """A cluster of two nodes; the block is given what kills the second one."""
    clusters: Any = import_module("tests.scale.clusters")
    with clusters.two_nodes(home) as (cluster, second):

        def kill() -> None:
            print(f"{time.strftime('%H:%M:%S')} a node is killed", file=sys.stderr, flush=True)
            cluster.remove_node(second, allow_graceful=False)

        yield kill


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _slug(name: str) -> str:
    return name.replace(",", "").replace(" ", "-")


if __name__ == "__main__":
    main()
