"""The learning rate of an experiment, chosen on validation queries.

Owns: which rates are tried, the recall at each, and the choice. A comparison at a rate that suits only one
side measures the rate, so every condition of every experiment is trained at the rate that is best for Base,
and the main table shows RARS at its own best rate too.

Measured: Recall@100 of AR-only retrieval on validation queries, mean over the tuning seeds. Where the best
rate is the first or last one tried, the next one beyond is tried too: the end of a list is not a maximum.
Ignores how runs are made (``Work``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rars import disk
from rars.analysis import figures
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments.design import RATE, Condition, Setting
from rars.experiments.grid import Grid, digest
from rars.experiments.kept import NOWHERE, Kept
from rars.experiments.results import read_cell
from rars.experiments.tasks import SHORT

STEPS = (0.5, 1.0, 2.0, 4.0)
"""Rates tried at first, as multiples of the size's own."""
BEYOND = 2
"""How often a rate beyond the end of the list may be added."""
MEASURE, RULE, SPLIT = "Recall@100", "ar", "validation"

Work = Callable[[Grid], None]
"""Trains and measures the cells of a grid that are not there yet."""


@dataclass(frozen=True)
class Curve:
    """Validation recall of one recipe at every rate that was tried: rate -> one value per seed."""

    recipe: str
    values: Mapping[float, tuple[float, ...]]
    queries: int
    failed: tuple[float, ...] = ()

    @property
    def rates(self) -> list[float]:
        """The rates that could be measured, smallest first."""
        return sorted(self.values)

    def mean(self, rate: float) -> float:
        """The mean over seeds."""
        return float(np.mean(self.values[rate]))

    @property
    def best(self) -> float:
        """The rate with the highest mean; of equal ones the smallest.

        >>> Curve("base", {1e-3: (0.2, 0.4), 2e-3: (0.5, 0.3), 5e-4: (0.1, 0.1)}, 9).best
        0.002
        """
        return max(self.rates, key=self.mean)

    @property
    def beyond(self) -> float | None:
        """The rate to try next if the best one is at an end of the list."""
        rates = sorted([*self.values, *self.failed])
        if self.best == rates[-1]:
            return 2 * self.best
        return self.best / 2 if self.best == rates[0] else None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "recipe": self.recipe,
            "measure": MEASURE,
            "rule": RULE,
            "split": SPLIT,
            "queries": self.queries,
            "best": self.best,
            "at_the_end": self.beyond is not None,
            "failed": list(self.failed),
            "curve": [
                {"rate": rate, "mean": self.mean(rate), "per_seed": list(self.values[rate])}
                for rate in self.rates
            ],
        }

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Curve:
        """Read it back."""
        values = {one["rate"]: tuple(one["per_seed"]) for one in known["curve"]}
        return cls(known["recipe"], values, known["queries"], tuple(known["failed"]))


@dataclass(frozen=True)
class RateSearch:
    """How a rate is chosen: ``home`` keeps the runs; each of the ``rates`` is tried with ``seeds`` seeds."""

    home: Path
    dataset: Dataset
    setting: Setting
    seeds: int = 1
    rates: tuple[float, ...] = ()
    kept: Kept = NOWHERE

    def conditions(self, recipe: str, rates: Sequence[float]) -> list[Condition]:
        """The recipe at each rate."""
        return [
            Condition(
                f"{recipe}@{rate:g}",
                f"{recipe} at {rate:g}",
                self.setting.recipe(recipe, f"{RATE}={rate}", rate_of=None),
                (RULE,),
                split=SPLIT,
            )
            for rate in rates
        ]

    def grid(self, conditions: Sequence[Condition]) -> Grid:
        """The runs they need."""
        return Grid.of(self.home, self.dataset, conditions, range(self.seeds), self.kept)

    def first_rates(self, recipe: str) -> list[float]:
        """The rates given, or multiples of the size's own."""
        own = self.setting.recipe(recipe, rate_of=None).training.learning_rate
        return list(self.rates or [_round(own * step) for step in STEPS])

    def path(self, recipe: str) -> Path:
        """Where the choice is kept."""
        settings = self.setting.recipe(recipe, f"{RATE}=1", rate_of=None).model_dump(mode="json")
        known = digest(self.dataset, [settings, self.first_rates(recipe), self.seeds])
        return self.home / f"learning-rate-{known[:SHORT]}.json"

    def known(self, recipe: str) -> Curve | None:
        """A choice made earlier; None where there is none, or a run of it failed and may succeed now."""
        path = self.path(recipe)
        known = Curve.from_dict(disk.read_json(path)) if path.exists() else None
        return None if known is None or known.failed else known


def choose(search: RateSearch, recipes: Sequence[str], work: Work) -> dict[str, Curve]:
    """The curve of each recipe; what is not known yet is trained, all recipes together."""
    curves = {recipe: known for recipe in recipes if (known := search.known(recipe)) is not None}
    tried = {recipe: search.first_rates(recipe) for recipe in recipes if recipe not in curves}
    for turn in range(BEYOND + 1):
        if not tried:
            break
        listed = [one for recipe in tried for one in search.conditions(recipe, tried[recipe])]
        work(search.grid(listed))
        for recipe in list(tried):
            curve = _measured(search, recipe, tried[recipe])
            if curve.beyond is not None and turn < BEYOND:
                tried[recipe].append(_round(curve.beyond))
            else:
                curves[recipe] = curve
                disk.write_json(search.path(recipe), curve.as_dict())
                del tried[recipe]
    return {recipe: curves[recipe] for recipe in recipes}


def table(curves: Sequence[Curve]) -> Table:
    """The curves as a table: rates down, recipes across."""
    rates = sorted({rate for curve in curves for rate in (*curve.values, *curve.failed)})
    made = [Row((f"{rate:g}",), tuple(_cell(curve, rate) for curve in curves)) for rate in rates]
    seeds = max(len(values) for curve in curves for values in curve.values.values())
    caption = (
        f"{MEASURE} (%) of AR-only retrieval on {curves[0].queries:,} validation queries, "
        f"{seeds} seed{'s' if seeds > 1 else ''} each. Bold: the rate that is used."
    )
    names = tuple(curve.recipe for curve in curves)
    title = "Learning rate, chosen on validation queries"
    return Table("learning-rate", title, ("Learning rate",), names, (Block(tuple(made)),), caption)


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Recall against the rate, the chosen ones marked."""
    colors = (figures.BLUE, figures.ORANGE, figures.GREEN)
    with figures.figure(path, panels=1, width=5.2, height=3.4) as (axis,):
        for curve, color in zip(curves, colors, strict=False):
            means = [100 * curve.mean(rate) for rate in curve.rates]
            axis.plot(curve.rates, means, "o-", color=color, label=curve.recipe, ms=4)
            for rate in curve.rates:
                seeds = [100 * value for value in curve.values[rate]]
                axis.plot([rate] * len(seeds), seeds, ".", color=color, alpha=0.4)
            best = (curve.best, 100 * curve.mean(curve.best))
            axis.plot(*best, "D", color=color, ms=9, mec="white", zorder=3)
        ticks = sorted({rate for curve in curves for rate in curve.values})
        axis.set(xscale="log", xlabel="learning rate", ylabel="validation Recall@100 (%)")
        axis.set_xticks(ticks, [f"{rate:g}" for rate in ticks])
        axis.minorticks_off()
        axis.set_title("Learning rate (diamond: chosen)")
        axis.legend(fontsize=8)


def notes(curves: Sequence[Curve]) -> list[str]:
    """What was chosen and what to keep in mind about it."""
    made = []
    for curve in curves:
        text = (
            f"Learning rate of {curve.recipe}: {curve.best:g}, the best of "
            f"{', '.join(f'{rate:g}' for rate in curve.rates)} by {MEASURE} of AR-only retrieval on "
            f"{curve.queries:,} validation queries."
        )
        if curve.beyond is not None:
            text += " It is the end of what was tried: a rate beyond it may be better still."
        if curve.failed:
            text += f" Training failed at {', '.join(f'{rate:g}' for rate in curve.failed)}."
        made.append(text)
    if len(curves) > 1 and len({curve.best for curve in curves}) == 1:
        names = " and ".join(curve.recipe for curve in curves)
        made.append(f"{names} have the same best rate, so there is one comparison, not two.")
    return made


def _measured(search: RateSearch, recipe: str, rates: Sequence[float]) -> Curve:
    values: dict[float, tuple[float, ...]] = {}
    failed, queries = [], 0
    for rate, condition in zip(rates, search.conditions(recipe, rates), strict=True):
        cells = search.grid([condition]).cells
        read = [read_cell(cell, RULE, search.dataset) for cell in cells]
        known = [one for one in read if one is not None]
        if len(known) < len(read):
            failed.append(rate)
        else:
            values[rate] = tuple(one.mean(MEASURE) for one in known)
            queries = len(known[0])
    if not values:
        logs = search.home / "runs"
        raise RarsError(f"{recipe} could be trained at none of the learning rates; see {logs}.")
    return Curve(recipe, values, queries, tuple(failed))


def _cell(curve: Curve, rate: float) -> Cell:
    if rate not in curve.values:
        return Cell("failed" if rate in curve.failed else "—")
    values = curve.values[rate]
    spread = f"{100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return Cell(f"{100 * curve.mean(rate):.2f}", spread, mark="best" if rate == curve.best else "")


def _round(rate: float) -> float:
    """Without the noise of repeated multiplication, so that equal rates have equal digests."""
    return float(f"{rate:.6g}")
