"""The systems that a server asks, by name, and which version of its catalogue each one searches.

Owns: opening runs side by side, the one place that says what is searched now, and other versions opened for
a while. Ignores queues and HTTP. A system is never changed: a new version is a new ``Opened`` in its place,
and whoever holds the old one finishes with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rars.errors import RarsError
from rars.pipeline.comparison import is_short, make_beside
from rars.pipeline.searching import open_run
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.search.evidence.languages import LANGUAGES
from rars.search.index import current, versions
from rars.search.retriever import Retriever
from rars.search.store import ItemStore
from rars.serving.refusals import not_found
from rars.systems import Query, System

_PLAIN_ROWS = 10
"""What a query costs that needs no beam."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A system over one version of a catalogue; ``narrow`` is the same with a narrower beam."""

    name: str
    kind: str
    recipe: str
    run: Run
    system: System
    narrow: System
    version: str | None

    @property
    def store(self) -> ItemStore:
        """Its catalogue."""
        found = self.system.catalogue
        assert isinstance(found, ItemStore)
        return found

    @property
    def width(self) -> int | None:
        """Prefixes kept at a depth; None without a beam."""
        return self.system.settings.width if isinstance(self.system, Retriever) else None

    def rows(self, query: Query) -> int:
        """What a query costs: the width of its beam."""
        if not isinstance(self.system, Retriever):
            return _PLAIN_ROWS
        leaves = self.system.tree.n_leaves
        if query.exact:
            return leaves
        return min(max(self.system.settings.width, query.k), leaves)

    def beam(self, query: Query, *, narrow: bool) -> int | None:
        """The width that a query is searched with."""
        system = self.narrow if narrow else self.system
        if not isinstance(system, Retriever):
            return None
        return min(max(system.settings.width, query.k), system.tree.n_leaves)

    def at(self, version: str) -> Opened:
        """The same system over another version; no weights are read."""
        if not isinstance(self.system, Retriever) or not isinstance(self.narrow, Retriever):
            raise not_found(f"The system {self.name!r} has no versions.", "version")
        other = self.system.at(version)
        narrow = other.with_width(self.narrow.settings.width)
        return replace(self, system=other, narrow=narrow, version=version)

    @cached_property
    def described(self) -> dict[str, Any]:
        """What ``/v1/systems`` says of it, beside the versions there are."""
        system = self.system
        locales = self.store.locales
        generative = isinstance(system, Retriever)
        known = list(LANGUAGES) if generative else []
        return {
            "name": self.name,
            "kind": self.kind,
            "recipe": self.recipe,
            "rules": list(system.rules),
            "items": len(self.store),
            "version": self.version,
            "depth": system.tree.depth if isinstance(system, Retriever) else None,
            "width": self.width,
            "locales": known if locales is None else sorted(locales.names),
            "columns": [one.as_dict() for one in self.store.columns.describe()],
        }


def named_runs(named: Sequence[str]) -> tuple[dict[str, str], list[Run]]:
    """What each name means, and the runs among them; what is no run is refused before anything is opened."""
    folders = dict(map(_split, named))
    if len(folders) < len(named):
        raise RarsError("Two systems have the same name; give them others: NAME=RUN.")
    runs = [Run.open(folder) for folder in folders.values() if not is_short(folder)]
    if not runs:
        raise RarsError("Name at least one run folder: it says which dataset to search.")
    return folders, runs


class Systems:
    """All systems of a server; the first is the one asked unless another is named."""

    def __init__(
        self, opened: Sequence[Opened], *, keep: int = 2, holds: Sequence[Any] = ()
    ) -> None:
        self._now = {one.name: one for one in opened}
        self._others: OrderedDict[tuple[str, str], Opened] = OrderedDict()
        self._keep = keep
        self._holds = holds  # temporary folders of systems made on the spot
        self._opening = threading.Lock()

    @classmethod
    def open(
        cls,
        named: Sequence[str],
        *,
        narrow: float = 0.25,
        keep: int = 2,
        precision: str = "float32",
        tell: Tell = SILENT,
    ) -> Systems:
        """Open runs (``runs/demo``, ``name=runs/demo``), and systems made on the spot (``bm25``)."""
        folders, runs = named_runs(named)
        holds, opened = [], []
        for name, folder in folders.items():
            where: str | Path = folder
            if is_short(folder):
                holds.append(TemporaryDirectory(prefix="rars-serve-"))
                where = make_beside(folder, runs[0], holds[-1].name, tell=tell).folder
            opened.append(_opened(name, where, narrow, precision))
        return cls(opened, keep=keep, holds=holds)

    @property
    def names(self) -> list[str]:
        """The default first."""
        return list(self._now)

    def now(self, name: str | None = None) -> Opened:
        """What a system is at this moment."""
        found = next(iter(self._now.values())) if name is None else self._now.get(name)
        if found is None:
            known = ", ".join(self._now)
            raise not_found(f"There is no system {name!r}; there is {known}.", "system")
        return found

    def known(self, name: str | None, version: str | None) -> Opened | None:
        """The system over this version, if it is open."""
        found = self.now(name)
        if version is None or version == found.version:
            return found
        return self._others.get((found.name, version))

    def at(self, name: str | None, version: str) -> Opened:
        """The system over this version, opened if it is not; takes its time."""
        with self._opening:
            known = self.known(name, version)
            if known is not None:
                return known
            now = self.now(name)
            if version not in self.versions(now):
                there = ", ".join(self.versions(now)) or "none"
                raise not_found(f"There is no version {version!r}; there is {there}.", "version")
            found = now.at(version)
            if self._keep:
                self._others[now.name, version] = found
                while len(self._others) > self._keep:
                    self._others.popitem(last=False)
            return found

    def versions(self, opened: Opened) -> list[str]:
        """The versions there are, the one searched now first."""
        return versions(opened.run) if isinstance(opened.system, Retriever) else []

    def refresh(self, name: str | None = None) -> Opened | None:
        """Search what the disk says is current; the new one, or None if nothing changed."""
        with self._opening:
            now = self.now(name)
            if not isinstance(now.system, Retriever):
                return None
            wanted = current(now.run)
            if wanted == now.version:
                return None
            fresh = self._others.pop((now.name, wanted), None) or now.at(wanted)
            self._now[now.name] = fresh
            return fresh

    def forget(self, name: str) -> None:
        """Let go of the other versions of a system, so that old ones can be pruned."""
        with self._opening:
            for key in [key for key in self._others if key[0] == name]:
                del self._others[key]

    def unplaced(self, message: str) -> str:
        """A sentence with the names of systems where it has their folders: those are nobody's business."""
        for one in self._now.values():
            message = message.replace(str(one.run.folder), one.name)
        return message

    def close(self) -> None:
        """Let go of what was made on the spot."""
        for one in self._holds:
            one.cleanup()


def _split(spec: str) -> tuple[str, str]:
    """Name and folder: ``mine=runs/demo``, or a folder by its last part.

    >>> _split("runs/demo/"), _split("old=runs/demo"), _split("bm25")
    (('demo', 'runs/demo/'), ('old', 'runs/demo'), ('bm25', 'bm25'))
    """
    name, sign, folder = spec.partition("=")
    if sign and name and folder and "/" not in name:
        return name, folder
    return Path(spec).resolve().name if not is_short(spec) else spec, spec


def _opened(name: str, folder: str | Path, narrow: float, precision: str) -> Opened:
    options = {} if precision == "float32" else {"precision": precision}
    run = Run.open(folder)
    recipe = run.recipe()
    system = open_run(folder, **(options if recipe.generative else {}))
    version, less = None, system
    if isinstance(system, Retriever):
        version = system.index.name
        less = system.with_width(max(1, round(narrow * system.settings.width)))
    return Opened(name, recipe.system, recipe.name, run, system, less, version)
