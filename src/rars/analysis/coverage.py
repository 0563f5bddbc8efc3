"""How much of the relevant part of the tree the final ranking holds, with and without evidence.

Owns: the paper's "Prefix coverage": the share of relevant prefixes among the best 100 identifiers at every
depth, and loss events (covered at one depth, not at the next), under AR-only and all-level scoring of one
fixed model. What coverage is stands in ``rars.evaluation.prefix_coverage``; at the last depth it is the
recall of identifiers.

Bootstrap and sign randomisation are paired by query; Holm's correction is over the depths and events of a
scene (7 for identifiers of four codes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from rars.analysis import figures
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.arrays import Doubles
from rars.errors import RarsError
from rars.evaluation import coverage as prefix_coverage
from rars.evaluation.measures import PerQuery
from rars.evaluation.ranking import Ranking, queries_of
from rars.evaluation.report import bounds, p_value, signed
from rars.evaluation.statistics import DRAWS, Estimate, estimates, holm, sign_test
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.evaluation.truth import Truth
from rars.progress import Advance, Tell
from rars.search.paths import best_identifiers

RULES = ("ar", "all")


class CoverageSettings(StudySettings):
    """How many identifiers a ranking has, and how often queries are drawn anew."""

    k: PositiveInt = 100
    draws: PositiveInt = DRAWS


@dataclass(frozen=True)
class Compared:
    """A measure of one scene: AR-only, all-level, and all-level minus AR-only."""

    ar: float
    all: float
    improvement: Estimate
    p: float
    p_holm: float


@dataclass(frozen=True, eq=False)
class SceneCoverage:
    """One scene: its measures by name (``Coverage@L1``, ``Loss@L1-L2``), and every query's own."""

    queries: int
    compared: dict[str, Compared]
    per_query: dict[str, PerQuery]


@dataclass(frozen=True, eq=False)
class Coverage:
    """Every scene."""

    scenes: dict[str, SceneCoverage]
    settings: CoverageSettings

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            name: {
                "queries": one.queries,
                "measures": {key: asdict(found) for key, found in one.compared.items()},
            }
            for name, one in self.scenes.items()
        }

    def tables(self) -> list[Table]:
        """One row a depth or event, one group of columns a scene."""
        names = list(dict.fromkeys(key for one in self.scenes.values() for key in one.compared))
        blocks = []
        for kind in ("Coverage", "Loss"):
            rows = (
                Row((_label(name),), self._cells(name)) for name in names if name.startswith(kind)
            )
            title = "Prefix coverage" if kind == "Coverage" else "Loss events"
            blocks.append(Block(tuple(rows), title))
        families = sorted({len(one.compared) for one in self.scenes.values()})
        tests = " or ".join(map(str, families))
        counts = ", ".join(f"{one.queries:,} ({name})" for name, one in self.scenes.items())
        return [
            Table(
                "coverage",
                f"Prefix coverage among the best {self.settings.k} identifiers (%)",
                ("",),
                ("AR-only", "All-level", "Δ [95 % interval]") * len(self.scenes),
                tuple(blocks),
                f"Means over queries: {counts}. A loss event: relevant prefixes are covered at one depth and "
                f"none at the next. Paired query-bootstrap intervals, {self.settings.draws:,} draws; bold: "
                f"p < 0.05 by two-sided sign randomisation, {self.settings.draws:,} draws, Holm's "
                f"correction over {tests} comparisons of each dataset. At the last depth coverage is the "
                f"recall of identifiers.",
                tuple((name, 3) for name in self.scenes),
            )
        ]

    def _cells(self, name: str) -> tuple[Cell, ...]:
        cells: list[Cell] = []
        for scene in self.scenes.values():
            one = scene.compared.get(name)
            if one is None:
                cells += [Cell("—")] * 3
                continue
            text = f"{signed(one.improvement.mean)} {bounds(one.improvement)}"
            cells += [
                Cell(f"{100 * one.ar:.2f}"),
                Cell(f"{100 * one.all:.2f}"),
                Cell(text, mark="best" if one.p_holm < 0.05 else ""),
            ]
        return tuple(cells)

    def figures(self) -> list[Figure]:
        """The change of coverage at every depth, and of loss events."""
        return [Figure("coverage", "All-level minus AR-only: prefix coverage", self._draw)]

    def _draw(self, path: Path) -> None:
        titles = {"Coverage": "Δ coverage (points)", "Loss": "Δ loss events (points)"}
        with figures.figure(path, panels=2, width=4.2, height=2.9) as axes:
            for axis, (kind, title) in zip(axes, titles.items(), strict=True):
                axis.axhline(0, color=figures.GREY, lw=1)
                ticks: list[str] = []
                for at, (name, one) in enumerate(self.scenes.items()):
                    own = {key: c for key, c in one.compared.items() if key.startswith(kind)}
                    ticks = max(ticks, [_label(key).replace(" to ", "–") for key in own], key=len)
                    changes(axis, list(own.values()), at, len(self.scenes), name)
                axis.set(title=title, xticks=range(len(ticks)), xlim=(-0.6, len(ticks) - 0.4))
                axis.set_xticklabels(ticks)
            if len(self.scenes) > 1:
                axes[0].legend(fontsize=8, loc="upper left")

    def findings(self) -> list[str]:
        """Which changes can be told from chance."""
        return [
            _sentence(scene, name, found)
            for scene, one in self.scenes.items()
            for name, found in one.compared.items()
        ]


def run(scenes: Sequence[Scene], settings: CoverageSettings, tell: Tell) -> Coverage:
    """Every scene under both rules."""
    found = {}
    for scene in scenes:
        with tell.stage(f"{scene.name}: rankings") as advance:
            found[scene.name] = measure(scene, settings, advance)
    return Coverage(found, settings)


def measure(
    scene: Scene, settings: CoverageSettings, advance: Advance | None = None
) -> SceneCoverage:
    """One scene: rank identifiers under both rules, and compare what they cover."""
    truth = Truth.of(scene.dataset, settings.split, eligible=settings.eligible)
    if not len(truth):
        raise RarsError(
            f"{scene.dataset.where} has no {settings.split} query with a relevant item."
        )
    if not np.array_equal(scene.retriever.tree.order, scene.tree.order):
        raise RarsError(f"{scene.name}: the catalogue has changed since the run was made.")
    wanted = truth.at_identifiers(scene.tree)
    total = len(truth) * len(RULES)
    per_query = {}
    for number, rule in enumerate(RULES):
        ranking = ranked(
            scene, truth, rule, settings.k, _after(advance, number * len(truth), total)
        )
        per_query[rule] = prefix_coverage(ranking, wanted, scene.tree, settings.k)
    return SceneCoverage(len(truth), compared(per_query, settings), per_query)


def ranked(
    scene: Scene, truth: Truth, rule: str, k: int, advance: Advance | None = None
) -> Ranking:
    """The best ``k`` identifiers of every query of the truth."""
    asked = queries_of(scene.retriever, scene.dataset, truth.queries, k, rule)
    return Ranking.of(truth.queries, best_identifiers(scene.retriever, asked, k, advance=advance))


def compared(found: Mapping[str, PerQuery], settings: CoverageSettings) -> dict[str, Compared]:
    """All-level minus AR-only on every measure, tested as one family."""
    plain, scored = (found[rule] for rule in RULES)
    names = list(plain.values)
    change: Doubles = np.stack([scored.values[n] - plain.values[n] for n in names], axis=1)
    intervals = estimates(change, draws=settings.draws, seed=settings.seed)
    p = sign_test(change, draws=settings.draws, seed=settings.seed)
    adjusted = holm(p)
    return {
        name: Compared(
            float(plain.values[name].mean()),
            float(scored.values[name].mean()),
            intervals[at],
            float(p[at]),
            float(adjusted[at]),
        )
        for at, name in enumerate(names)
    }


STUDY = Study(
    name="coverage",
    title="Whether evidence keeps more relevant prefixes in the final ranking",
    run=run,
    settings=CoverageSettings,
    trains=("rars",),
)


def changes(axis: Any, found: Sequence[Compared], place: int, scenes: int, name: str) -> None:
    """Draw changes with their intervals in points; hollow where chance cannot be ruled out."""
    shift = 0.18 * (place - (scenes - 1) / 2)
    color = figures.SERIES[place % len(figures.SERIES)]
    means = [100 * one.improvement.mean for one in found]
    low = [100 * (one.improvement.mean - one.improvement.low) for one in found]
    high = [100 * (one.improvement.high - one.improvement.mean) for one in found]
    places = [at + shift for at in range(len(found))]
    axis.errorbar(places, means, [low, high], fmt="o", color=color, capsize=3, ms=5, label=name)
    hollow = [at for at, one in enumerate(found) if one.p_holm >= 0.05]
    axis.plot([places[at] for at in hollow], [means[at] for at in hollow], "o", mfc="white",
              mec=color, ms=5, zorder=4)  # fmt: skip


def _after(advance: Advance | None, before: int, total: int) -> Advance | None:
    """Progress of a part, told as progress of the whole."""
    if advance is None:
        return None
    tell = advance
    return lambda done, _: tell(before + done, total)


def _label(name: str) -> str:
    return name.partition("@")[2].replace("-", " to ")


def _sentence(scene: str, name: str, one: Compared) -> str:
    kind, _, where = name.partition("@")
    lower = kind == "Loss"
    better = (one.improvement.mean < 0) == lower
    p = p_value(one.p_holm)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    clear = f"significantly {'better' if better else 'worse'}"
    said = clear if one.p_holm < 0.05 else "not significant"
    what = f"{'loss events' if lower else 'coverage'} at {where.replace('-', ' to ')}"
    return (
        f"{scene}: {what} {100 * one.ar:.1f} to {100 * one.all:.1f} % "
        f"({signed(one.improvement.mean)} points), corrected {p}: {said}."
    )
