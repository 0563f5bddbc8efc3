"""A run folder: what was asked for, what it was made from, and the digest of every part.

Owns: ``recipe.toml`` (resolved) and ``manifest.json`` (versions, data, steps) at the top of a run folder.
The parts themselves (``identifiers/``, ``model/``, ``index/`` ...) are artefacts of their own with their
own manifests; a step is recorded here after its part is safely on disk.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rars import __version__, disk, places
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError

KIND = "run"
DATASET = "dataset"
"""Where a run keeps a dataset that had no folder."""
TUNING = "tuning.json"
"""Where a run that is tuned keeps what was chosen; it is there before anything else."""
TRIALS = "trials"
"""Where such a run has the runs that it compares."""
_LIBRARIES = ("numpy", "torch", "transformers", "faiss-cpu")


@dataclass(frozen=True)
class Run:
    """One run folder on disk."""

    folder: Path

    @classmethod
    def planned(cls, folder: Path, dataset: Dataset) -> Run:
        """The run that would be here: refuses a folder of something else or of other data; writes nothing."""
        run = cls(places.target(folder))
        if run.manifest_path.exists():
            known = run.manifest()["data"]
            if known["digest"] != dataset.digest:
                raise RarsError(
                    f"{folder} was made from the dataset {known['name']!r} with other contents; "
                    "choose another --out."
                )
        else:
            refuse_foreign(run.folder)
        return run

    @classmethod
    def start(cls, folder: Path, recipe: Recipe, dataset: Dataset) -> Run:
        """Make the folder, or go on in it if it holds the same data; the recipe is written anew.

        Called when all that can be refused was asked: the next thing written is made under this recipe.
        """
        run = cls.planned(folder, dataset)
        if not run.manifest_path.exists():
            disk.write_json(run.manifest_path, _fresh(dataset))
        path, text = run.folder / "recipe.toml", recipe.to_toml()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            disk.write_text(path, text)
        return run

    @classmethod
    def open(cls, folder: str | Path, *, generative: bool = False) -> Run:
        """Open an existing run folder; with ``generative``, one of a system that has identifiers."""
        run = cls(places.named(folder, "A run folder"))
        if not run.manifest_path.exists():
            raise RarsError(f"{folder} is not a rars run: it has no manifest.json.")
        run.manifest()
        if generative and (system := run.recipe().system) != "generative":
            raise RarsError(f"{folder} is a {system} system: it has no identifiers and no model.")
        return run

    @classmethod
    def of(cls, run: Run | str | Path, *, generative: bool = False) -> Run:
        """A run as it is given: opened already, or a folder."""
        return cls.open(run.folder if isinstance(run, Run) else run, generative=generative)

    @property
    def manifest_path(self) -> Path:
        """Where the run's manifest is."""
        return self.folder / "manifest.json"

    @property
    def results(self) -> Path:
        """Where tables and figures about this run go."""
        return self.folder / "results"

    def manifest(self) -> dict[str, Any]:
        """What is recorded so far; a manifest of something else is refused."""
        manifest = disk.read_json(self.manifest_path)
        if (
            not isinstance(manifest, dict)
            or manifest.get("kind") != KIND
            or not {"data", "steps"} <= manifest.keys()
        ):
            raise RarsError(f"{self.manifest_path} does not describe a run.")
        return manifest

    def recipe(self) -> Recipe:
        """The resolved recipe of the run."""
        return Recipe.read(self.folder / "recipe.toml")

    def record(self, step: str, **facts: Any) -> None:
        """Note that a step's part is on disk."""
        manifest = self.manifest()
        manifest["steps"][step] = facts
        disk.write_json(self.manifest_path, manifest)

    def dataset(self) -> Dataset:
        """The dataset the run was made from; a changed one is an error."""
        known = self.manifest()["data"]
        dataset = Dataset.load(known["folder"])
        if dataset.digest != known["digest"]:
            raise RarsError(f"{known['folder']} has changed since {self.folder} was made from it.")
        return dataset


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder of something else; one that holds but a kept dataset or a begun tuning is a run's.

    What a killed process left of its first file there is nobody's.
    """
    if folder.exists() and not folder.is_dir():
        raise RarsError(f"{folder} is a file; choose another --out.")
    if folder.exists() and not all(_ours(path.name) for path in folder.iterdir()):
        raise RarsError(f"{folder} holds files that are not a rars run; choose another --out.")


def _ours(name: str) -> bool:
    return name in (DATASET, TUNING, TRIALS) or disk.is_draft(Path(name))


@contextmanager
def kept(dataset: Dataset, home: Path) -> Iterator[Dataset]:
    """The dataset as a folder (``on_disk``); what was kept just now goes again if the block is refused.

    A block that fails after the run was begun leaves it, as anything it made.
    """
    fresh = dataset.folder is None and not (home / DATASET).exists()
    missing = [one for one in (home, *home.parents) if not one.exists()]
    try:
        yield on_disk(dataset, home)
    except RarsError:
        if fresh and not (home / "manifest.json").exists():
            disk.discard(home / DATASET)
            disk.unmake(missing)
        raise


def on_disk(dataset: Dataset, home: Path) -> Dataset:
    """The dataset as a folder: itself, or, of one in memory or a view, what is kept in ``home/dataset``."""
    if dataset.folder is not None:
        return dataset
    place = places.target(home) / DATASET
    if place.exists():
        known = Dataset.load(place)
        if known.facts.get("content") != dataset.digest:
            raise RarsError(f"{place} holds other data than {dataset.where}; choose another --out.")
        return known
    if (home / "manifest.json").exists():
        Run(home).manifest()
    else:
        refuse_foreign(home)
    facts = {**dataset.facts, "content": dataset.digest}
    return replace(dataset, facts=facts).save(place)


def _fresh(dataset: Dataset) -> dict[str, Any]:
    return {
        "kind": KIND,
        "rars": __version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "data": {
            "name": dataset.name,
            "folder": str(Path(dataset.folder or "").resolve()),
            "digest": dataset.digest,
        },
        "steps": {},
    }
