"""Does the tree group what is relevant together, or would any tree of that shape?

Owns: the paper's hierarchy controls: mean Delta_2, Delta_{3:L} = sum_{l >= 3} Delta_l over all queries, and
mean entropy-weighted depth tau over those with positive entropy, under the identifiers as they are and under
topology-preserving reassignments (``rars.analysis.assignments``).

The interval of the semantic row is over queries (bootstrap); that of a control is the central 95 % of its
assignments. p is twice the smaller tail, (1 + as extreme) / (1 + assignments), at most 1; Holm's correction
is over scenes x controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from rars.analysis import assignments, figures
from rars.analysis.population import Population
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.arrays import Doubles, Ints
from rars.errors import RarsError
from rars.evaluation.report import NOTHING, p_value
from rars.evaluation.statistics import Estimate, estimates, holm
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Advance, Tell
from rars.tree import PrefixTree

CONTROLS = {
    "global": "Global shuffle",
    "first code": "Within-L1 shuffle",
    "three levels": "L1 + three category levels",
    "full category": "L1 + full category",
}
STATISTICS = ("second", "fine", "tau")
"""Delta_2, Delta_{3:L} and tau."""
_BLOCK = 50
"""Assignments between two reports of progress."""


class HierarchySettings(StudySettings):
    """How often identifiers are reassigned, and how the interval over queries is drawn."""

    assignments: PositiveInt = 999
    draws: PositiveInt = 2000
    relevance: str = "linear"


@dataclass(frozen=True)
class ControlRow:
    """A control: its statistics with the central 95 % of assignments, and its test against the semantic row.

    ``movable``  the share of positive item occurrences that can move
    ``gained``   the most queries with positive entropy that an assignment has more than the semantic one
    ``lost``     and fewer
    """

    values: dict[str, Estimate]
    p: dict[str, float]
    movable: float
    gained: int
    lost: int


@dataclass(frozen=True, eq=False)
class SceneHierarchy:
    """One scene: the semantic row, its controls by name."""

    queries: int
    branching: int
    depth: int
    semantic: dict[str, Estimate]
    controls: dict[str, ControlRow]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Every scene, and the corrected p of every (scene, control) by statistic."""

    scenes: dict[str, SceneHierarchy]
    corrected: dict[str, dict[tuple[str, str], float]]
    settings: HierarchySettings

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: self._scene(name, one) for name, one in self.scenes.items()}

    def _scene(self, name: str, one: SceneHierarchy) -> dict[str, Any]:
        controls = {
            control: asdict(row)
            | {"p_holm": {key: self.corrected[key][name, control] for key in STATISTICS}}
            for control, row in one.controls.items()
        }
        semantic = {key: value.as_dict() for key, value in one.semantic.items()}
        counts = {"queries": one.queries, "queries_with_entropy": one.branching, "depth": one.depth}
        return counts | {"semantic": semantic, "controls": controls}

    @property
    def listed(self) -> list[str]:
        """The controls that some scene has."""
        return [one for one in CONTROLS if any(one in s.controls for s in self.scenes.values())]

    def tables(self) -> list[Table]:
        """The paper's part (b), its table of tau with intervals, and the tests."""
        return [self._means(), self._depths(), self._tests()]

    def _means(self) -> Table:
        rows = [Row((CONTROLS[one],), self._values(one)) for one in self.listed]
        own = [_cells(one.semantic) for one in self.scenes.values()]
        rows.append(Row(("Semantic",), tuple(c for cells in own for c in cells)))
        last = self.listed[-1]
        difference = Row((f"Δ vs. {CONTROLS[last]}",), self._differences(last))
        deepest = max(one.depth for one in self.scenes.values())
        fine = f"Δ3:{deepest}" if deepest > 3 else "Δ3"
        return Table(
            "hierarchy",
            "Hierarchy controls",
            ("Hierarchy",),
            ("Δ2", fine, "τ") * len(self.scenes),
            (Block(tuple(rows)), Block((difference,))),
            f"Mean refinement entropy in nats over all queries and mean entropy-weighted depth τ over those "
            f"with positive entropy; controls: mean of {self.settings.assignments:,} assignments.",
            tuple((name, 3) for name in self.scenes),
        )

    def _values(self, control: str) -> tuple[Cell, ...]:
        found: list[Cell] = []
        for one in self.scenes.values():
            row = one.controls.get(control)
            found += [NOTHING] * 3 if row is None else _cells(row.values)
        return tuple(found)

    def _differences(self, control: str) -> tuple[Cell, ...]:
        found: list[Cell] = []
        for name, one in self.scenes.items():
            row = one.controls.get(control)
            for key in STATISTICS:
                if row is None:
                    found.append(NOTHING)
                    continue
                value = one.semantic[key].mean - row.values[key].mean
                clear = self.corrected[key][name, control] < 0.05
                found.append(Cell(_signed(value), mark="best" if clear else ""))
        return tuple(found)

    def _depths(self) -> Table:
        rows = [Row(("Semantic",), tuple(_with_interval(s.semantic) for s in self.scenes.values()))]
        for control in self.listed:
            known = [one.controls.get(control) for one in self.scenes.values()]
            cells = (NOTHING if row is None else _with_interval(row.values) for row in known)
            rows.append(Row((CONTROLS[control],), tuple(cells)))
        return Table(
            "hierarchy-depth",
            "Entropy-weighted depth τ under topology-preserving controls",
            ("Hierarchy",),
            tuple(self.scenes),
            (Block(tuple(rows)),),
            f"Semantic: 95 % query-bootstrap interval, {self.settings.draws:,} draws. Controls: central 95 % "
            f"of {self.settings.assignments:,} assignments.",
        )

    def _tests(self) -> Table:
        rows = []
        for name, one in self.scenes.items():
            for control, row in one.controls.items():
                p = self.corrected["tau"][name, control]
                cells = (
                    Cell(_signed(one.semantic["tau"].mean - row.values["tau"].mean, 4)),
                    Cell(p_value(row.p["tau"])),
                    Cell(p_value(p), mark="best" if p < 0.05 else ""),
                    Cell(f"{100 * row.movable:.1f}"),
                    Cell(f"+{row.gained} / −{row.lost}"),
                )
                rows.append(Row((name, CONTROLS[control]), cells))
        return Table(
            "hierarchy-tests",
            "Semantic minus control, entropy-weighted depth",
            ("Data", "Control"),
            ("Δτ", "p", "p (Holm)", "can move (%)", "queries gained / lost"),
            (Block(tuple(rows)),),
            f"Two-sided permutation p with the plus-one correction; Holm's correction over {len(rows)} "
            "contrasts. Can move: positive item occurrences that share their group with another item. "
            "Gained, lost: the most queries with positive entropy that an assignment adds or takes away.",
        )

    def figures(self) -> list[Figure]:
        """The depth of the semantic identifiers and of every control."""
        return [Figure("hierarchy", "Entropy-weighted depth under every control", self._draw)]

    def _draw(self, path: Path) -> None:
        labels = [*(CONTROLS[one] for one in self.listed), "Semantic"]
        with figures.figure(path, panels=len(self.scenes), width=4.4, height=2.8) as axes:
            for axis, (name, one) in zip(axes, self.scenes.items(), strict=True):
                rows = {CONTROLS[key]: row.values["tau"] for key, row in one.controls.items()} | {
                    "Semantic": one.semantic["tau"]
                }
                _draw_rows(axis, rows, labels)
                axis.set(yticks=range(len(labels)), ylim=(-0.6, len(labels) - 0.3), title=name)
                axis.set_yticklabels(labels if axis is axes[0] else [])
                axis.set(xlabel="entropy-weighted depth τ")
                axis.grid(axis="x", color="#E5E7EB")

    def findings(self) -> list[str]:
        """Whether relevance branches later than under each control."""
        said = []
        for name, one in self.scenes.items():
            for control, row in one.controls.items():
                mine, theirs = one.semantic["tau"].mean, row.values["tau"].mean
                p = self.corrected["tau"][name, control]
                way = "deeper" if mine > theirs else "less deep"
                clear = "" if p < 0.05 else ", which is not significant"
                said.append(
                    f"{name}: relevance branches {way} than under {CONTROLS[control]} "
                    f"(τ {mine:.3f} against {theirs:.3f}, corrected p {_equals(p)}){clear}."
                )
        return said


def run(scenes: Sequence[Scene], settings: HierarchySettings, tell: Tell) -> Hierarchy:
    """Every scene under every control, and the correction over all of them."""
    found = {}
    for scene in scenes:
        with tell.stage(f"{scene.name}: controls") as advance:
            found[scene.name] = measure(scene, settings, advance)
    keys = [(name, control) for name, one in found.items() for control in one.controls]
    corrected = {}
    for statistic in STATISTICS:
        p = holm([found[name].controls[control].p[statistic] for name, control in keys])
        corrected[statistic] = dict(zip(keys, map(float, p), strict=True))
    return Hierarchy(found, corrected, settings)


def measure(scene: Scene, settings: HierarchySettings, advance: Advance) -> SceneHierarchy:
    """One scene under every control it has."""
    if scene.tree.depth < 2:
        raise RarsError(
            f"{scene.name}: the hierarchy study needs identifiers of two codes or more."
        )
    people = Population.of(scene, settings)
    weight = people.weights(settings.relevance)
    refinements = semantic_entropies(scene.tree, people, weight)
    some = refinements.sum(axis=1) > 0
    if not some.any():
        raise RarsError(f"{scene.name}: no query has positives with different identifiers.")
    own = _estimates(refinements, some, settings)
    group = assignments.groups(scene.dataset, scene.tree)
    controls = {}
    done, total = 0, settings.assignments * len(group)
    for number, (name, one) in enumerate(group.items()):
        states = assignments.states(settings.seed, number, count=settings.assignments)
        blocks = []
        for first in range(0, len(states), _BLOCK):
            part = states[first : first + _BLOCK]
            blocks.append(reassigned(scene.tree, people, weight, one, part))
            done += len(part)
            advance(done, total)
        controls[name] = _control(np.concatenate(blocks), own, people, one, int(some.sum()))
    return SceneHierarchy(len(people), int(some.sum()), scene.tree.depth, own, controls)


def semantic_entropies(tree: PrefixTree, people: Population, weight: Doubles) -> Doubles:
    """(queries, L) Delta_l(q) under the identifiers as they are."""
    kernels = assignments.kernels()
    table = kernels.plogp_table(weight, _largest(people, weight))
    slot, nodes = tree.positions[people.item], assignments.nodes_of(tree)
    whole = kernels.entropies(slot, weight, people.start, nodes, table)
    return np.asarray(np.diff(whole, axis=1, prepend=0.0))


def reassigned(
    tree: PrefixTree, people: Population, weight: Doubles, group: Ints, states: assignments.States
) -> Doubles:
    """(assignments, L + 2): mean Delta_1..Delta_L, mean tau, and how many queries have positive entropy."""
    kernels = assignments.kernels()
    draws = assignments.Draws.of(tree, group, people.item)
    sums = kernels.reassigned(
        draws.pool,
        draws.begin,
        draws.end,
        states,
        draws.members(people.item),
        weight,
        people.start,
        assignments.nodes_of(tree),
        kernels.plogp_table(weight, _largest(people, weight)),
    )
    sums[:, :-2] /= len(people)
    sums[:, -2] /= np.maximum(sums[:, -1], 1.0)
    return np.asarray(sums)


def two_sided(values: Doubles, observed: float) -> float:
    """Twice the smaller tail of random values, the observed one counted among them; at most 1.

    >>> two_sided(np.arange(999.0), -5.0), two_sided(np.zeros(9), 0.0)
    (0.002, 1.0)
    """
    slack = 1e-12 * max(1.0, abs(observed))  # sums in another order must count as equal
    below = 1 + int((values <= observed + slack).sum())
    above = 1 + int((values >= observed - slack).sum())
    return min(1.0, 2 * min(below, above) / (1 + len(values)))


STUDY = Study(
    name="hierarchy",
    title="Whether relevance branches deeper than on reassigned identifiers of the same tree",
    run=run,
    settings=HierarchySettings,
)


def _largest(people: Population, weight: Doubles) -> float:
    return float(np.add.reduceat(weight, people.start[:-1]).max())


def _estimates(refinements: Doubles, some: Any, settings: HierarchySettings) -> dict[str, Estimate]:
    columns = np.stack([refinements[:, 1], refinements[:, 2:].sum(axis=1)], axis=1)
    second, fine = estimates(columns, draws=settings.draws, seed=settings.seed)
    kept = refinements[some]
    depths = np.arange(1, refinements.shape[1] + 1)
    tau = estimates(kept @ depths / kept.sum(axis=1), draws=settings.draws, seed=settings.seed)[0]
    return {"second": second, "fine": fine, "tau": tau}


def _control(
    means: Doubles, own: dict[str, Estimate], people: Population, group: Ints, branching: int
) -> ControlRow:
    depth = means.shape[1] - 2
    drawn = {"second": means[:, 1], "fine": means[:, 2:depth].sum(axis=1), "tau": means[:, depth]}
    values = {}
    for key, one in drawn.items():
        low, high = np.quantile(one, [0.025, 0.975])
        values[key] = Estimate(float(one.mean()), float(low), float(high))
    change = means[:, -1] - branching
    return ControlRow(
        values,
        {key: two_sided(one, own[key].mean) for key, one in drawn.items()},
        float(assignments.movable(group, people.item).mean()),
        int(max(0, change.max())),
        int(max(0, -change.min())),
    )


def _draw_rows(axis: Any, rows: dict[str, Estimate], labels: list[str]) -> None:
    """Dots with intervals; the global shuffle, far to the left of all others, as an arrow at the edge."""
    far = CONTROLS["global"]
    near = [one for label, one in rows.items() if label != far] or list(rows.values())
    low, high = min(one.low for one in near), max(one.high for one in near)
    room = 0.25 * (high - low) or 0.01
    axis.set(xlim=(low - 2 * room, high + room))
    for label, one in rows.items():
        at, own = labels.index(label), label == "Semantic"
        edge = max(one.mean, low - 1.6 * room)
        if edge > one.mean:
            axis.plot(edge, at, "<", color=figures.BLUE, ms=6)
        else:
            ends = [[one.mean - one.low], [one.high - one.mean]]
            color, mark = (figures.ORANGE, "D") if own else (figures.BLUE, "o")
            axis.errorbar(one.mean, at, xerr=ends, fmt=mark, color=color, capsize=3, ms=5)
        text, shift = f"{one.mean:.3f}", (0, 7)
        axis.annotate(text, (edge, at), shift, textcoords="offset points", ha="center", fontsize=8)


def _cells(values: dict[str, Estimate]) -> list[Cell]:
    return [Cell(_small(values[key].mean)) for key in STATISTICS]


def _small(value: float) -> str:
    return "<0.001" if 0 < value < 0.0005 else f"{value:.3f}"


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _with_interval(values: dict[str, Estimate]) -> Cell:
    one = values["tau"]
    return Cell(f"{one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]")


def _equals(p: float) -> str:
    return p_value(p) if p < 0.001 else f"= {p_value(p)}"
