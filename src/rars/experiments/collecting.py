"""From stored results to numbers with their uncertainty: seeds, intervals, paired tests.

Owns: reading the per-query measures of every cell, and the statistics of a study. Ignores layout.

Two kinds of uncertainty are kept apart. Over training runs: mean and sample standard deviation of each
measure, and of the differences within each seed. Over queries: each query's value is averaged over seeds
first, and then bootstrap intervals and sign randomisation tests treat the queries as drawn
(``rars.evaluation.statistics``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rars import artifacts
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import (
    Estimate,
    PerQuery,
    Seeds,
    estimates,
    holm,
    seed_differences,
    seed_summary,
    sign_test,
)
from rars.evaluation import stored as keeping
from rars.experiments.design import Condition, Contrast, Ints, Point, Setting
from rars.experiments.grid import Cell, Grid, results_of

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Scores:
    """Per-query measures of one point: one entry per seed, all on the same queries."""

    seeds: tuple[int, ...]
    runs: tuple[PerQuery, ...]

    def of(self, queries: Ints) -> Scores:
        """Only these queries."""
        return Scores(self.seeds, tuple(run.of(queries) for run in self.runs))

    def at(self, seeds: Iterable[int]) -> Scores:
        """Only these seeds, in this order."""
        listed = tuple(seeds)
        return Scores(listed, tuple(self.runs[self.seeds.index(seed)] for seed in listed))

    def means(self, measure: str) -> list[float]:
        """The mean over queries of each seed."""
        return [run.mean(measure) for run in self.runs]

    def summary(self, measure: str) -> Seeds:
        """Mean and sample standard deviation over seeds."""
        return seed_summary(self.means(measure))

    def averaged(self, measures: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(queries, measures): each query's mean over seeds."""
        return np.asarray(np.mean([run.matrix(measures) for run in self.runs], axis=0))


@dataclass(frozen=True)
class Delta:
    """One contrast on one measure.

    ``estimate``  of the seed-averaged differences by query, with its paired interval
    ``seeds``     mean and sample standard deviation of the differences within each seed
    """

    contrast: Contrast
    measure: str
    estimate: Estimate
    p: float
    p_holm: float
    seeds: Seeds
    per_seed: tuple[float, ...]

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 5 %."""
        return self.p_holm < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values; measures are fractions of 1."""
        contrast = self.contrast
        return {
            "contrast": contrast.name,
            "system": contrast.system._asdict(),
            "reference": contrast.reference._asdict(),
            "family": contrast.family,
            "measure": self.measure,
            **self.estimate.as_dict(),
            "p": self.p,
            "p_holm": self.p_holm,
            "seeds": self.seeds.as_dict(),
            "per_seed": list(self.per_seed),
        }


@dataclass(frozen=True, eq=False)
class Found:
    """All numbers of a study. A point that no run answered for is absent."""

    setting: Setting
    conditions: Mapping[str, Condition]
    measures: tuple[str, ...]
    scores: Mapping[Point, Scores]
    intervals: Mapping[tuple[Point, str], Estimate]
    deltas: tuple[Delta, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    """Queries in each subset."""

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
            "differences": [one.as_dict() for one in self.deltas],
        }


def named(deltas: Iterable[Delta], name: str, measure: str) -> Delta | None:
    """The difference of a contrast on a measure, if it is among these."""
    listed = (one for one in deltas if (one.contrast.name, one.measure) == (name, measure))
    return next(listed, None)


def collect(
    grid: Grid,
    setting: Setting,
    conditions: Sequence[Condition],
    contrasts: Sequence[Contrast],
    measures: Sequence[str],
    subsets: Mapping[str, Ints] | None = None,
) -> Found:
    """Read what the cells stored and compute the study's numbers."""
    whole: dict[Point, Scores] = {}
    for condition in conditions:
        cells = [cell for cell in grid.cells if cell.condition == condition]
        for rule in condition.rules:
            read = {cell.seed: read_cell(cell, rule, grid.dataset) for cell in cells}
            known = {seed: one for seed, one in read.items() if one is not None}
            if known:
                point = Point(condition.key, rule)
                whole[point] = Scores(tuple(known), tuple(known.values()))
    return summarise(whole, setting, conditions, contrasts, measures, subsets)


def summarise(
    whole: Mapping[Point, Scores],
    setting: Setting,
    conditions: Sequence[Condition],
    contrasts: Sequence[Contrast],
    measures: Sequence[str],
    subsets: Mapping[str, Ints] | None = None,
) -> Found:
    """The statistics of scores that are already in memory."""
    scores = dict(whole)
    for name, queries in (subsets or {}).items():
        for point, one in whole.items():
            scores[point._replace(subset=name)] = one.of(queries)
    _check_queries(scores)
    counts = {point.subset: len(one.runs[0]) for point, one in scores.items()}
    intervals: dict[tuple[Point, str], Estimate] = {}
    for subset in counts:
        listed = [point for point in scores if point.subset == subset]
        # One matrix, one set of resampled queries: all intervals of a subset are paired.
        found = estimates(np.hstack([scores[point].averaged(measures) for point in listed]))
        names = [(point, measure) for point in listed for measure in measures]
        intervals.update(zip(names, found, strict=True))
    deltas = _deltas(scores, contrasts)
    keyed = {condition.key: condition for condition in conditions}
    return Found(setting, keyed, tuple(measures), scores, intervals, deltas, counts)


def read_cell(cell: Cell, rule: str, dataset: Dataset) -> PerQuery | None:
    """The stored measures of a cell, computed again from its run file; None where there are none."""
    numbers = results_of(cell.folder, cell.condition.split, rule)
    return None if numbers is None else read_numbers(numbers, cell.condition.split, dataset)


def read_numbers(numbers: Path, split: str, dataset: Dataset) -> PerQuery:
    """The per-query measures behind one ``results/SPLIT-RULE.json``."""
    name = numbers.stem.removeprefix(f"{split}-")
    files = keeping.Files.of(numbers.parent, split, name)
    stated = artifacts.read_json(numbers)["digests"][files.run.name]
    if not files.run.exists() or artifacts.digest_file(files.run) != stated:
        raise RarsError(f"{files.run} is not the file that {numbers.name} was computed from.")
    found = keeping.stored(files, dataset, split)
    assert found is not None  # the file is there, and no facts were asked for
    return found


def _deltas(scores: Mapping[Point, Scores], contrasts: Sequence[Contrast]) -> tuple[Delta, ...]:
    made: list[tuple[Contrast, str, Estimate, float, Seeds, tuple[float, ...]]] = []
    for contrast in contrasts:
        pair = _pair(scores, contrast)
        if pair is None:
            continue
        system, reference = pair
        difference = system.averaged(contrast.measures) - reference.averaged(contrast.measures)
        found, p = estimates(difference), sign_test(difference)
        for at, measure in enumerate(contrast.measures):
            ours, theirs = system.means(measure), reference.means(measure)
            each = tuple(a - b for a, b in zip(ours, theirs, strict=True))
            seeds = seed_differences(ours, theirs)
            made.append((contrast, measure, found[at], float(p[at]), seeds, each))
    corrected = _corrected([(one[0].family, one[3]) for one in made])
    return tuple(
        Delta(contrast, measure, estimate, p, p_holm, seeds, each)
        for (contrast, measure, estimate, p, seeds, each), p_holm in zip(
            made, corrected, strict=True
        )
    )


def _pair(scores: Mapping[Point, Scores], contrast: Contrast) -> tuple[Scores, Scores] | None:
    """Both sides at the seeds that both have."""
    system, reference = scores.get(contrast.system), scores.get(contrast.reference)
    if system is None or reference is None:
        return None
    shared = [seed for seed in system.seeds if seed in reference.seeds]
    return (system.at(shared), reference.at(shared)) if shared else None


def _corrected(tests: list[tuple[str, float]]) -> list[float]:
    """Holm's p-values within each family, in the order given."""
    adjusted = np.ones(len(tests))
    families = np.array([family for family, _ in tests])
    p = np.array([value for _, value in tests])
    for family in dict.fromkeys(families.tolist()):
        chosen = families == family
        adjusted[chosen] = holm(p[chosen])
    return [float(value) for value in adjusted]


def _check_queries(scores: Mapping[Point, Scores]) -> None:
    first: dict[str, PerQuery] = {}
    for point, one in scores.items():
        for run in one.runs:
            known = first.setdefault(point.subset, run)
            if not np.array_equal(known.queries, run.queries):
                raise RarsError(f"{point.key} was not measured on the same queries as the others.")
        if not len(one.runs[0]):
            raise RarsError(f"No test query with a relevant item is in the part {point.subset!r}.")
