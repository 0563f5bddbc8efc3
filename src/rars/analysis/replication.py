"""Is where a query's relevance branches a property of the query, or of the items that happened to be judged?

Owns: the paper's replication across disjoint halves. Of each query and grade, 2 floor(N / 2) positives are
split at random into two halves A and B. Two queries q, q' with equal half-counts make a pair:

    within = (TV(r_qA, r_qB) + TV(r_q'A, r_q'B)) / 2,   cross = (TV(r_qA, r_q'B) + TV(r_q'A, r_qB)) / 2,

averaged over splits inside each pair; pairs are disjoint. The gap cross - within is tested by sign
randomisation, corrected over scenes x evidences (Holm). Eligible are queries with two positives in each half
or more, all positives of which have identifiers of their own.
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
from rars.analysis.profiles import profiles, total_variation
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.arrays import Doubles, Ints, Longs
from rars.errors import RarsError
from rars.evaluation.report import p_value
from rars.evaluation.statistics import Estimate, estimates, holm, sign_test
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Advance, Tell


class ReplicationSettings(StudySettings):
    """How often positives are split, and how intervals and tests are drawn."""

    splits: PositiveInt = 100
    draws: PositiveInt = 2000
    randomisations: PositiveInt = 10_000


@dataclass(frozen=True)
class Distances:
    """Distances between halves of a query and of matched queries, and the test of their difference."""

    within: Estimate
    cross: Estimate
    gap: Estimate
    p: float


@dataclass(frozen=True, eq=False)
class SceneReplication:
    """One scene: eligible queries, pairs, and the distances by evidence."""

    eligible: int
    pairs: int
    found: dict[str, Distances]


@dataclass(frozen=True, eq=False)
class Replication:
    """Every scene by name, and the corrected p by (scene, evidence)."""

    scenes: dict[str, SceneReplication]
    corrected: dict[tuple[str, str], float]
    settings: ReplicationSettings

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        made = {name: asdict(one) for name, one in self.scenes.items()}
        for (name, evidence), p in self.corrected.items():
            made[name]["found"][evidence]["p_holm"] = p
        return made

    def tables(self) -> list[Table]:
        """The paper's part (d), and the tests."""
        rows = []
        for evidence, label in EVIDENCE.items():
            cells = []
            for name, one in self.scenes.items():
                found = one.found[evidence]
                clear = self.corrected[name, evidence] < 0.05
                cells += [Cell(f"{found.within.mean:.3f}"), Cell(f"{found.cross.mean:.3f}")]
                cells.append(Cell(_signed(found.gap.mean), mark="best" if clear else ""))
            rows.append(Row((label,), tuple(cells)))
        pairs = ", ".join(f"{one.pairs:,} {name}" for name, one in self.scenes.items())
        whole = Table(
            "replication",
            "Replication across disjoint halves of the positives",
            ("Evidence",),
            ("Within", "Cross", "Gap") * len(self.scenes),
            (Block(tuple(rows)),),
            f"Mean total variation of depth profiles between halves of a query (within) and of matched "
            f"queries (cross), over {self.settings.splits:,} splits. "
            f"Pairs: {pairs}. Bold: corrected p < 0.05.",
            tuple((name, 3) for name in self.scenes),
        )
        return [whole, self._tests()]

    def _tests(self) -> Table:
        rows = []
        for name, one in self.scenes.items():
            for evidence, label in EVIDENCE.items():
                found, p = one.found[evidence], self.corrected[name, evidence]
                ends = f"[{_signed(found.gap.low)}, {_signed(found.gap.high)}]"
                less = 100 * found.gap.mean / found.cross.mean if found.cross.mean else 0.0
                cells = (_signed(found.gap.mean), ends, f"{less:.1f}", p_value(found.p), p_value(p))
                rows.append(Row((name, label), tuple(map(Cell, cells))))
        return Table(
            "replication-tests",
            "Cross minus within",
            ("Data", "Evidence"),
            ("Gap", "95 % interval", "less than cross (%)", "p", "p (Holm)"),
            (Block(tuple(rows)),),
            f"Intervals over pairs, {self.settings.draws:,} bootstrap draws; two-sided sign randomisation, "
            f"{self.settings.randomisations:,} draws; Holm's correction over {len(rows)} tests.",
        )

    def figures(self) -> list[Figure]:
        """Within and cross, by scene."""
        return [Figure("replication", "Distances within and across queries", self._draw)]

    def _draw(self, path: Path) -> None:
        place = np.arange(len(self.scenes))
        with figures.figure(path, panels=2, width=3.8) as axes:
            for axis, (evidence, label) in zip(axes, EVIDENCE.items(), strict=True):
                found = [one.found[evidence] for one in self.scenes.values()]
                for at, (name, values) in enumerate(
                    {
                        "within a query": [one.within for one in found],
                        "across matched queries": [one.cross for one in found],
                    }.items()
                ):
                    ends = [
                        [one.mean - one.low for one in values],
                        [one.high - one.mean for one in values],
                    ]
                    means = [one.mean for one in values]
                    shift = place + (at - 0.5) * 0.38
                    color = figures.SERIES[at]
                    axis.bar(shift, means, 0.36, yerr=ends, color=color, label=name, capsize=3)
                axis.set(xticks=place, xticklabels=list(self.scenes), title=label)
            axes[0].set(ylabel="total variation of profiles")
            top = max(axis.get_ylim()[1] for axis in axes) * 1.2
            for axis in axes:
                axis.set(ylim=(0, top))
            axes[0].legend(fontsize=8, loc="upper left")

    def findings(self) -> list[str]:
        """Whether halves of a query agree more than halves of different queries."""
        said = []
        for name, one in self.scenes.items():
            found, p = one.found["linear"], self.corrected[name, "linear"]
            clear = "" if p < 0.05 else ", which is not significant"
            less = 100 * found.gap.mean / found.cross.mean if found.cross.mean else 0.0
            said.append(
                f"{name}: under graded evidence, profiles of disjoint halves of a query are {less:.1f} % "
                f"closer than those of {one.pairs:,} matched pairs (gap {_signed(found.gap.mean)}, corrected "
                f"p {p_value(p) if p < 0.001 else '= ' + p_value(p)}){clear}."
            )
        return said


def run(scenes: Sequence[Scene], settings: ReplicationSettings, tell: Tell) -> Replication:
    """Every scene, and the correction over scenes and evidences."""
    found = {}
    for scene in scenes:
        with tell.stage(f"{scene.name}: splits") as advance:
            found[scene.name] = measure(scene, settings, advance)
    keys = [(name, evidence) for name in found for evidence in EVIDENCE]
    p = holm([found[name].found[evidence].p for name, evidence in keys])
    return Replication(found, dict(zip(keys, map(float, p), strict=True)), settings)


def measure(scene: Scene, settings: ReplicationSettings, advance: Advance) -> SceneReplication:
    """One scene."""
    people = Population.of(scene, settings)
    halves = people.grade_counts()[1] // 2
    people = people.where((halves.sum(axis=1) >= 2) & ~people.collides(scene.tree))
    if not len(people):
        raise RarsError(f"{scene.name}: no query has two positives for each of two halves.")
    pairs = equal_pairs(people.grade_counts()[1] // 2, np.random.default_rng(settings.seed))
    if not len(pairs):
        raise RarsError(
            f"{scene.name}: no two queries have halves with the same number of every grade."
        )
    sums = {evidence: np.zeros((len(pairs), 2)) for evidence in EVIDENCE}
    for at in range(settings.splits):
        random = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(1, at)))
        half = split(people, random)
        for evidence, total in sums.items():
            total += _distances(scene, people, half, evidence, pairs)
        advance(at + 1, settings.splits)
    found = {name: _tested(total / settings.splits, settings) for name, total in sums.items()}
    return SceneReplication(len(people), len(pairs), found)


def split(people: Population, random: np.random.Generator) -> Ints:
    """(pairs,) the half (0 or 1) that each positive is in; -1 for the odd one of a query and grade.

    >>> some = Population.grouped(np.zeros(5, int), np.arange(5), np.array([1.0, 1, 1, 2, 2]), 1)
    >>> half = split(some, np.random.default_rng(0))
    >>> sorted(half[:3].tolist()), sorted(half[3:].tolist())
    ([-1, 0, 1], [0, 1])
    """
    grades, kind = np.unique(people.grade, return_inverse=True)
    key = people.row * len(grades) + kind
    order = np.lexsort((random.random(len(key)), key))
    size = np.bincount(key)
    first = np.cumsum(size) - size
    place = np.arange(len(order)) - first[key[order]]
    several = size[key[order]] // 2
    half = np.empty(len(key), dtype=np.int64)
    half[order] = np.where(place < several, 0, np.where(place < 2 * several, 1, -1))
    return half


def _distances(
    scene: Scene, people: Population, half: Ints, evidence: str, pairs: Longs
) -> Doubles:
    """(pairs, 2) within and cross of one split."""
    kept = half >= 0
    row = (2 * people.row + half)[kept]
    order = np.argsort(row, kind="stable")
    weight = people.weights(evidence)[kept][order]
    own = profiles(scene.tree, row[order], people.item[kept][order], weight)
    a, b = own[0::2], own[1::2]
    one, other = pairs.T
    within = (total_variation(a[one], b[one]) + total_variation(a[other], b[other])) / 2
    cross = (total_variation(a[one], b[other]) + total_variation(a[other], b[one])) / 2
    return np.stack([within, cross], axis=1)


def _tested(means: Doubles, settings: ReplicationSettings) -> Distances:
    gap = means[:, 1] - means[:, 0]
    columns = np.column_stack([means, gap])
    within, cross, between = estimates(columns, draws=settings.draws, seed=settings.seed)
    p = sign_test(gap, draws=settings.randomisations, seed=settings.seed)
    return Distances(within, cross, between, float(p[0]))


STUDY = Study(
    name="replication",
    title="Whether disjoint halves of a query's positives branch alike",
    run=run,
    settings=ReplicationSettings,
)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
