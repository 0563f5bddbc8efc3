"""Studies of a run: its identifiers, where relevance branches, what the encoder knows of it, loss curves.

Owns: opening what a study needs and saying where its figure is. The measures are in ``rars.analysis``.

A figure that goes into the run is drawn under the run's lock, as all that is written there; drawn elsewhere
(``plot``, ``out``) it needs none, so the curves of a training can be looked at while it works.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rars import locks, places
from rars.analysis import ambiguity as branching
from rars.analysis import curves, health, loss_curve, relevance_tree
from rars.analysis.mixing import Mixing, mixing
from rars.analysis.relevance_tree import RelevanceTree
from rars.analysis.representation import Probe, probe
from rars.analysis.studies import STUDIES, study
from rars.analysis.study import Scene, Study
from rars.analysis.writing import Analysed, write
from rars.arrays import Floats
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.tables import html
from rars.identifiers import Health, Identifiers, item_vectors
from rars.identifiers.loss_curve import LossCurve
from rars.identifiers.sizes import proposed_sizes
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.tree import PrefixTree


@dataclass(frozen=True, eq=False)
class Inspected:
    """How healthy a run's identifiers are, what recall they keep without any training, and where they part
    from meaning: prefixes that mix unrelated items, queries whose relevance is torn apart.

    ``curve``  what identifiers of other sizes would keep of the vectors, where that was asked for
    """

    run: Run
    identifiers: Identifiers
    health: Health
    split: str
    untrained_recall: float | None
    hit_rate: float | None
    mixing: Mixing
    plot: Path
    curve: LossCurve | None = None
    curve_plot: Path | None = None

    @property
    def proposed_sizes(self) -> tuple[int, ...]:
        """Code sizes that would give this catalogue the paper's shape of tree."""
        return proposed_sizes(self.health.items)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "run": str(self.run.folder),
            "learner": self.identifiers.settings.learner,
            "collisions": dict(self.identifiers.report),
            "untrained_recall_at_100": self.untrained_recall,
            "embedding_hit_rate_at_50": self.hit_rate,
            "health": self.health.as_dict(),
            "sizes_of_the_papers_shape": list(self.proposed_sizes),
            "mixing": self.mixing.as_dict(),
            "plot": str(self.plot),
        } | (
            {}
            if self.curve is None
            else {"curve": self.curve.as_dict(), "curve_plot": str(self.curve_plot)}
        )

    def _repr_html_(self) -> str:
        curve = () if self.curve is None else (self.curve.table(),)
        return html(self.health.table(), *curve, *self.mixing.tables())


def inspect(
    run: Run | str | Path,
    *,
    split: str = "validation",
    plot: Path | None = None,
    curve: bool = False,
    tell: Tell = SILENT,
) -> Inspected:
    """Measure and draw the identifiers of a run: codes used, collisions, spread, similarity kept.

    ``curve`` adds what identifiers of other sizes would keep; its figure stands beside the other one.
    """
    run = Run.of(run, generative=True)
    path = _figure(plot, run.results / "identifiers.png")
    found = Identifiers.load(run.folder / "identifiers")
    measured, dataset = found.health(), run.dataset()
    lost, beside = None, None
    if curve:
        with tell.stage("clustering") as advance:
            lost = loss_curve.curve(dataset, found, split, advance=advance)
        beside = path.with_name(f"{path.stem}-curve{path.suffix}")
    recall = health.untrained(dataset, found, split)
    hits = health.embedding_hit_rate(dataset, found, split)
    parted = mixed(dataset, found, split)
    with allowed(run, path):
        health.draw(measured, path)
        if lost is not None and beside is not None:
            loss_curve.draw(lost, beside)
    return Inspected(run, found, measured, split, recall, hits, parted, path, lost, beside)


def mixed(dataset: Dataset, identifiers: Identifiers, split: str) -> Mixing:
    """Which prefixes mix unrelated items, and which queries' relevance the tree tears apart."""

    def vectors() -> Floats | None:
        if not identifiers.embedder:
            return None
        frozen, _ = item_vectors(dataset, identifiers.embedder_name)
        return identifiers.item_space(frozen)

    return mixing(dataset, PrefixTree.build(identifiers.codes), split, vectors=vectors)


@dataclass(frozen=True, eq=False)
class Branching:
    """Where relevance branches (``profile``), and the figure of it."""

    run: Run
    profile: branching.Profile
    plot: Path

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        found = self.profile
        return {
            "run": str(self.run.folder),
            "split": found.split,
            "relevance": found.preset,
            "queries": found.n_queries,
            "queries_with_several_positives": found.n_multi_positive,
            "mean_depth": found.mean_depth,
            "depths": [asdict(row) for row in found.rows],
            "plot": str(self.plot),
        }


def ambiguity(
    run: Run | str | Path,
    *,
    split: str = "test",
    relevance: str = "linear",
    plot: Path | None = None,
) -> Branching:
    """How the relevance of a split's queries divides at every depth of a run's identifiers."""
    run = Run.of(run, generative=True)
    path = _figure(plot, run.results / f"ambiguity-{split}.png")
    found = branching.profile(run.dataset(), tree_of(run), split, relevance)
    with allowed(run, path):
        branching.draw(found, path)
    return Branching(run, found, path)


def representation(run: Run | str | Path, *, tell: Tell = SILENT) -> Probe:
    """How much of the branching a fresh tree head can read off the finished encoder."""
    with tell.stage("fresh tree head") as advance:
        return probe(Run.of(run, generative=True), advance)


def analyze(
    run: Run | str | Path,
    name: str | Study,
    *,
    changes: Sequence[str] = (),
    split: str | None = None,
    seed: int | None = None,
    against: Run | str | Path | None = None,
    out: Path | None = None,
    tell: Tell = SILENT,
) -> Analysed:
    """Make a study of a run; numbers, tables and figures go to its ``results/NAME``, or to ``out``.

    ``name`` is one of ``rars.analysis.studies.STUDIES``, or a study of your own; ``changes`` are its
    settings, such as ``"assignments=99"``; ``against`` is a second run, for studies that compare two.
    """
    chosen = study(name) if isinstance(name, str) else name
    settings = chosen.asked(changes, split=split, seed=seed)
    run = Run.of(run, generative=True)
    if against is not None and len(chosen.trains) < 2:
        raise RarsError(f"--against does not concern the study {chosen.name}.")
    other = None if against is None else Run.of(against, generative=True)
    folder = run.results / chosen.name if out is None else places.target(out)
    dataset = run.dataset()
    scene = Scene(dataset.name, dataset, tree_of(run), run, other)
    began = time.perf_counter()
    result = chosen.run([scene], settings, tell)
    made = Analysed(chosen, settings, [scene], result, time.perf_counter() - began, folder)
    with allowed(run, folder):
        write(made)
    return made


def studies_by_title() -> dict[str, str]:
    """Every study of a run that has a command, with the question it answers."""
    return {name: one.title for name, one in STUDIES.items()}


def settings_of(name: str) -> dict[str, Any]:
    """The settings of a study, with their defaults."""
    return study(name).settings().model_dump(mode="json")


def plot(run: Run | str | Path, *, out: Path | None = None) -> dict[str, Any]:
    """Draw the loss curves of a run."""
    run = Run.of(run, generative=True)
    path = _figure(out, run.results / "training.png")
    with allowed(run, path):
        return curves.draw(run.folder / "journal.jsonl", path, curves.titles(run.recipe()))


def walk(run: Run | str | Path, query: str | None = None, *, split: str = "train") -> RelevanceTree:
    """The relevant items of one query as the tree of their identifiers; a telling query if none is named."""
    run = Run.of(run, generative=True)
    return relevance_tree.walk(run.dataset(), tree_of(run), query, split)


def _figure(asked: Path | None, usual: Path) -> Path:
    """Where a figure goes."""
    return usual if asked is None else places.named(asked, "A figure")


def allowed(run: Run, path: Path) -> AbstractContextManager[None]:
    """The right to write a figure: the run's lock, if it is to be in the run."""
    inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(run.folder))
    return locks.held(run.folder) if inside else nullcontext()


def tree_of(run: Run) -> PrefixTree:
    """The identifiers of a run's dataset as a tree."""
    return PrefixTree.build(Identifiers.load(run.folder / "identifiers").codes)
