"""Do queries with equal evidence branch alike?

Owns: the paper's heterogeneity at equal evidence: disjoint pairs of queries with the same number of positives
of every grade. With distinct identifiers such queries have equal total entropy, so what differs is where on
the way down it is: mean total variation between depth profiles r, and the share of pairs whose maximising
depths are disjoint, with intervals over pairs (bootstrap).

Queries two of whose positives share an identifier are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from rars.analysis import figures
from rars.analysis.population import EVIDENCE, Population, equal_pairs
from rars.analysis.profiles import apart, profiles, total_variation
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.errors import RarsError
from rars.evaluation.statistics import Estimate, estimates
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Tell


class HeterogeneitySettings(StudySettings):
    """How the interval over pairs is drawn."""

    draws: PositiveInt = 2000


@dataclass(frozen=True)
class Apartness:
    """Mean total variation between the profiles of a pair, and the share with different peaks."""

    tv: Estimate
    peaks: Estimate


@dataclass(frozen=True, eq=False)
class SceneHeterogeneity:
    """One scene: how many pairs, how many queries were left out, and the distances by evidence."""

    queries: int
    colliding: int
    pairs: int
    found: dict[str, Apartness]


@dataclass(frozen=True, eq=False)
class Heterogeneity:
    """Every scene by name."""

    scenes: dict[str, SceneHeterogeneity]
    draws: int

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: asdict(one) for name, one in self.scenes.items()}

    def tables(self) -> list[Table]:
        """The paper's part (c)."""
        rows = []
        for evidence, label in EVIDENCE.items():
            cells = []
            for one in self.scenes.values():
                found = one.found[evidence]
                cells += [
                    Cell(f"{one.pairs:,}"),
                    Cell(f"{found.tv.mean:.3f}", interval=_ends(found.tv, 1, 3)),
                    Cell(f"{100 * found.peaks.mean:.1f}", interval=_ends(found.peaks, 100, 1)),
                ]
            rows.append(Row((label,), tuple(cells)))
        left = ", ".join(f"{one.colliding:,} {name}" for name, one in self.scenes.items())
        return [
            Table(
                "heterogeneity",
                "Heterogeneity at equal evidence",
                ("Evidence",),
                ("Pairs", "TV", "Peak diff. (%)") * len(self.scenes),
                (Block(tuple(rows)),),
                "Disjoint pairs of queries with the same number of positives of every grade: mean total "
                "variation of their depth profiles, and pairs whose depths of most entropy are disjoint. "
                f"Left out, as positives share an identifier: {left}.",
                tuple((name, 3) for name in self.scenes),
                intervals=f"Below each value: its 95 % bootstrap interval over pairs, {self.draws:,} draws.",
            )
        ]

    def figures(self) -> list[Figure]:
        """Distances and different peaks, by scene."""
        return [Figure("heterogeneity", "Profiles of queries with equal evidence", self._draw)]

    def _draw(self, path: Path) -> None:
        place = np.arange(len(self.scenes))
        with figures.figure(path, panels=2, width=3.8) as (left, right):
            for at, (evidence, label) in enumerate(EVIDENCE.items()):
                found = [one.found[evidence] for one in self.scenes.values()]
                shift = place + (at - 0.5) * 0.38
                for axis, values, scale in (
                    (left, [one.tv for one in found], 1.0),
                    (right, [one.peaks for one in found], 100.0),
                ):
                    means = [scale * one.mean for one in values]
                    ends = [
                        [scale * (one.mean - one.low) for one in values],
                        [scale * (one.high - one.mean) for one in values],
                    ]
                    color = figures.SERIES[at]
                    axis.bar(shift, means, 0.36, yerr=ends, color=color, label=label, capsize=3)
            left.set(ylabel="mean total variation", title="Distance of depth profiles")
            right.set(ylabel="% of pairs", title="Depths of most entropy differ")
            for axis in (left, right):
                axis.set(xticks=place, xticklabels=list(self.scenes))
            left.legend(fontsize=8, loc="upper right")

    def findings(self) -> list[str]:
        """How far apart queries with the same evidence are."""
        return [
            f"{name}: {one.pairs:,} pairs of queries with the same graded evidence have depth profiles that "
            f"differ by {one.found['linear'].tv.mean:.3f} in total variation; in "
            f"{100 * one.found['linear'].peaks.mean:.1f} % of them relevance divides most at another depth."
            for name, one in self.scenes.items()
        ]


def run(scenes: Sequence[Scene], settings: HeterogeneitySettings, tell: Tell) -> Heterogeneity:
    """Pair the queries of every scene and compare them."""
    found = {}
    with tell.stage("pairs of queries") as advance:
        for at, scene in enumerate(scenes, 1):
            found[scene.name] = measure(scene, settings)
            advance(at, len(scenes))
    return Heterogeneity(found, settings.draws)


def measure(scene: Scene, settings: HeterogeneitySettings) -> SceneHeterogeneity:
    """One scene."""
    several = Population.of(scene, settings).several()
    colliding = several.collides(scene.tree)
    people = several.where(~colliding)
    pairs = equal_pairs(people.grade_counts()[1], np.random.default_rng(settings.seed))
    if not len(pairs):
        raise RarsError(
            f"{scene.name}: no two queries have the same number of positives of every grade."
        )
    found = {}
    for evidence in EVIDENCE:
        own = profiles(scene.tree, people.row, people.item, people.weights(evidence))
        one, other = own[pairs[:, 0]], own[pairs[:, 1]]
        columns = np.stack([total_variation(one, other), apart(one, other)], axis=1)
        found[evidence] = Apartness(*estimates(columns, draws=settings.draws, seed=settings.seed))
    return SceneHeterogeneity(len(several), int(colliding.sum()), len(pairs), found)


STUDY = Study(
    name="heterogeneity",
    title="Whether queries with equal evidence branch at the same depths",
    run=run,
    settings=HeterogeneitySettings,
)


def _ends(one: Estimate, scale: float, digits: int) -> tuple[str, str]:
    return f"{scale * one.low:.{digits}f}", f"{scale * one.high:.{digits}f}"
