"""From the evidence design to its numbers: means, intervals, tests, strata, and the curve of trust.

Owns: the statistics. Replicates are averaged within each query; intervals and tests are over queries, those
of the primary comparisons over queries and replicates (crossed bootstrap). Ignores layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rars.analysis.evidence.design import ASSIGNMENTS, WEIGHTS, Design
from rars.analysis.evidence.masks import KINDS, kept_counts
from rars.arrays import Doubles
from rars.evaluation.statistics import Estimate, crossed_estimates, estimates, sign_test

STRATA = ((2, 3), (4, 7), (8, 15), (16, None))
_MATCHED = 3
"""Coverage at equal budgets is tested from L2 to this depth."""


@dataclass(frozen=True)
class Tested:
    """A paired difference with its interval and p; ``depth`` counts from 1."""

    depth: int
    estimate: Estimate
    p: float


@dataclass(frozen=True)
class Stratum:
    """Queries with so many positives: TV at every depth, and coverage of withheld mass."""

    label: str
    queries: int
    tv: list[float]
    coverage: list[float]


@dataclass(frozen=True)
class Point:
    """The semantic identifiers at one retention: false resolution and missing support by depth.

    ``kept``   mean positives kept a query; ``share`` the mean share that is kept
    """

    retention: float
    kept: float
    share: float
    false: list[Estimate]
    missing: list[float]
    tv: list[float]
    js: list[float]


@dataclass(frozen=True)
class Trust:
    """Where false resolution at a depth falls to the trusted share, and what that takes.

    ``retention``  the nominal retention, interpolated between levels; None if no level reaches it
    ``kept``       mean positives a query there
    ``more``       how many more than at the retention of the comparisons
    """

    depth: int
    retention: float | None
    kept: float | None
    more: float | None


@dataclass(frozen=True, eq=False)
class SceneEvidence:
    """One scene. Lists are by depth 1..L, with the single item last where there is one more.

    ``means``     measure -> assignment -> values, uniform masks and linear weights at ``at``
    ``coverage``  assignment -> coverage of withheld mass with its interval
    ``matched``   semantic minus within-L1 coverage at equal budgets, at L2 and L3
    ``weights``   weight -> assignment -> TV
    ``kinds``     kind of mask -> TV averaged over depths
    """

    source: int
    multi: int
    single: int
    none: int
    items: int
    median: float
    kept: float
    share: float
    depth: int
    means: dict[str, dict[str, list[float]]]
    coverage: dict[str, list[Estimate]]
    tv_reduction: list[Tested]
    coverage_gain: list[Tested]
    matched: list[Tested]
    weights: dict[str, dict[str, list[float]]]
    kinds: dict[str, Estimate]
    strata: list[Stratum]
    curve: list[Point]
    trust: list[Trust]


def summary(design: Design) -> SceneEvidence:
    """All numbers of one scene."""
    people, settings, depth = design.people, design.settings, design.depth
    counts = people.counts
    curve = [_point(design, at) for at in range(len(settings.retention))]
    reduction, gain = _primary(design)
    means = {
        measure: {name: design.mean(measure, assignment=name).tolist() for name in ASSIGNMENTS}
        for measure in ("tv", "js", "missing", "coverage", "support", "false", "matched", "budget")
    }
    return SceneEvidence(
        source=design.source,
        multi=len(people),
        single=design.single,
        none=design.source - len(people) - design.single,
        items=design.items,
        median=float(np.median(counts)),
        kept=float(kept_counts(counts, settings.at).mean()),
        share=float(design.kept[design.main]),
        depth=depth,
        means=means,
        coverage={name: _intervals(design, "coverage", name) for name in ASSIGNMENTS},
        tv_reduction=reduction,
        coverage_gain=gain,
        matched=_matched(design),
        weights={
            weight: {
                name: design.mean("tv", assignment=name, weight=weight).tolist()
                for name in ASSIGNMENTS
            }
            for weight in WEIGHTS
        },
        kinds={kind: _averaged(design, kind) for kind in KINDS},
        strata=_strata(design),
        curve=curve,
        trust=[trust(curve, at, settings.trusted, settings.at) for at in range(depth)],
    )


def _primary(design: Design) -> tuple[list[Tested], list[Tested]]:
    """Semantic against global: how much smaller TV is, and how much larger coverage, at every depth."""
    semantic, other = (list(ASSIGNMENTS).index(name) for name in ("semantic", "global"))
    tv = design.replicates[:, other, ..., 0] - design.replicates[:, semantic, ..., 0]
    coverage = design.replicates[:, semantic, ..., 1] - design.replicates[:, other, ..., 1]
    return _crossed(tv, design), _crossed(coverage, design)


def _crossed(values: Doubles, design: Design) -> list[Tested]:
    settings = design.settings
    values = _clean(values)
    found = crossed_estimates(values, draws=settings.draws, seed=settings.seed)
    p = sign_test(values.mean(axis=0), draws=settings.randomisations, seed=settings.seed)
    return [Tested(at, *both) for at, both in enumerate(zip(found, map(float, p), strict=True), 1)]


def _matched(design: Design) -> list[Tested]:
    settings = design.settings
    one, other = (
        design.per_query("matched", assignment=name)[:, 1 : min(_MATCHED, design.depth)]
        for name in ("semantic", "first code")
    )
    if not one.shape[1]:
        return []
    gain = _clean(one - other)
    found = estimates(gain, draws=settings.draws, seed=settings.seed)
    p = sign_test(gain, draws=settings.randomisations, seed=settings.seed)
    return [Tested(at, *both) for at, both in enumerate(zip(found, map(float, p), strict=True), 2)]


def _clean(differences: Doubles) -> Doubles:
    """Equal masses added in another order are equal: what is left of their difference has no sign."""
    return np.where(np.abs(differences) < 1e-12, 0.0, differences)


def _intervals(design: Design, measure: str, assignment: str) -> list[Estimate]:
    values = design.per_query(measure, assignment=assignment)[:, : design.depth]
    return estimates(values, draws=design.settings.draws, seed=design.settings.seed)


def _averaged(design: Design, kind: str) -> Estimate:
    values = design.per_query("tv", mask=design.mask(kind))[:, : design.depth].mean(axis=1)
    return estimates(values, draws=design.settings.draws, seed=design.settings.seed)[0]


def _strata(design: Design) -> list[Stratum]:
    counts = design.people.counts
    tv, coverage = design.per_query("tv"), design.per_query("coverage")
    made = []
    for low, high in STRATA:
        chosen = (counts >= low) & (counts <= (high or counts.max()))
        label = f"{low}+" if high is None else f"{low}-{high}"
        columns = [one[chosen, : design.depth] for one in (tv, coverage)]
        means = [one.mean(axis=0).tolist() if chosen.any() else [] for one in columns]
        made.append(Stratum(label, int(chosen.sum()), *means))
    return made


def _point(design: Design, at: int) -> Point:
    settings, depth = design.settings, design.depth
    retention = settings.retention[at]
    false = estimates(
        design.per_query("false", mask=at)[:, :depth], draws=settings.draws, seed=settings.seed
    )
    means = {name: design.mean(name, mask=at)[:depth].tolist() for name in ("missing", "tv", "js")}
    kept = float(kept_counts(design.people.counts, retention).mean())
    return Point(retention, kept, float(design.kept[at]), false, **means)


def trust(curve: Sequence[Point], depth: int, trusted: float, at: float) -> Trust:
    """Where false resolution at ``depth`` (from 0) falls to the trusted share, interpolated."""
    now = next(one for one in curve if one.retention == at).kept
    before: Point | None = None
    for one in curve:
        value = one.false[depth].mean
        if value <= trusted:
            part = 1.0
            if before is not None:
                above = before.false[depth].mean
                # False resolution can grow first: with one positive kept, a parent may be missed altogether.
                part = 1.0 if above <= trusted else (above - trusted) / (above - value)
            start = before or one
            retention = start.retention + part * (one.retention - start.retention)
            kept = start.kept + part * (one.kept - start.kept)
            if _stays(curve, one, depth, trusted):
                return Trust(depth + 1, retention, kept, kept - now)
        before = one
    return Trust(depth + 1, None, None, None)


def _stays(curve: Sequence[Point], reached: Point, depth: int, trusted: float) -> bool:
    later = [one for one in curve if one.retention >= reached.retention]
    return all(one.false[depth].mean <= trusted for one in later)
