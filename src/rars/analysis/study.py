"""What a study is: what it is given, what it returns.

Owns: the frame that all studies of a dataset and its identifiers share. A study is one file with its
settings, a function of scenes and settings, and ``STUDY = Study(...)``; and one line in
``rars.analysis.studies.STUDIES``. Ignores where results are written (``rars.analysis.writing``) and what a
study measures.

Several scenes are the paper's layout with one group of columns per locale; whatever is tested is corrected
over all of them (Holm), so one scene alone has a smaller family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import Field

from rars.config.parts import Section, checked
from rars.config.tables import change_of, merged
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.tables import Table
from rars.progress import Tell
from rars.runs import Run
from rars.tree import PrefixTree

if TYPE_CHECKING:
    from rars.search.retriever import Retriever


class StudySettings(Section):
    """What every study can be asked; each adds its own."""

    split: str = "test"
    eligible: bool = True
    """Only queries that a published protocol evaluates, where the dataset says which those are."""
    seed: int = Field(0, ge=0, lt=2**31)


@dataclass(frozen=True, eq=False)
class Scene:
    """A dataset and the tree of its identifiers; with the runs they are of, for studies of predictions.

    ``name``   what tables call it
    ``run``    the run whose identifiers these are; trained, where the study says so
    ``other``  a second run of the same dataset, to compare with
    """

    name: str
    dataset: Dataset
    tree: PrefixTree
    run: Run | None = None
    other: Run | None = None

    @cached_property
    def retriever(self) -> Retriever:
        """The trained run, opened for search when it is first needed."""
        from rars.search.retriever import Retriever

        if self.run is None:
            raise RarsError(f"{self.dataset.where} comes without a trained run.")
        return Retriever.load(self.run.folder)


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn when it is asked for: ``draw(path)`` writes what the path's ending says."""

    name: str
    title: str
    draw: Callable[[Path], None]


class Result(Protocol):
    """What a study returns: its numbers, and how they are told."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""

    def tables(self) -> Sequence[Table]:
        """The tables, in the paper's layout."""

    def figures(self) -> Sequence[Figure]:
        """The figures; none if there is nothing to draw."""

    def findings(self) -> Sequence[str]:
        """What was found, in sentences."""


@runtime_checkable
class Interactive(Protocol):
    """A result with HTML of its own, which stands in the place of its figures and findings."""

    def html(self) -> str:
        """A part of a page, without outside parts."""


@dataclass(frozen=True)
class Study:
    """A question about relevance on a tree.

    ``run``     answers it, of at least one scene
    ``trains``  recipes of the trained runs it needs, the scene's ``run`` first and ``other`` second; none for
                a study of identifiers alone
    """

    name: str
    title: str
    run: Callable[[Sequence[Scene], Any, Tell], Result]
    settings: type[StudySettings] = StudySettings
    trains: tuple[str, ...] = field(default=())

    def asked(self, changes: Sequence[str] = (), **given: Any) -> StudySettings:
        """The study's settings, with ``key=value`` changes and with what is not None of ``given``.

        >>> Study("x", "", lambda scenes, settings, tell: None).asked(["seed=3"], split="train")
        StudySettings(split='train', eligible=True, seed=3)
        """
        whole: Mapping[str, Any] = {key: one for key, one in given.items() if one is not None}
        for text in changes:
            whole = merged(whole, change_of(text))
        try:
            return checked(self.settings, whole, "")
        except RarsError as error:
            known = ", ".join(self.settings.model_fields)
            raise RarsError(
                f"--set for the study {self.name}: {error} (it has {known})."
            ) from error


def named(datasets: Sequence[Dataset]) -> list[str]:
    """What tables call several datasets: their names without what all of them begin with.

    >>> class Made:
    ...     def __init__(self, name): self.name = self.where = name
    >>> named([Made("shop-demo-en"), Made("shop-demo-es")]), named([Made("shop-demo-en")])
    (['en', 'es'], ['shop-demo-en'])
    """
    names = [one.name for one in datasets]
    for name in names:
        if names.count(name) > 1:
            raise RarsError(
                f"Two of the datasets are called {name!r}; tables could not tell them apart."
            )
    if len(names) > 1:
        parts = [name.split("-") for name in names]
        while all(len(one) > 1 for one in parts) and len({one[0] for one in parts}) == 1:
            parts = [one[1:] for one in parts]
        names = ["-".join(one) for one in parts]
    return names
