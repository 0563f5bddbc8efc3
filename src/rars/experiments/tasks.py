"""A piece of work as a function call of plain values with a digest, to be executed by any process.

Owns: the kinds of work, and what a task says. Ignores who runs it and when (``rars.experiments.processes``).

Every function looks for what is there first, so a task may be run twice, or go on after a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import disk, pipeline
from rars.config import Recipe
from rars.data import Dataset
from rars.experiments import folders
from rars.progress import Silent

UNAVAILABLE = 3
"""The exit code of a task that needs what cannot be had here, such as the weights of a model."""
SHORT = 12
"""Digits of a digest in a file's name."""


def identify(*, data: str, recipe: str, out: str) -> None:
    """Learn the identifiers of a dataset; ``recipe`` is the text of a resolved recipe."""
    if not folders.identified(Path(out)):
        pipeline.identify(Dataset.load(data), _kept(Path(out), recipe), out, tell=_LOG)


def run(
    *,
    data: str,
    recipe: str,
    out: str,
    identifiers: str | None,
    rules: Mapping[str, list[str]],
) -> None:
    """Train a run and measure it under rules of each split; ``identifiers`` is a folder to take them from."""
    folder = Path(out)
    resolved = _kept(folder, recipe)
    tuned = resolved.search.tune
    if not folders.trained(folder, generative=identifiers is not None, tuned=tuned):
        pipeline.train(Dataset.load(data), resolved, out, identifiers=identifiers, tell=_LOG)
    for split, listed in rules.items():
        left = [rule for rule in listed if folders.results_of(folder, split, rule) is None]
        if left:
            pipeline.evaluate(folder, rules=left, split=split, tell=_LOG)


TASKS: dict[str, Callable[..., None]] = {"identify": identify, "run": run}


@dataclass(frozen=True)
class Task:
    """A call of ``TASKS[kind]`` that makes ``folder`` and needs other folders to be made before.

    ``name`` is what a person reads; ``arguments`` are plain JSON values; ``weights`` are the models it must
    load: where one could not be had, a second task need not try.
    """

    name: str
    kind: str
    arguments: Mapping[str, Any]
    folder: Path
    needs: tuple[Path, ...] = ()
    weights: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Of the function's name and arguments: equal digests mean the same work."""
        return disk.digest_json([self.kind, dict(self.arguments)])

    @property
    def log(self) -> Path:
        """The file that its output goes to."""
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def file(self) -> Path:
        """Where the task is written; two calls that work in one folder have files of their own."""
        return self.folder.with_name(f"{self.folder.name}.{self.digest[:SHORT]}.json")

    def write(self) -> Path:
        """Write it for another process."""
        disk.write_json(
            self.file,
            {
                "name": self.name,
                "kind": self.kind,
                "arguments": dict(self.arguments),
                "folder": str(self.folder),
                "needs": [str(one) for one in self.needs],
                "digest": self.digest,
            },
        )
        return self.file

    @classmethod
    def read(cls, path: Path) -> Task:
        """Read it back."""
        known = disk.read_json(path)
        needs = tuple(map(Path, known["needs"]))
        folder = Path(known["folder"])
        return cls(known["name"], known["kind"], known["arguments"], folder, needs)


def _kept(folder: Path, recipe: str) -> Recipe:
    """A recipe, written beside the folder that is made from it."""
    path = folder.with_name(f"{folder.name}.toml")
    disk.write_text(path, recipe)
    return Recipe.read(path)


class _Log(Silent):
    """Sentences go to the task's log."""

    def say(self, text: str) -> None:
        """A line."""
        print(text, flush=True)


_LOG = _Log()
