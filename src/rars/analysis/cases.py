"""Queries worth looking at: where relevance separates at each depth, and where two systems differ most.

Owns: which queries become cases, and the study that shows them (the paper's case studies). Queries are named
by the reader, or chosen: for each depth one whose relevance divides there more than elsewhere, then those
whose NDCG@100 differs most between two systems, gains and losses alike. Ignores how a case is drawn.

The two systems are a run under two rules (``ar`` and ``all``), or two runs under their own rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pydantic import NonNegativeInt, ValidationInfo, field_validator

from rars.analysis import case_figure, case_page
from rars.analysis.case import ABSENT, Case, Judged, case_of
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.arrays import Bools, Doubles, Ints
from rars.data import Dataset
from rars.data.relevance import mass
from rars.errors import RarsError
from rars.evaluation import stored
from rars.evaluation.measures import PerQuery
from rars.evaluation.ranking import Ranking
from rars.evaluation.report import signed
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.evaluation.trec import read_run
from rars.evaluation.truth import Truth
from rars.progress import Advance, Tell
from rars.runs import Run
from rars.search.retriever import Retriever
from rars.tree import Relevance, ambiguity, project

NDCG = f"nDCG@{ABSENT}"
FEW, MANY = 3, 9
"""A query that is chosen has so many positives, if there is one: enough to divide, few enough to read."""


class CasesSettings(StudySettings):
    """Which queries, and what is compared."""

    queries: tuple[str, ...] = ()
    """Ids or texts of queries to show; none: they are chosen."""
    depths: bool = True
    """Choose one query for each depth."""
    gains: NonNegativeInt = 2
    """So many of the largest gains."""
    losses: NonNegativeInt = 2
    rules: tuple[str, ...] = ()
    """The rule of each system; without any: ar and all of one run, or the own rule of each of two."""

    @field_validator("queries", "rules", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any, info: ValidationInfo) -> Any:
        """A text alone is one query, or rules with commas."""
        if not isinstance(value, str):
            return value
        return [value] if info.field_name == "queries" else value.replace(" ", "").split(",")


@dataclass(frozen=True, eq=False)
class System:
    """A run under a rule, with its rankings of the judged queries."""

    name: str
    ranking: Ranking
    measured: PerQuery

    def ranks(self, query: int) -> dict[int, int]:
        """The places, from 1, of the items it ranks for a query."""
        at = int(np.searchsorted(self.ranking.queries, query))
        items, _ = self.ranking.cut(ABSENT).ranked.row(at)
        return {int(item): place for place, item in enumerate(items.tolist(), start=1)}


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases of every scene."""

    scenes: dict[str, tuple[Case, ...]]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: [one.as_dict() for one in found] for name, found in self.scenes.items()}

    def tables(self) -> list[Table]:
        """One row a case."""
        rows, systems = [], ("", "")
        for name, found in self.scenes.items():
            for one in found:
                systems = (one.systems[0], one.systems[-1])
                rows.append(
                    Row(
                        (name, one.query, one.reason),
                        (
                            Cell(f"{len(one.items())}"),
                            Cell(f"{100 * one.ndcg[0]:.1f}"),
                            Cell(f"{100 * one.ndcg[-1]:.1f}"),
                            Cell(signed(one.ndcg[-1] - one.ndcg[0], 1)),
                        ),
                    )
                )
        return [
            Table(
                "cases",
                "Cases",
                ("Data", "Query", "Why"),
                ("relevant items", *systems, "Δ"),
                (Block(tuple(rows)),),
                f"NDCG@{ABSENT} in % under {systems[0]} and {systems[1]}.",
            )
        ]

    def figures(self) -> list[Figure]:
        """One figure a case."""
        made = []
        for name, found in self.scenes.items():
            for at, one in enumerate(found, start=1):
                key = f"case-{at}" if len(self.scenes) == 1 else f"case-{name}-{at}"
                made.append(Figure(_safe(key), f"{one.reason}: {one.query}", _drawer(one)))
        return made

    def findings(self) -> list[str]:
        """One sentence a case."""
        return [
            f"{name}: {one.query!r} ({one.reason}): NDCG@{ABSENT} {100 * one.ndcg[0]:.1f} under "
            f"{one.systems[0]}, {100 * one.ndcg[-1]:.1f} under {one.systems[-1]}."
            for name, found in self.scenes.items()
            for one in found
        ]

    def html(self) -> str:
        """All cases, to be folded and hovered over; they stand in the place of their figures."""
        return case_page.html([one for found in self.scenes.values() for one in found])


def run(scenes: Sequence[Scene], settings: CasesSettings, tell: Tell) -> Cases:
    """The cases of every scene."""
    found = {}
    for scene in scenes:
        with tell.stage(f"{scene.name}: rankings") as advance:
            found[scene.name] = measure(scene, settings, advance)
    return Cases(found)


def measure(
    scene: Scene, settings: CasesSettings, advance: Advance | None = None
) -> tuple[Case, ...]:
    """The cases of one scene: rank under both systems, choose, look closely."""
    dataset = scene.dataset
    truth = Truth.of(dataset, settings.split, eligible=settings.eligible)
    if not len(truth):
        raise RarsError(f"{dataset.where} has no {settings.split} query with a relevant item.")
    named = _named(dataset, truth, settings)
    systems = _systems(scene, truth, settings, advance)
    before, after = (one.measured.values[NDCG] for one in systems)
    listed = named or chosen(scene, truth, before, after, settings)
    return tuple(_case(scene, truth, systems, row, reason) for row, reason in listed)


def chosen(
    scene: Scene, truth: Truth, before: Doubles, after: Doubles, settings: CasesSettings
) -> list[tuple[int, str]]:
    """Rows of the truth and why each is shown; no query twice.

    ``before``, ``after``  NDCG@100 under the two systems
    """
    found: dict[int, str] = {}
    usable, change = _readable(truth), after - before
    if settings.depths:
        share = np.nan_to_num(_allocation(scene, truth))
        answered = usable & (np.maximum(before, after) > 0)
        for depth in range(scene.tree.depth):
            row = _largest(share[:, depth], answered, found)
            if row is None:  # a query that nobody answers is better than none
                row = _largest(share[:, depth], usable, found)
            if row is not None:
                found[row] = f"separates at L{depth + 1}"
    for sign, count, reason in ((1, settings.gains, "gain"), (-1, settings.losses, "loss")):
        for number in range(count):
            row = _largest(sign * change, usable, found)
            if row is not None:
                found[row] = f"largest {reason}" if number == 0 else f"{reason} {number + 1}"
    return list(found.items())


def _allocation(scene: Scene, truth: Truth) -> Doubles:
    """(queries, L): where the entropy of each query's relevance is."""
    relevance = Relevance.of(truth.row, truth.item, truth.gain)
    measured = ambiguity(scene.tree, project(scene.tree, relevance))
    # Of queries that divide at one depth alone, the one that divides more says more.
    return np.asarray(measured.allocation + 1e-3 * measured.entropy)


def _readable(truth: Truth) -> Bools:
    good = (truth.counts >= FEW) & (truth.counts <= MANY)
    return good if good.any() else truth.counts > 1


def _largest(values: Doubles, usable: Bools, taken: dict[int, str]) -> int | None:
    """The row with the largest positive value that is usable and not taken."""
    open_to = usable.copy()
    open_to[list(taken)] = False
    masked = np.where(open_to, values, -np.inf)
    row = int(masked.argmax())
    return row if masked[row] > 0 else None


def _named(dataset: Dataset, truth: Truth, settings: CasesSettings) -> list[tuple[int, str]]:
    found = []
    for name in settings.queries:
        rows: Ints = np.zeros(0, dtype=np.int64)
        for column in (dataset.query_ids, dataset.query_texts):
            numbers = np.flatnonzero(np.asarray(pc.equal(column, name)))
            rows = rows if len(rows) else np.flatnonzero(np.isin(truth.queries, numbers))
        if not len(rows):
            raise RarsError(
                f"No {settings.split} query with a relevant item has the id or text {name!r}."
            )
        found.append((int(rows[0]), "chosen"))
    return found


def _systems(
    scene: Scene, truth: Truth, settings: CasesSettings, advance: Advance | None
) -> tuple[System, System]:
    """The reference first; stored evaluations are used where they are there."""
    rules: Sequence[str | None] = settings.rules
    if len(rules) not in (0, 2):
        raise RarsError(f"Cases compare two rules, not {len(rules)}: --set rules=ar,all.")
    if scene.other is None:
        rules = rules or ("ar", "all")
        names = {"ar": "AR-only", "all": "All-level"}
        first, second = (
            _system(
                names.get(str(rule), str(rule)), scene.retriever, scene, settings, rule, advance
            )
            for rule in rules
        )
        return first, second
    rules = rules or (None, None)
    other = Retriever.load(scene.other.folder)
    known, own = _run_names(scene.other, scene.run)
    return (
        _system(known, other, scene, settings, rules[0], advance),
        _system(own, scene.retriever, scene, settings, rules[1], advance),
    )


def _run_names(first: Run, second: Run | None) -> tuple[str, str]:
    """What two runs are called: their recipes' names, or their folders' where those are the same."""
    assert second is not None
    names = first.recipe().name, second.recipe().name
    return names if names[0] != names[1] else (first.folder.name, second.folder.name)


def _system(
    name: str,
    retriever: Retriever,
    scene: Scene,
    settings: CasesSettings,
    rule: str | None,
    advance: Advance | None,
) -> System:
    results, dataset = retriever.run.results, scene.dataset
    # Where nobody says who is eligible, all are: then this is the evaluation that is stored anyway.
    eligible = settings.eligible and "eligible" in dataset.query_store.names
    found, _ = stored.evaluated(
        retriever,
        results,
        dataset,
        settings.split,
        rule,
        eligible=eligible,
        folder=retriever.run.folder,
        advance=advance,
    )
    part = f"{settings.split}-eligible" if eligible else settings.split
    files = stored.Files.of(results, part, str(retriever.facts(rule)["rule"]))
    return System(name, read_run(files.run, dataset), found)


def _case(scene: Scene, truth: Truth, systems: Sequence[System], row: int, reason: str) -> Case:
    query = int(truth.queries[row])
    judged = scene.dataset.judgments
    own = judged.where(judged.query == query)
    return case_of(
        scene.dataset,
        scene.tree,
        query,
        Judged(own.item, own.grade, mass(own.grade, "linear")),
        [one.ranks(query) for one in systems],
        reason=reason,
        systems=[one.name for one in systems],
        ndcg=[float(one.measured.values[NDCG][row]) for one in systems],
    )


def _drawer(one: Case) -> Any:
    def draw(path: Path) -> None:
        case_figure.draw(one, path)

    return draw


def _safe(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name)


STUDY = Study(
    name="cases",
    title="Queries worth looking at: their relevance on the tree, and their ranks under two systems",
    run=run,
    settings=CasesSettings,
    trains=("rars", "base"),
)
