"""Studies that train Base and RARS under several variants of a setting and ask for the gain of RARS in each.

Owns: the conditions, contrasts, tables and figure of such a study; the files ``studies/geometry.py`` and
``studies/positives.py`` only list their variants. Ignores how runs are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rars.evaluation.report import NOTHING, differences, ranked, short, signed
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments import drawing
from rars.experiments.design import (
    FIVE,
    PRIMARY,
    RULE_LABELS,
    Condition,
    Contrast,
    Point,
    Setting,
    Study,
)
from rars.experiments.layout import cell, rows, values_caption
from rars.experiments.results import Results

TRAININGS = {"base": "Base", "rars": "RARS"}


@dataclass(frozen=True)
class Variant:
    """What both recipes are changed by (``--set`` options), and what tables call it."""

    key: str
    label: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class PairedStudy:
    """Base and RARS under every variant; ``head`` is the table head over the variants' labels."""

    name: str
    title: str
    head: str
    variants: tuple[Variant, ...]

    def study(self) -> Study:
        """As an experiment."""
        return Study(
            name=self.name,
            title=self.title,
            conditions=self.conditions,
            contrasts=self.contrasts,
            tables=self.tables,
            draw=self.draw,
        )

    def conditions(self, setting: Setting) -> list[Condition]:
        """Two for each variant."""
        return [
            Condition(
                f"{recipe}-{variant.key}",
                f"{label}, {variant.label}",
                setting.recipe(recipe, *variant.changes),
            )
            for variant in self.variants
            for recipe, label in TRAININGS.items()
        ]

    def contrasts(self, setting: Setting) -> list[Contrast]:
        """RARS minus Base in each variant; the tests of one rule are one family."""
        return [
            Contrast(
                self.named(variant, rule),
                Point(f"rars-{variant.key}", rule),
                Point(f"base-{variant.key}", rule),
                PRIMARY,
                rule,
            )
            for rule in ("all", "ar")
            for variant in self.variants
        ]

    def named(self, variant: Variant, rule: str) -> str:
        """The name of a variant's contrast."""
        return f"RARS − Base, {variant.label}, {RULE_LABELS[rule]}"

    def tables(self, results: Results) -> list[Table]:
        """Gains side by side, all five measures, and the tests."""
        return [
            *(self._gains(results, rule) for rule in ("all", "ar")),
            self._full(results),
            differences(f"{self.name}-differences", "Paired differences", results.deltas),
        ]

    def draw(self, results: Results, path: Path) -> None:
        """The gain in each variant."""
        shown = [one for one in results.deltas if one.contrast.family == "all"]
        names = {self.named(variant, "all"): variant.label for variant in self.variants}
        drawing.gains(shown, names, path, label="gain of RARS over Base")

    def _gains(self, results: Results, rule: str) -> Table:
        made = [
            Row((variant.label,), tuple(self._gain(results, variant, rule)))
            for variant in self.variants
        ]
        groups = tuple((short(measure), 3) for measure in PRIMARY)
        return Table(
            f"{self.name}-gains-{rule}",
            f"Gains over Base, {RULE_LABELS[rule]}",
            (self.head,),
            ("Base", "RARS", "Δ") * len(PRIMARY),
            (Block(tuple(made)),),
            values_caption(results, rule, best=False) + " Δ: the gain over Base in points.",
            groups,
        )

    def _gain(self, results: Results, variant: Variant, rule: str) -> Iterable[Cell]:
        for measure in PRIMARY:
            yield from (
                cell(results, Point(f"{one}-{variant.key}", rule), measure) for one in TRAININGS
            )
            one = results.delta(self.named(variant, rule), measure)
            if one is None:
                yield NOTHING
            else:
                yield Cell(signed(one.estimate.mean), mark="best" if one.significant() else "")

    def _full(self, results: Results) -> Table:
        blocks: Sequence[Block] = [
            ranked([Block(tuple(rows(results, self._labelled(variant), FIVE)))])[0]
            for variant in self.variants
        ]
        return Table(
            f"{self.name}-full",
            "All measures, all levels",
            (self.head, "Training"),
            tuple(map(short, FIVE)),
            tuple(blocks),
            values_caption(results, "all", best=False) + " Bold: the better of each pair.",
        )

    def _labelled(self, variant: Variant) -> list[tuple[tuple[str, ...], Point]]:
        return [
            ((variant.label if key == "base" else "", label), Point(f"{key}-{variant.key}", "all"))
            for key, label in TRAININGS.items()
        ]
