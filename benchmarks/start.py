"""Start times: what a person waits for before a command answers, against what torch alone costs.

Trains a small retriever in a temporary folder, and lets ``import torch``, ``rars --help``, ``import rars``,
opening the run and a warm ``rars search`` take turns, each in a process of its own. Asks for: ``rars --help``
under 0.3 s, and a search within a second of ``import torch``.

    python -m benchmarks.start --beside FOLDER --items 4000     another version of the sources takes turns too

Each version trains a run of its own, since formats differ. Seconds are those of the processor: what other
processes take is not counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import report

HERE = Path(__file__).parents[1]
TURNS = 11
_OPENING = (
    "import sys, time; from rars import Retriever; start = time.process_time(); "
    "Retriever.load(sys.argv[1]); print(time.process_time() - start)"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start")
    parser.add_argument("--beside", type=Path, help="a folder with another version of the sources")
    parser.add_argument("--items", default="tiny", help="size of the shop")
    asked = parser.parse_args()
    versions = {"this": HERE}
    if asked.beside is not None:
        versions = {"beside": asked.beside.resolve(), "this": HERE}
    seconds: dict[str, dict[str, list[float]]] = {
        name: defaultdict(list) for name in ("import torch", *_commands(Path()))
    }
    with TemporaryDirectory() as place:
        runs = {name: Path(place) / name for name in versions}
        for name, sources in versions.items():
            _prepare(sources, runs[name], asked.items)
        for turn in range(TURNS + 1):
            for name in sorted(versions, reverse=turn % 2 == 1):
                _turn(name, versions[name], runs[name] / "run", seconds, counted=turn > 0)
    _report(seconds, list(versions), asked.items)


def _commands(run: Path) -> dict[str, list[str]]:
    return {
        "rars --help": ["-m", "rars", "--help"],
        "import rars": ["-c", "import rars"],
        "from rars import Retriever": ["-c", "from rars import Retriever"],
        "Retriever.load, once imported": ["-c", _OPENING, str(run)],
        "rars search": ["-m", "rars", "search", str(run), "power bank"],
    }


def _prepare(sources: Path, home: Path, items: str) -> None:
    shop = str(home / "shop")
    # Versions before the dial know no other shop.
    tidy = [] if items == "tiny" else ["--realism", "0"]
    _run(sources, ["-m", "rars", "data", "shop", shop, "--size", items, *tidy])
    words = ["train", "rars", "--data", shop, "--out", str(home / "run"), "--size", "tiny"]
    _run(sources, ["-m", "rars", *words, "--set", "training.epochs=1"])


def _turn(
    name: str,
    sources: Path,
    run: Path,
    seconds: dict[str, dict[str, list[float]]],
    *,
    counted: bool,
) -> None:
    for command, arguments in {"import torch": ["-c", "import torch"], **_commands(run)}.items():
        taken, said = _run(sources, arguments)
        if counted:  # the first turn fills the page cache
            seconds[command][name].append(float(said) if _OPENING in arguments else taken)


def _run(sources: Path, arguments: list[str]) -> tuple[float, str]:
    """Seconds of the processor that a command took, and what it printed."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(sources / "src")},
    )
    after = os.times()
    taken = after.children_user + after.children_system
    return taken - before.children_user - before.children_system, done.stdout


def _report(seconds: dict[str, dict[str, list[float]]], names: list[str], items: str) -> None:
    rows = []
    torch = statistics.median(seconds["import torch"]["this"])
    for command, by in seconds.items():
        medians = {name: statistics.median(by[name]) for name in names}
        row: dict[str, object] = {"command": command, **medians}
        if len(names) == 1:
            row["beyond torch"] = medians["this"] - torch
        else:
            row["ratio"] = medians["this"] / medians["beside"]
            pairs = zip(by["this"], by["beside"], strict=True)
            row["median of ratios"] = statistics.median(one / other for one, other in pairs)
        rows.append(row)
    note = f"processor seconds, medians of {TURNS} turns; shop {items}, files in the page cache"
    report("start: seconds until a process has answered", rows, note)


if __name__ == "__main__":
    main()
