"""Studies that train Base and RARS in several worlds: what changes is the world, what is asked is the gain.

Owns: the conditions, contrasts, tables and figure of such a study; ``geometry`` and ``positives`` say only
what their worlds are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rars.evaluation.report import NOTHING, differences, ranked, short, signed
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments import drawing
from rars.experiments.design import FIVE, PRIMARY, RULES, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import cell, rows, values_caption
from rars.experiments.results import Found

TRAININGS = {"base": "Base", "rars": "RARS"}


@dataclass(frozen=True)
class World:
    """A setting that both are trained in."""

    key: str
    label: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Pairs:
    """Base and RARS in every world."""

    name: str
    title: str
    head: str
    worlds: tuple[World, ...]

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
        """Two for each world."""
        return [
            Condition(
                f"{recipe}-{world.key}",
                f"{label}, {world.label}",
                setting.recipe(recipe, *world.changes),
            )
            for world in self.worlds
            for recipe, label in TRAININGS.items()
        ]

    def contrasts(self, setting: Setting) -> list[Contrast]:
        """RARS minus Base in each world; the tests of one rule are one family."""
        return [
            Contrast(
                self.named(world, rule),
                Point(f"rars-{world.key}", rule),
                Point(f"base-{world.key}", rule),
                PRIMARY,
                rule,
            )
            for rule in ("all", "ar")
            for world in self.worlds
        ]

    def named(self, world: World, rule: str) -> str:
        """The name of a world's contrast."""
        return f"RARS − Base, {world.label}, {RULES[rule]}"

    def tables(self, found: Found) -> list[Table]:
        """Gains side by side, all five measures, and the tests."""
        return [
            *(self._gains(found, rule) for rule in ("all", "ar")),
            self._full(found),
            differences(f"{self.name}-differences", "Paired differences", found.deltas),
        ]

    def draw(self, found: Found, path: Path) -> None:
        """The gain in each world."""
        shown = [one for one in found.deltas if one.contrast.family == "all"]
        names = {self.named(world, "all"): world.label for world in self.worlds}
        drawing.gains(shown, names, path, label="gain of RARS over Base")

    def _gains(self, found: Found, rule: str) -> Table:
        made = [Row((world.label,), tuple(self._gain(found, world, rule))) for world in self.worlds]
        groups = tuple((short(measure), 3) for measure in PRIMARY)
        return Table(
            f"{self.name}-gains-{rule}",
            f"Gains over Base, {RULES[rule]}",
            (self.head,),
            ("Base", "RARS", "Δ") * len(PRIMARY),
            (Block(tuple(made)),),
            values_caption(found, rule, best=False) + " Δ: the gain over Base in points.",
            groups,
        )

    def _gain(self, found: Found, world: World, rule: str) -> Iterable[Cell]:
        for measure in PRIMARY:
            yield from (
                cell(found, Point(f"{one}-{world.key}", rule), measure) for one in TRAININGS
            )
            one = found.delta(self.named(world, rule), measure)
            if one is None:
                yield NOTHING
            else:
                yield Cell(signed(one.estimate.mean), mark="best" if one.significant() else "")

    def _full(self, found: Found) -> Table:
        blocks: Sequence[Block] = [
            ranked([Block(tuple(rows(found, self._labelled(world), FIVE)))])[0]
            for world in self.worlds
        ]
        return Table(
            f"{self.name}-full",
            "All measures, all levels",
            (self.head, "Training"),
            tuple(map(short, FIVE)),
            tuple(blocks),
            values_caption(found, "all", best=False) + " Bold: the better of each pair.",
        )

    def _labelled(self, world: World) -> list[tuple[tuple[str, ...], Point]]:
        return [
            ((world.label if key == "base" else "", label), Point(f"{key}-{world.key}", "all"))
            for key, label in TRAININGS.items()
        ]
