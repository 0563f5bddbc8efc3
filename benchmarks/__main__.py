"""``make bench``: every benchmark in turn, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

BENCHMARKS = (
    "start",
    "tree",
    "learners",
    "projection",
    "shop",
    "shop_bm25",
    "training",
    "recipes",
    "evidence",
    "search",
    "filters",
    "analyses",
    "serving",
    "costs",
    "simulation",
)


def main() -> None:
    names = sys.argv[1:] or BENCHMARKS
    if set(names) - set(BENCHMARKS):
        sys.exit(f"usage: python -m benchmarks [NAME ...], each one of {', '.join(BENCHMARKS)}")
    # One thread: ratios are about the work, not about how busy the other core is.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in names:
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], env=environment, check=True)


if __name__ == "__main__":
    main()
