"""How much RARS depends on its own settings: tree weight, siblings, temperature, rank of the head.

Each sweep varies one setting and holds the others at their reference values (0.5, 32 high-scoring, 1, 64);
Base is the line all are compared with. ``sensitivity`` is the four in one, with the four-panel figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rars.evaluation.report import differences
from rars.evaluation.tables import Table
from rars.experiments import drawing
from rars.experiments.design import RULE_LABELS, Condition, Contrast, Delta, Point, Setting, Study
from rars.experiments.layout import measured
from rars.experiments.results import Results

TESTED = ("Recall@100", "nDCG@10", "nDCG@100")
DRAWN = ("Recall@100", "nDCG@100")


@dataclass(frozen=True)
class SweepLevel:
    """One value of the setting; ``tick`` is its short name in the figure."""

    label: str
    tick: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """One setting at several levels; ``reference`` is the tick of the recipe's own."""

    name: str
    title: str
    head: str
    levels: tuple[SweepLevel, ...]
    reference: str
    base: str = "Base"
    """What Base's row is called."""

    def key(self, level: SweepLevel) -> str:
        """The condition's key."""
        return f"{self.name}:{level.tick}"

    def conditions(self, setting: Setting) -> list[Condition]:
        """RARS at each level."""
        return [
            Condition(
                self.key(level),
                f"RARS, {self.head} {level.label}",
                setting.recipe("rars", *level.changes),
            )
            for level in self.levels
        ]

    def contrasts(self) -> list[Contrast]:
        """Each level minus Base; the tests of one sweep under one rule are one family."""
        return [
            Contrast(
                f"{self.head} {level.label} − Base, {RULE_LABELS[rule]}",
                Point(self.key(level), rule),
                Point("base", rule),
                TESTED,
                f"{self.name}, {RULE_LABELS[rule]}",
            )
            for rule in ("all", "ar")
            for level in self.levels
        ]

    def tables(self, results: Results) -> list[Table]:
        """All measures by level under both rules, and the tests."""
        made = []
        for rule in ("all", "ar"):
            listed = [((self.base,), Point("base", rule))]
            listed += [((level.label,), Point(self.key(level), rule)) for level in self.levels]
            title = f"{self.title}, {RULE_LABELS[rule]}"
            key = f"{self.name}-{rule}"
            made.append(measured(results, key, title, (self.head.rstrip(":"),), listed, rule=rule))
        title = f"{self.title}: paired differences to Base"
        return [*made, differences(f"{self.name}-differences", title, self.deltas(results))]

    def deltas(self, results: Results) -> list[Delta]:
        """The differences of this sweep."""
        return [one for one in results.deltas if one.contrast.family.startswith(f"{self.name}, ")]

    def panel(self, results: Results) -> drawing.Panel:
        """Gains over Base by level, under all-level retrieval."""
        by = {(one.contrast.system, one.measure): one for one in self.deltas(results)}
        series = {
            measure: [by.get((Point(self.key(level), "all"), measure)) for level in self.levels]
            for measure in DRAWN
        }
        ticks = [level.tick for level in self.levels]
        return drawing.Panel(self.title, self.head, ticks, ticks.index(self.reference), series)


def study(name: str, title: str, sweeps: Sequence[Sweep]) -> Study:
    """Sweeps as one experiment."""

    def conditions(setting: Setting) -> list[Condition]:
        base = Condition("base", "Base", setting.recipe("base"))
        return [base, *(one for sweep in sweeps for one in sweep.conditions(setting))]

    def draw(results: Results, path: Path) -> None:
        drawing.sweeps([sweep.panel(results) for sweep in sweeps], path)

    return Study(
        name=name,
        title=title,
        conditions=conditions,
        contrasts=lambda setting: [one for sweep in sweeps for one in sweep.contrasts()],
        tables=lambda results: [one for sweep in sweeps for one in sweep.tables(results)],
        draw=draw,
    )


def _numbers(key: str, values: Sequence[float]) -> tuple[SweepLevel, ...]:
    return tuple(
        SweepLevel(f"{one:g}", f"{one:g}", (f"objective.terms.tree.{key}={one}",)) for one in values
    )


def _siblings(label: str, tick: str, kind: str, count: int = 32) -> SweepLevel:
    changes = (
        f"objective.terms.tree.siblings={kind}",
        f"objective.terms.tree.n_siblings={count}",
    )
    return SweepLevel(label, tick, changes)


SWEEPS = (
    Sweep(
        "tree-weight",
        "Tree-loss weight",
        "λ_tree",
        _numbers("weight", (0.1, 0.25, 0.5, 1.0, 2.0)),
        reference="0.5",
        base="0 (Base)",
    ),
    Sweep(
        "siblings",
        "Sibling candidates",
        "Candidates:",
        (
            _siblings("relevant children only", "none", "none"),
            _siblings("+ 32 random siblings", "32 random", "random"),
            _siblings("+ 8 high-scoring siblings", "8", "high", 8),
            _siblings("+ 32 high-scoring siblings", "32", "high"),
            _siblings("all legal siblings", "all", "all"),
        ),
        reference="32",
    ),
    Sweep(
        "temperature",
        "Prediction temperature",
        "τ_p",
        _numbers("temperature", (0.5, 1, 2, 4)),
        reference="1",
    ),
    Sweep(
        "head-rank",
        "Dimension of the head",
        "r",
        _numbers("rank", (16, 64, 128, 256)),
        reference="64",
    ),
)

TREE_WEIGHT, SIBLINGS, TEMPERATURE, HEAD_RANK = (
    study(sweep.name, title, [sweep])
    for sweep, title in zip(
        SWEEPS,
        (
            "RARS at six weights of the tree loss",
            "RARS with five ways to choose the siblings a branch competes with",
            "RARS at four temperatures of the branch prediction",
            "RARS at four dimensions of the prediction head",
        ),
        strict=True,
    )
)
ALL = study(
    "hyperparameters", "The four sensitivity tables and the four-panel figure in one", SWEEPS
)
