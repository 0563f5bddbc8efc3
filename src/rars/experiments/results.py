"""From stored results to the numbers of a study, with their uncertainty.

Owns: reading the per-query measures of every cell, and cutting them to subsets of the test queries. Ignores
layout, and leaves all statistics to ``rars.evaluation.comparison``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import Estimate, PerQuery, Truth
from rars.evaluation import stored as stored_evaluation
from rars.evaluation.comparison import Scores, differences, intervals, same_queries
from rars.experiments.courses import Course
from rars.experiments.design import Condition, Contrast, Delta, Ints, Point, Setting
from rars.experiments.folders import results_of
from rars.experiments.grid import Grid, GridCell


@dataclass(frozen=True, eq=False)
class Results:
    """All numbers of a study. A point without a finished run is absent.

    ``scores``     per-query measures of each point, one run per seed
    ``intervals``  mean and query interval of each (point, measure)
    ``deltas``     the tested differences
    """

    setting: Setting
    conditions: Mapping[str, Condition]
    measures: tuple[str, ...]
    scores: Mapping[Point, Scores]
    intervals: Mapping[tuple[Point, str], Estimate]
    deltas: tuple[Delta, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    """Queries in each subset."""
    courses: Mapping[str, Mapping[int, Course]] = field(default_factory=dict)
    """How the trainings of a condition went, by its key and the seed, where they measured themselves."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Why a condition has no run, in one sentence, where what it needs cannot be had; by its key."""

    @property
    def lacking_sentences(self) -> list[str]:
        """The conditions without a run whose weights cannot be had, and why."""
        return [f"{self.label(key)}: {why}" for key, why in self.lacking.items()]

    @property
    def labelled_courses(self) -> dict[str, Mapping[int, Course]]:
        """The courses by the labels of their conditions, for figures."""
        return {self.label(key): by_seed for key, by_seed in self.courses.items()}

    def label(self, key: str) -> str:
        """A condition's label."""
        return self.conditions[key].label

    def delta(self, name: str, measure: str) -> Delta | None:
        """The difference of a named contrast, if it could be computed."""
        return named(self.deltas, name, measure)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values; measures are fractions of 1."""
        points = [
            {
                **point._asdict(),
                "label": self.label(point.key),
                "seeds": list(scores.seeds),
                "measures": {
                    name: {
                        "per_seed": scores.means(name),
                        "mean": scores.summary(name).mean,
                        "sd": scores.summary(name).sd,
                        "low": self.intervals[point, name].low,
                        "high": self.intervals[point, name].high,
                    }
                    for name in self.measures
                },
            }
            for point, scores in self.scores.items()
        ]
        return {
            "queries": dict(self.counts),
            "points": points,
            "differences": [_delta(one) for one in self.deltas],
            "courses": {
                key: {str(seed): one.as_dict() for seed, one in by_seed.items()}
                for key, by_seed in self.courses.items()
            },
            "unavailable": dict(self.lacking),
        }


def named(deltas: Iterable[Delta], name: str, measure: str) -> Delta | None:
    """The difference of the contrast called ``name`` on a measure; None if it is not among these."""
    listed = (one for one in deltas if (one.contrast.name, one.measure) == (name, measure))
    return next(listed, None)


def collect(
    grid: Grid,
    setting: Setting,
    conditions: Sequence[Condition],
    contrasts: Sequence[Contrast],
    measures: Sequence[str],
    subsets: Mapping[str, Ints] | None = None,
) -> Results:
    """Read what the cells stored and compute the study's numbers."""
    whole: dict[Point, Scores] = {}
    courses: dict[str, dict[int, Course]] = {}
    for condition in conditions:
        cells = [cell for cell in grid.cells if cell.condition == condition]
        told = {cell.seed: read_course(cell) for cell in cells}
        if found := {seed: one for seed, one in told.items() if one is not None}:
            courses[condition.key] = found
        for rule in condition.rules:
            read = {cell.seed: read_cell(cell, rule, grid.dataset) for cell in cells}
            known = {seed: one for seed, one in read.items() if one is not None}
            if known:
                point = Point(condition.key, rule)
                fixed = not condition.seeded
                whole[point] = Scores(tuple(known), tuple(known.values()), fixed)
    made = summarise(whole, setting, conditions, contrasts, measures, subsets)
    return replace(made, courses=courses)


def summarise(
    whole: Mapping[Point, Scores],
    setting: Setting,
    conditions: Sequence[Condition],
    contrasts: Sequence[Contrast],
    measures: Sequence[str],
    subsets: Mapping[str, Ints] | None = None,
) -> Results:
    """The statistics of scores that are already in memory."""
    scores = dict(whole)
    for name, queries in (subsets or {}).items():
        for point, one in whole.items():
            scores[point._replace(subset=name)] = one.of(queries)
    counts: dict[str, int] = {}
    found: dict[tuple[Point, str], Estimate] = {}
    for subset in dict.fromkeys(point.subset for point in scores):
        part = {point: one for point, one in scores.items() if point.subset == subset}
        counts[subset] = len(same_queries(part))
        if not counts[subset]:
            raise RarsError(f"No test query with a relevant item is in the part {subset!r}.")
        found |= intervals(part, measures)
    keyed = {condition.key: condition for condition in conditions}
    deltas = differences(scores, contrasts)
    return Results(setting, keyed, tuple(measures), scores, found, deltas, counts)


def keep(grid: Grid) -> None:
    """Keep what finished runs measured, where numbers are kept."""
    for cell in grid.cells:
        if cell.kept.folder is None:
            continue
        split = cell.condition.split
        for rule in cell.condition.rules:
            if cell.kept.find(cell.folder.name, split, rule) is None:
                read_cell(cell, rule, grid.dataset)
        read_course(cell)


def read_cell(cell: GridCell, rule: str, dataset: Dataset) -> PerQuery | None:
    """The stored measures of a cell, computed again from its run file, or those kept; None without any."""
    split = cell.condition.split
    numbers = results_of(cell.folder, split, rule)
    if numbers is None:
        return cell.kept.find(cell.folder.name, split, rule)
    found = read_numbers(numbers, split, dataset)
    cell.kept.put(cell.folder.name, split, rule, found)
    cell.kept.describe(dataset.digest, cell.recipe)
    return found


def read_course(cell: GridCell) -> Course | None:
    """How a cell's training went, from its journal or as it was kept; None if it did not measure itself."""
    found = Course.read(cell.folder / "journal.jsonl")
    if found is None:
        return cell.kept.find_course(cell.folder.name)
    if cell.trained:
        cell.kept.put_course(cell.folder.name, found)
    return found


def read_numbers(numbers: Path, split: str, dataset: Dataset) -> PerQuery:
    """The per-query measures behind one ``results/SPLIT-RULE.json``."""
    name = numbers.stem.removeprefix(f"{split}-")
    files = stored_evaluation.Files.of(numbers.parent, split, name)
    if (why := stored_evaluation.damage(files)) is not None:
        raise RarsError(why)
    found = stored_evaluation.stored(files, dataset, Truth.of(dataset, split))
    assert found is not None  # the file is there, and no facts were asked for
    return found


def _delta(one: Delta) -> dict[str, Any]:
    return {
        "contrast": one.contrast.name,
        "system": one.system._asdict(),
        "reference": one.reference._asdict(),
        **({"beyond": [p._asdict() for p in one.contrast.beyond]} if one.contrast.beyond else {}),
        "family": one.contrast.family,
        **one.as_dict(),
        "seeds": one.seeds.as_dict(),
        "per_seed": list(one.per_seed),
    }
