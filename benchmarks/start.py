"""Start times: what a person waits for before a command answers, against what torch alone costs.

Trains a small retriever in a temporary folder, and lets ``import torch``, ``rars --help`` and a warm
``rars search`` take turns, each in a process of its own. Asks for: ``rars --help`` under 0.3 s, and a search
within a second of ``import torch``.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import rars
from benchmarks.measure import alternate, report
from rars.data.shop import make_shop


def main() -> None:
    with TemporaryDirectory() as place:
        shop, run = Path(place) / "shop", Path(place) / "run"
        make_shop(shop, size="tiny")
        changes = ["training.epochs=1"]
        rars.train(rars.Dataset.load(shop), rars.Recipe.resolve("rars", changes=changes), out=run)
        commands = {
            "import torch": ["-c", "import torch"],
            "rars --help": ["-m", "rars", "--help"],
            "rars search": ["-m", "rars", "search", str(run), "power bank"],
        }
        seconds = alternate(
            {name: partial(_run, arguments) for name, arguments in commands.items()}
        )
    report(
        "start: seconds until a process has answered",
        [
            {"command": name, "seconds": taken, "beyond torch": taken - seconds["import torch"]}
            for name, taken in seconds.items()
        ],
        "medians of five turns; tiny shop, files in the page cache",
    )


def _run(arguments: list[str]) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
