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
    "realism",
    "training",
    "threads",
    "recipes",
    "evidence",
    "search",
    "scale",
    "large",
    "engines",
    "filters",
    "analyses",
    "serving",
    "costs",
    "simulation",
)


def main() -> None:
    given = sys.argv[1:]
    options = next((at for at, word in enumerate(given) if word.startswith("-")), len(given))
    names = given[:options] or BENCHMARKS
    if set(names) - set(BENCHMARKS) or (given[options:] and len(names) != 1):
        sys.exit(
            "usage: python -m benchmarks [NAME ...] or NAME OPTIONS, each one of "
            f"{', '.join(BENCHMARKS)}"
        )
    # One thread: ratios are about the work, not about how busy the other core is.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in names:
        subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *given[options:]],
            env=environment,
            check=True,
        )


if __name__ == "__main__":
    main()
