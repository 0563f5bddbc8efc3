"""Make what a trained run is searched through, and choose how evidence counts in it.

Owns: when an index is made. Ignores what is in it (``rars.search``).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rars import locks
from rars.identifiers import Identifiers
from rars.pipeline import costs
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.scale import AS_NEEDED, Engine
from rars.scale.threads import working
from rars.search import weights
from rars.search.index import build_index, current, digests, is_current, pointer


def index(
    run: Run | str | Path,
    *,
    force: bool = False,
    engine: Engine = AS_NEEDED,
    tell: Tell = SILENT,
) -> str:
    """The version that a run is searched through; made by ``engine``, unless it has one of its model.

    Where the recipe says so (``search.tune``), the weights of ``hybrid`` are chosen for it.
    """
    run = Run.of(run, generative=True)
    version = _indexed(run, force, engine, tell)
    if run.recipe().search.tune and not _tuned(run):
        tune(run, tell=tell)
    return version


def _indexed(run: Run, force: bool, engine: Engine, tell: Tell) -> str:
    if not force and is_current(run) and "index" in run.manifest()["steps"]:
        return current(run)
    with locks.held(run.folder):
        start = time.perf_counter()
        if (force and not _unrecorded(run)) or not is_current(run):
            tell.say(f"Indexing the catalogue of {run.folder}.")
            width = Identifiers.load(run.folder / "identifiers", verify=False).quantizer.inputs
            costs.say(costs.INDEXING, run.dataset(), run.recipe(), engine, tell, width=width)
            with tell.stage("index") as advance:
                build_index(run, engine=engine, advance=advance)
        version, seconds = current(run), round(time.perf_counter() - start, 1)
        run.record("index", seconds=seconds, version=version)
        return version


def _unrecorded(run: Run) -> bool:
    """Whether a version was made that the run does not know of: a process was killed in between."""
    if not is_current(run):
        return False
    recorded = run.manifest()["steps"].get("index", {}).get("version")
    return any(
        last["action"] == "build" and last["version"] != recorded
        for last in pointer(run)["log"][-1:]
    )


def _tuned(run: Run) -> bool:
    chosen = weights.chosen(run, digests(run)["model"])
    return chosen is not None and "weights" in run.manifest()["steps"]


def tune(run: Run | str | Path, *, tell: Tell = SILENT) -> dict[str, Any]:
    """Choose the weights of the rule ``hybrid`` on validation queries, and keep them in the run."""
    from rars.search.retriever import Retriever
    from rars.search.tuning import choose_hybrid

    run = Run.of(run, generative=True)
    dataset = run.dataset()
    if not len(dataset.positives("validation")[0]):
        tell.say("No judged validation queries: weights are chosen on queries made of item titles.")
    with locks.held(run.folder):
        start = time.perf_counter()
        retriever = Retriever.load(run.folder)
        with working(retriever.threads), tell.stage("choosing weights") as advance:
            chosen = choose_hybrid(retriever, dataset, advance=advance)
        run.record("weights", seconds=round(time.perf_counter() - start, 1))
    return chosen.model_dump(mode="json")
