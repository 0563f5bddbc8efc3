"""Training a comparison system: the part of ``rars train`` for recipes that are not generative."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars.cli import console

if TYPE_CHECKING:
    from rars.baselines.tuning import Held
    from rars.config import Recipe
    from rars.data import Dataset
    from rars.runs import Run


def train_baseline(recipe: Recipe, dataset: Dataset, out: Path) -> dict[str, Any]:
    """Make one run folder, or find it made already."""
    from rars.baselines import running
    from rars.baselines.learning import needs_validation
    from rars.runs import Run

    run = Run.planned(out, dataset)
    facts = running.made(run, recipe, dataset)
    if facts is not None:
        console.say(f"The {recipe.system} system of {out} is made already.")
        Run.start(out, recipe, dataset)
    else:
        held = held_out(dataset) if needs_validation(recipe) else None
        console.say(_plan(recipe, dataset))
        start = time.perf_counter()
        with _started(run, recipe, dataset), console.progress(recipe.name) as advance:
            facts = running.make(run, recipe, dataset, held, advance=advance)
        run.record("model", seconds=round(time.perf_counter() - start, 1), system=recipe.system)
    return {
        "run": str(out),
        "recipe": recipe.name,
        "system": recipe.system,
        "seconds": run.manifest()["steps"].get("model", {}).get("seconds", 0.0),
        "learned": {name: facts[name] for name in ("tuning", "weights") if name in facts},
    }


@contextmanager
def _started(run: Run, recipe: Recipe, dataset: Dataset) -> Iterator[None]:
    """Write manifest and recipe; a mistake found on the way leaves the folder as it was."""
    from rars import artifacts
    from rars.errors import RarsError
    from rars.runs import Run

    fresh, written = not run.manifest_path.exists(), run.folder / "recipe.toml"
    before = written.read_text(encoding="utf-8") if written.exists() else None
    Run.start(run.folder, recipe, dataset)
    try:
        yield
    except RarsError:
        if fresh:
            shutil.rmtree(run.folder)
        elif before is not None:
            artifacts.write_text(written, before)
        raise


def held_out(dataset: Dataset) -> Held | None:
    """The validation queries that a system chooses on, if there are any."""
    from rars.baselines.tuning import Held
    from rars.evaluation import Measure, Truth, quality

    truth = Truth.of(dataset, "validation")
    if not len(truth):
        return None
    return Held(truth.queries, quality(truth, truth.queries, Measure("nDCG", 100)))


def show_baseline(payload: dict[str, Any]) -> None:
    """Say what was made, and what to do next."""
    out = payload["run"]
    console.out.print(f"Made {payload['recipe']} in {payload['seconds']:.0f} s.", markup=False)
    tuning, weights = (payload["learned"].get(name) for name in ("tuning", "weights"))
    if tuning:
        before, after = tuning["quality"][0], tuning["quality"][tuning["epoch"]]
        console.out.print(
            f"  epoch {tuning['epoch']} of {len(tuning['quality']) - 1} kept: "
            f"nDCG@100 on validation queries {100 * before:.1f} before, {100 * after:.1f} after."
        )
    if weights:
        console.out.print(f"  weights: BM25 {weights[0]:.1f}, dense {weights[1]:.1f}.")
    console.out.print(f'Next: rars search {out} "..."   rars evaluate {out}', markup=False)


def _plan(recipe: Recipe, dataset: Dataset) -> str:
    settings = recipe.baseline
    what = f"Making {recipe.name} for {dataset.n_items:,} items"
    if recipe.system == "bm25" or not settings.fine_tune:
        return f"{what}."
    which = (
        settings.embedder if settings.tunes_encoder else f"maps over {settings.embedder} vectors"
    )
    rounds = f"{settings.epochs} epoch{'s' if settings.epochs > 1 else ''}"
    return f"{what}: fine-tuning {which}, {rounds}."
