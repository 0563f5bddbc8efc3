"""Give every item of a dataset its identifier.

Owns: when identifiers are learned, taken over from another run, or found there already, and that all this is
asked (``find``) before anything is written (``Found.keep``). Ignores how they are learned
(``rars.identifiers``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import artifacts, locks, places
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError, expected
from rars.identifiers import Identifiers, learn_identifiers
from rars.pipeline import costs
from rars.pipeline.embedding import settled
from rars.progress import SILENT, Tell
from rars.runs import Run, kept
from rars.scale import AS_NEEDED, Engine


@dataclass(frozen=True, eq=False)
class Identified:
    """The identifiers of a run, and how long they took to learn (0 where they were there).

    ``expected``  what they were expected to cost, where they were learned
    """

    run: Run
    identifiers: Identifiers
    seconds: float
    expected: Mapping[str, int] | None = None


def identify(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    *,
    force: bool = False,
    source: str | Path | None = None,
    device: str = "cpu",
    engine: Engine = AS_NEEDED,
    tell: Tell = SILENT,
) -> Identified:
    """The identifiers of a run: opened where the same are there already, else taken over or learned.

    ``force`` learns again where the run has other ones; ``source`` is another run of the same dataset and
    settings whose identifiers are taken over; ``engine`` is who embeds and encodes.
    """
    check_given(dataset, recipe)
    out = places.target(out)
    with locks.held(out), kept(dataset, out) as stored:
        recipe = settled(stored, recipe, out, device=device, tell=tell)
        asked: dict[str, Any] = {"force": force, "source": source, "device": device}
        found = find(stored, recipe, out, **asked, engine=engine, tell=tell)
        return found.keep(tell)


def check_given(dataset: object, recipe: object) -> None:
    """Refuse what is no dataset and no recipe, before anything is done with it."""
    if not isinstance(dataset, Dataset):
        raise expected("dataset", "a Dataset (see Dataset.load)", dataset)
    if not isinstance(recipe, Recipe):
        raise expected("recipe", "a Recipe (see Recipe.resolve)", recipe)


@dataclass(frozen=True, eq=False)
class Found:
    """The identifiers of a run that is not written yet; ``fresh`` where they are not in its folder.

    ``source``  the run they are taken over from, if any
    """

    run: Run
    dataset: Dataset
    recipe: Recipe
    identifiers: Identifiers
    seconds: float
    fresh: bool
    source: str | Path | None
    expected: Mapping[str, int] | None = None

    def keep(self, tell: Tell = SILENT, *, begin: bool = False) -> Identified:
        """Begin the run and write what is fresh; ``begin`` makes the recipe the run's in any case."""
        folder = self.run.folder / "identifiers"
        if self.fresh or begin or not (self.run.folder / "recipe.toml").exists():
            Run.start(self.run.folder, self.recipe, self.dataset)
        if self.fresh:
            self.identifiers.save(folder)
        if self.fresh or "identifiers" not in self.run.manifest()["steps"]:
            facts: dict[str, Any] = {
                "seconds": round(self.seconds, 2),
                "learner": self.identifiers.settings.learner,
            }
            if self.source is not None:
                tell.say(f"The identifiers of {self.source} are taken over.")
                facts["taken_over"] = _digest(folder)
            self.run.record("identifiers", **facts)
        return Identified(self.run, self.identifiers, self.seconds, self.expected)


def find(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    *,
    force: bool = False,
    source: str | Path | None = None,
    device: str = "cpu",
    engine: Engine = AS_NEEDED,
    tell: Tell = SILENT,
) -> Found:
    """The identifiers that ``identify`` would keep, of a dataset with a folder; nothing is written."""
    run = Run.planned(Path(out), dataset)
    folder = run.folder / "identifiers"
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
        return Found(run, dataset, recipe, known, 0.0, False, source)
    expected_cost = None
    start = time.perf_counter()
    if wanted is None:
        settings = recipe.identifiers
        tell.say(
            f"Learning identifiers of {dataset.n_items:,} items: "
            f"{', '.join(filter(None, (settings.learner, ' x '.join(map(str, settings.sizes)))))}."
        )
        expected_cost = costs.say(costs.identifying(recipe), dataset, recipe, engine, tell)
        found = learn_identifiers(
            dataset, settings, model=recipe.model, device=device, engine=engine, tell=tell
        )
    else:
        found = wanted
    seconds = time.perf_counter() - start
    return Found(run, dataset, recipe, found, seconds, True, source, expected_cost)


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
