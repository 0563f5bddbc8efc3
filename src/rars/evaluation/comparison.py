"""Several systems on the same queries, each with one or several training seeds: intervals, paired tests.

Owns: the intervals and tests of ``rars compare`` and of the experiments, which pairs are tested, and which
tests form the family that Holm's correction covers. Ignores layout
(``rars.evaluation.report``).

Two kinds of uncertainty are kept apart. Over training runs: mean and sample standard deviation of each
measure, and of the differences within each seed. Over queries: query q of system a has the value
x_a(q) = (1/s) sum_i x_a,i(q) over its s seeds; bootstrap intervals of the mean, and for a pair intervals and
sign randomisation tests of x_a(q) - x_b(q), treat the queries as drawn (``rars.evaluation.statistics``). All
systems share the resampled queries, so every interval is paired.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles
from rars.errors import RarsError
from rars.evaluation.measures import PerQuery
from rars.evaluation.statistics import (
    DRAWS,
    LEVEL,
    Estimate,
    Seeds,
    estimates,
    holm,
    seed_differences,
    seed_summary,
    sign_test,
)

ALPHA = 0.05
"""A corrected p-value below it is called significant."""

Family = Literal["table", "measure"]
"""``table``: all tests of the comparison are one family; ``measure``: those of each measure are one."""

K = TypeVar("K", bound=Hashable)
"""What names a system: text for ``rars compare``, a condition under a rule for an experiment."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Per-query measures of one system: one entry per seed, all on the same queries.

    ``fixed``: no seed changes the system; its one run is compared with every seed of another
    """

    seeds: tuple[int, ...]
    runs: tuple[PerQuery, ...]
    fixed: bool = False

    @classmethod
    def given(cls, runs: PerQuery | Sequence[PerQuery] | Scores) -> Scores:
        """One run, or several that are numbered as they come."""
        if isinstance(runs, Scores):
            return runs
        listed = (runs,) if isinstance(runs, PerQuery) else tuple(runs)
        return cls(tuple(range(len(listed))), listed)

    def of(self, queries: npt.NDArray[np.integer[Any]]) -> Scores:
        """Only these queries."""
        return Scores(self.seeds, tuple(run.of(queries) for run in self.runs), self.fixed)

    def at(self, seeds: Iterable[int]) -> Scores:
        """Only these seeds, in this order."""
        listed = tuple(seeds)
        if self.fixed:
            return Scores(listed, self.runs * len(listed))
        return Scores(listed, tuple(self.runs[self.seeds.index(seed)] for seed in listed))

    def means(self, measure: str) -> list[float]:
        """The mean over queries of each seed."""
        return [run.mean(measure) for run in self.runs]

    def summary(self, measure: str) -> Seeds:
        """Mean and sample standard deviation over seeds."""
        return seed_summary(self.means(measure))

    def averaged(self, measures: Sequence[str]) -> Doubles:
        """(queries, measures): each query's mean over seeds."""
        return np.asarray(np.mean([run.matrix(measures) for run in self.runs], axis=0))


@dataclass(frozen=True)
class Contrast(Generic[K]):
    """``system`` minus ``reference``; Holm's correction covers all contrasts and measures of a ``family``.

    With ``beyond`` = (a, b) it is a difference of differences by query: (system - reference) - (a - b).
    """

    name: str
    system: K
    reference: K
    measures: tuple[str, ...]
    family: str = "all"
    beyond: tuple[K, K] | None = None


@dataclass(frozen=True)
class Difference(Generic[K]):
    """One contrast on one measure.

    ``estimate``  of the seed-averaged differences by query, with its paired interval
    ``seeds``     mean and sample standard deviation of the differences within each seed
    """

    contrast: Contrast[K]
    measure: str
    estimate: Estimate
    p: float
    p_holm: float
    per_seed: tuple[float, ...]
    seeds: Seeds

    @property
    def system(self) -> K:
        """What is compared."""
        return self.contrast.system

    @property
    def reference(self) -> K:
        """What it is compared with."""
        return self.contrast.reference

    def significant(self, alpha: float = ALPHA) -> bool:
        """Whether the corrected p-value is below ``alpha``."""
        return self.p_holm < alpha

    def as_dict(self) -> dict[str, Any]:
        """The numbers as plain JSON values; measures are fractions of 1."""
        return {
            "measure": self.measure,
            **self.estimate.as_dict(),
            "p": self.p,
            "p_holm": self.p_holm,
        }


@dataclass(frozen=True)
class Comparison:
    """All systems (rows) on all measures (columns), and the tests between them."""

    measures: tuple[str, ...]
    systems: Mapping[str, Mapping[str, Estimate]]
    seeds: Mapping[str, Mapping[str, Seeds]]
    differences: tuple[Difference[str], ...]
    queries: int
    left_out: int
    reference: str | None
    family: Family
    draws: int
    level: float
    alpha: float
    seed: int

    def beaten(self, system: str, measure: str) -> tuple[str, ...]:
        """The systems that this one is significantly better than, in table order."""
        found = set()
        for one in self.differences:
            if one.measure == measure and one.significant(self.alpha):
                up = (one.estimate.mean > 0) == larger_is_better(measure)
                better, worse = (one.system, one.reference)[:: 1 if up else -1]
                found |= {worse} if better == system else set()
        return tuple(name for name in self.systems if name in found)

    @property
    def several_seeds(self) -> bool:
        """Whether a system has more than one training seed."""
        return any(one.n > 1 for row in self.seeds.values() for one in row.values())

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values; measures are fractions of 1. Seeds are there where several are."""
        several = self.several_seeds
        return {
            "queries": self.queries,
            "left_out": self.left_out,
            "reference": self.reference,
            "family": self.family,
            "draws": self.draws,
            "level": self.level,
            "alpha": self.alpha,
            "seed": self.seed,
            "measures": list(self.measures),
            "systems": {
                system: {
                    name: one.as_dict()
                    | ({"seeds": self.seeds[system][name].as_dict()} if several else {})
                    for name, one in row.items()
                }
                for system, row in self.systems.items()
            },
            "differences": [
                {"system": one.system, "reference": one.reference, **one.as_dict()}
                | ({"seeds": one.seeds.as_dict()} if several else {})
                for one in self.differences
            ],
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from rars.evaluation import report

        return report.html(self)


def compare(
    systems: Mapping[str, PerQuery | Sequence[PerQuery] | Scores],
    *,
    measures: Sequence[str] | None = None,
    reference: str | None = None,
    family: Family = "table",
    draws: int = DRAWS,
    level: float = LEVEL,
    alpha: float = ALPHA,
    seed: int = 0,
) -> Comparison:
    """Compare every system with ``reference``, or (without one) every pair of systems.

    A system is the measures of one run, or of several training seeds in the same order for all.

    >>> import numpy as np
    >>> queries = np.arange(6, dtype=np.int32)
    >>> a = PerQuery(queries, {"Recall@5": np.zeros(6)})
    >>> b = PerQuery(queries, {"Recall@5": np.full(6, 0.5)})
    >>> found = compare({"a": a, "b": b}, reference="a")
    >>> found.differences[0].estimate.mean, found.differences[0].p, found.beaten("b", "Recall@5")
    (0.5, 0.03125, ('a',))
    """
    scores = {name: Scores.given(runs) for name, runs in systems.items()}
    first = same_queries(scores)
    names = tuple(measures) if measures is not None else first.names
    rows = intervals(scores, names, draws=draws, level=level, seed=seed)
    contrasts = [
        Contrast(
            f"{system} − {other}", system, other, (name,), name if family == "measure" else "all"
        )
        for system, other in _pairs(tuple(scores), reference)
        for name in names
    ]
    return Comparison(
        measures=names,
        systems={system: {name: rows[system, name] for name in names} for system in scores},
        seeds={
            system: {name: one.summary(name) for name in names} for system, one in scores.items()
        },
        differences=differences(
            scores, contrasts, at_once=True, draws=draws, level=level, seed=seed
        ),
        queries=len(first),
        left_out=first.left_out,
        reference=reference,
        family=family,
        draws=draws,
        level=level,
        alpha=alpha,
        seed=seed,
    )


def intervals(
    scores: Mapping[K, Scores],
    measures: Sequence[str],
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> dict[tuple[K, str], Estimate]:
    """Mean and interval of every system on every measure; all share one set of resampled queries."""
    matrix = np.hstack([one.averaged(measures) for one in scores.values()])
    found = estimates(matrix, draws=draws, level=level, seed=seed)
    names = [(system, measure) for system in scores for measure in measures]
    return dict(zip(names, found, strict=True))


def differences(
    scores: Mapping[K, Scores],
    contrasts: Sequence[Contrast[K]],
    *,
    at_once: bool = False,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> tuple[Difference[K], ...]:
    """Every contrast on its measures, at the seeds that both sides have; without such a seed it is left out.

    ``at_once`` puts all contrasts into one matrix, which needs the same queries for all: the draws are the
    same either way, and made only once, but sums may differ in the last bit, so callers keep to one way.
    """
    sides = [(contrast, pair) for contrast in contrasts if (pair := _pair(scores, contrast))]
    matrices = [
        system.averaged(contrast.measures) - reference.averaged(contrast.measures)
        for contrast, (system, reference) in sides
    ]
    if at_once and matrices:
        matrices = [np.hstack(matrices)]
    found: list[Estimate] = []
    p: list[float] = []
    for matrix in matrices:
        found += estimates(matrix, draws=draws, level=level, seed=seed)
        p += sign_test(matrix, draws=draws, seed=seed).tolist()
    tests = [(contrast, name, *pair) for contrast, pair in sides for name in contrast.measures]
    corrected = _corrected([contrast.family for contrast, *_ in tests], p)
    made = []
    for at, (contrast, name, system, reference) in enumerate(tests):
        ours, theirs = system.means(name), reference.means(name)
        each = tuple(a - b for a, b in zip(ours, theirs, strict=True))
        seeds = seed_differences(ours, theirs)
        made.append(Difference(contrast, name, found[at], p[at], corrected[at], each, seeds))
    return tuple(made)


def same_queries(scores: Mapping[K, Scores]) -> PerQuery:
    """The first run of the first system; a run that was measured on other queries is refused."""
    if not scores:
        raise RarsError("A comparison needs at least one system.")
    for name, one in scores.items():
        if not one.runs:
            raise RarsError(f"{name} has no run to compare.")
    name, one = next(iter(scores.items()))
    first = one.runs[0]
    for other, two in scores.items():
        for run in two.runs:
            if not np.array_equal(first.queries, run.queries):
                raise RarsError(f"{name} and {other} were not measured on the same queries.")
    return first


def larger_is_better(measure: str) -> bool:
    """Whether a larger value is better: so for all measures but loss events."""
    return not measure.startswith("Loss@")


def _pair(scores: Mapping[K, Scores], contrast: Contrast[K]) -> tuple[Scores, Scores] | None:
    """Both sides at the seeds that all of them have; of a difference of differences, the two differences."""
    wanted = (contrast.system, contrast.reference, *(contrast.beyond or ()))
    found = [scores[one] for one in wanted if one in scores]
    if len(found) < len(wanted):
        return None
    seeded = [one for one in found if not one.fixed] or found
    shared = [seed for seed in seeded[0].seeds if all(seed in one.seeds for one in seeded)]
    if not shared:
        return None
    sides = [one.at(shared) for one in found]
    if contrast.beyond is not None:
        sides = [_minus(*sides[:2]), _minus(*sides[2:])]
    return sides[0], sides[1]


def _minus(one: Scores, other: Scores) -> Scores:
    """The difference of every query's values, seed by seed."""
    runs = tuple(
        PerQuery(
            mine.queries, {name: mine.values[name] - theirs.values[name] for name in mine.names}
        )
        for mine, theirs in zip(one.runs, other.runs, strict=True)
    )
    return Scores(one.seeds, runs)


def _corrected(families: list[str], p: list[float]) -> list[float]:
    """Holm's p-values within each family, in the order given."""
    adjusted, values, named = np.ones(len(p)), np.array(p), np.array(families)
    for family in dict.fromkeys(families):
        chosen = named == family
        adjusted[chosen] = holm(values[chosen])
    return [float(value) for value in adjusted]


def _pairs(systems: tuple[str, ...], reference: str | None) -> list[tuple[str, str]]:
    if reference is None:
        return [(later, earlier) for earlier, later in combinations(systems, 2)]
    if reference not in systems:
        raise RarsError(f"The reference {reference!r} is not among {', '.join(systems)}.")
    return [(system, reference) for system in systems if system != reference]
