"""Give every item of a dataset its identifier.

Owns: when identifiers are learned, taken over from another run, or found there already. Ignores how they are
learned (``rars.identifiers``).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import artifacts
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import Identifiers, learn_identifiers
from rars.progress import SILENT, Tell
from rars.runs import Run, on_disk


@dataclass(frozen=True, eq=False)
class Identified:
    """The identifiers of a run, and how long they took to learn (0 where they were there)."""

    run: Run
    identifiers: Identifiers
    seconds: float


def identify(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    *,
    force: bool = False,
    source: str | Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> Identified:
    """The identifiers of a run: opened where the same are there already, else taken over or learned.

    ``force`` learns again where the run has other ones; ``source`` is another run of the same dataset and
    settings whose identifiers are taken over.
    """
    dataset = on_disk(dataset, Path(out))
    folder = Run.planned(Path(out), dataset).folder / "identifiers"
    wanted = None if source is None else _identifiers_of(Path(source), recipe, dataset)
    if folder.exists() and not force:
        known = Identifiers.load(folder)
        if known.settings != recipe.identifiers:
            raise RarsError(
                f"{folder} was made with other settings; choose another --out, or --force to learn again."
            )
        if wanted is not None and _digest(folder) != _digest(Path(source or "") / "identifiers"):
            raise RarsError(f"{folder} are not those of {source}; choose another --out.")
        tell.say(f"The identifiers of {out} are there already.")
        return Identified(Run.start(Path(out), recipe, dataset), known, 0.0)
    start = time.perf_counter()
    if wanted is None:
        settings = recipe.identifiers
        tell.say(
            f"Learning identifiers of {dataset.n_items:,} items: {settings.learner}, "
            f"{' x '.join(map(str, settings.sizes)) or 'random digits'}."
        )
        found = learn_identifiers(dataset, settings, device=device, tell=tell)
    else:
        found = wanted
    seconds = time.perf_counter() - start
    run = Run.start(Path(out), recipe, dataset)
    found.save(folder)
    facts: dict[str, Any] = {"seconds": round(seconds, 2), "learner": found.settings.learner}
    if source is not None:
        tell.say(f"The identifiers of {source} are taken over.")
        facts["taken_over"] = _digest(folder)
    run.record("identifiers", **facts)
    return Identified(run, found, seconds)


def _identifiers_of(source: Path, recipe: Recipe, dataset: Dataset) -> Identifiers:
    """The identifiers of another run, if they are what this recipe would learn on this dataset."""
    folder = Run.open(source).folder / "identifiers"
    found = Identifiers.load(folder)
    if found.dataset != dataset.digest:
        raise RarsError(f"--identifiers: {folder} are of another dataset than {dataset.where}.")
    theirs, ours = (one.model_dump(mode="json") for one in (found.settings, recipe.identifiers))
    for name in {**theirs, **ours}:
        if theirs.get(name) != ours.get(name):
            raise RarsError(
                f"--identifiers: {folder} were made with identifiers.{name} = {theirs.get(name)}, "
                f"but the recipe says {ours.get(name)}."
            )
    return found


def _digest(folder: Path) -> str:
    return artifacts.opening(folder, kind="identifiers", verify=False).digest
