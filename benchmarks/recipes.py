"""Training pairs per second of every generative recipe at size ``tiny``, beside Base, in one run.

Each recipe trains on a generated shop; the phases of one that has several are timed by themselves, mining of
lists included. Identifiers are learned before, with few rounds, and are not timed. Seconds are those of the
process, not of the clock: recipes train one after the other, on a machine that may have other work.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.measure import report
from rars import Dataset, Recipe, train
from rars.config import recipe_list
from rars.data.shop import make_shop
from rars.training import loop

ROUNDS = {
    "identifiers.rqvae.epochs": 2,
    "identifiers.poincare-rqvae.epochs": 2,
    "identifiers.fit.epochs": 1,
}


def quick(name: str, epochs: int) -> Recipe:
    """A recipe with so many epochs a phase and identifiers that are learned quickly."""
    recipe = Recipe.resolve(name, size="tiny")
    written = recipe.model_dump(mode="json")["identifiers"]
    changes = [
        f"training.epochs={epochs}",
        "training.checkpoint_seconds=600",
        "training.keep=final",
    ]
    for phase in recipe.training.phases:
        changes.append(f"training.phases.{phase.name}.epochs={epochs}")
    for key, value in ROUNDS.items():
        _, part, setting = key.split(".")
        if setting in (written.get(part) or {}):
            changes.append(f"{key}={value}")
    return Recipe.resolve(name, size="tiny", changes=changes)


def rates(run: Path) -> dict[str, float]:
    """Pairs per second at the end of every phase."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    return {one.get("phase", ""): one["pairs_per_second"] for one in lines if "loss" in one}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recipes", nargs="*", help="All generative ones if none is named.")
    parser.add_argument("--size", default="tiny", help="Of the shop: tiny, demo, ...")
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    listed = [one.name for one in recipe_list() if one.system == "generative"]
    names = ["base", *(name for name in options.recipes or listed if name != "base")]
    rows: list[dict[str, Any]] = []
    # Seconds of the process: the journal's rates then do not hang on how busy the machine is.
    vars(loop)["time"] = SimpleNamespace(monotonic=time.process_time)
    with tempfile.TemporaryDirectory() as folder:
        make_shop(Path(folder) / "shop", size=options.size)
        shop = Dataset.load(Path(folder) / "shop")
        for name in names:
            run = train(shop, quick(name, options.epochs), Path(folder) / name).run.folder
            for phase, rate in rates(run).items():
                rows.append({"recipe": name, "phase": phase, "pairs/s": rate})
    base = rows[0]["pairs/s"]
    for row in rows:
        row["times Base's time a pair"] = base / row["pairs/s"]
    report(
        "recipes: training pairs per second",
        rows,
        f"shop {options.size}, {options.epochs} epochs a phase, one thread, seconds of the process, "
        f"{time.strftime('%Y-%m-%d')}",
    )


if __name__ == "__main__":
    main()
