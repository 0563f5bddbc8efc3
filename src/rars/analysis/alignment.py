"""Does evidence bring the model's choice at a branching prefix closer to how relevance divides there?

Owns: the paper's "Prediction alignment" for fixed trained models: JS and Support under AR-only and all-level
scoring at every ambiguous refinement of the first three depths, their paired tests, and the regression on
ambiguity. The measures are in ``rars.analysis.predictions``; the scores come from one decoder pass along the
relevant prefixes (``rars.search.choices``), all-level adds what the rule ``all`` adds.

The sample: held-out queries with an applicable constraint (A(q) is not empty), drawn in proportion from
strata of ambiguity (none, lower half, upper half of total entropy) x positives (1, 2-3, 4-7, 8-15, 16+).
Bootstrap and sign randomisation are paired by query; Holm's correction is over the scenes x depths of a
measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from rars.analysis import figures, predictions
from rars.analysis.population import Population
from rars.analysis.predictions import Coefficient, Parents, by_query
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.arrays import Bools, Ints
from rars.errors import RarsError
from rars.evaluation.ranking import queries_of, texts_of
from rars.evaluation.report import NOTHING, p_value
from rars.evaluation.statistics import DRAWS, Estimate, estimates, holm, sign_test
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Advance, Tell
from rars.search.choices import Places, choices
from rars.search.evidence.languages import language_of
from rars.tree import ambiguity, project

DEPTHS = 3
MEASURES = ("js", "support")
RULE = "all"
_PART = 64
"""Queries between two reports of progress."""


class AlignmentSettings(StudySettings):
    """How many queries are looked at, and how often they are drawn anew."""

    queries: PositiveInt = 512
    draws: PositiveInt = DRAWS


@dataclass(frozen=True)
class Compared:
    """A measure at one depth of one scene: AR-only, all-level, and the improvement with its test."""

    queries: int
    ar: float
    all: float
    improvement: Estimate
    p: float
    p_holm: float = float("nan")


@dataclass(frozen=True, eq=False)
class SceneAlignment:
    """One scene.

    ``applicable``  queries with a constraint that evidence can look for, of ``queries`` in all
    ``sampled``     those that were looked at; ``ambiguous``, those of them with a branching parent
    ``parents``     every ambiguous parent with its measures
    """

    queries: int
    applicable: int
    sampled: int
    ambiguous: int
    parents: Parents
    compared: dict[tuple[str, int], Compared]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Every scene, and what a standard deviation of ambiguity goes with over all of them."""

    scenes: dict[str, SceneAlignment]
    baseline: Coefficient | None
    reduction: Coefficient | None
    settings: AlignmentSettings

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        coefficients = {"baseline_js": self.baseline, "js_reduction": self.reduction}
        return {
            "scenes": {name: _plain(one) for name, one in self.scenes.items()},
            "regression": {k: None if c is None else asdict(c) for k, c in coefficients.items()},
        }

    def tables(self) -> list[Table]:
        """The paper's table (a) and (b), and the regression."""
        made = [self._table("js"), self._table("support")]
        return [*made, self._regression()] if self.baseline and self.reduction else made

    def _table(self, measure: str) -> Table:
        js = measure == "js"
        blocks = []
        for name, one in self.scenes.items():
            rows: list[Row] = []
            for depth in _depths(one.compared):
                found = one.compared.get((measure, depth))
                cells = (NOTHING,) * 4 if found is None else _cells(found, js)
                rows.append(Row((name if not rows else "", f"L{depth}"), cells))
            blocks.append(Block(tuple(rows)))
        tests = sum(key[0] == measure for one in self.scenes.values() for key in one.compared)
        return Table(
            f"alignment-{measure}",
            "Jensen–Shannon divergence from the relevance target"
            if js
            else "Probability assigned to relevant children (%)",
            ("Data", "Depth"),
            (
                "Queries",
                "AR-only",
                "All-level",
                f"{'JS reduction' if js else 'Δ Support'} [95 % interval]",
            ),
            tuple(blocks),
            f"Ambiguous refinements of {self.settings.queries:,} sampled queries at most, in "
            f"{'nats' if js else 'per cent'}; parents weighted by relevance mass within query and depth, "
            f"then means over queries. Paired query-bootstrap 95 % intervals, {self.settings.draws:,} "
            f"draws; bold: p < 0.05 by two-sided sign randomisation, {self.settings.draws:,} draws, "
            f"Holm's correction over {tests} comparisons.",
        )

    def _regression(self) -> Table:
        listed = {"Baseline JS (AR-only)": self.baseline, "JS reduction": self.reduction}
        rows = tuple(
            Row(
                (label,),
                (
                    Cell(_signed(one.value, 4), mark="best" if one.p < 0.05 else ""),
                    Cell(f"[{_signed(one.low, 4)}, {_signed(one.high, 4)}]"),
                    Cell(p_value(one.p)),
                ),
            )
            for label, one in listed.items()
            if one is not None
        )
        count = sum(len(one.parents) for one in self.scenes.values())
        return Table(
            "alignment-regression",
            "Ambiguity and prediction error",
            ("Outcome",),
            ("per SD of ambiguity", "95 % interval", "p"),
            (Block(rows),),
            f"Least squares at {count:,} ambiguous parents; controls: relevant children, legal children, "
            f"depth{' and data' if len(self.scenes) > 1 else ''}; intervals clustered by query.",
        )

    def figures(self) -> list[Figure]:
        """The improvement of both measures at every depth."""
        return [Figure("alignment", "All-level against AR-only at fixed parameters", self._draw)]

    def _draw(self, path: Path) -> None:
        titles = {"js": "JS reduction (nats)", "support": "Δ Support (points)"}
        with figures.figure(path, panels=2, width=4.0, height=2.9) as axes:
            for axis, (measure, title) in zip(axes, titles.items(), strict=True):
                scale = 1 if measure == "js" else 100
                axis.axhline(0, color=figures.GREY, lw=1)
                for at, (name, one) in enumerate(self.scenes.items()):
                    improvement(axis, one.compared, measure, at, len(self.scenes), scale, name)
                axis.set(title=title, xticks=range(1, DEPTHS + 1))
                axis.set_xticklabels([f"L{depth}" for depth in range(1, DEPTHS + 1)])
            if len(self.scenes) > 1:
                axes[0].legend(fontsize=8)

    def findings(self) -> list[str]:
        """Which differences can be told from chance, and the regression."""
        said = []
        for name, one in self.scenes.items():
            for (measure, depth), found in one.compared.items():
                said.append(_sentence(name, measure, depth, found))
        if self.baseline and self.reduction:
            said.append(
                "One standard deviation of normalised ambiguity goes with "
                f"{_signed(self.baseline.value, 4)} [{_signed(self.baseline.low, 4)}, "
                f"{_signed(self.baseline.high, 4)}] of baseline JS and with "
                f"{_signed(self.reduction.value, 4)} [{_signed(self.reduction.low, 4)}, "
                f"{_signed(self.reduction.high, 4)}] of JS reduction."
            )
        return said


def run(scenes: Sequence[Scene], settings: AlignmentSettings, tell: Tell) -> Alignment:
    """Every scene, the correction over all of them, and one regression."""
    found = {}
    for scene in scenes:
        with tell.stage(f"{scene.name}: predictions") as advance:
            found[scene.name] = measure(scene, settings, advance)
    found = corrected(found)
    return Alignment(found, *_regressions(list(found.values())), settings)


def measure(
    scene: Scene, settings: AlignmentSettings, advance: Advance | None = None
) -> SceneAlignment:
    """One scene: sample its queries, look at their branching parents, compare the two rules."""
    whole = Population.of(scene, settings)
    usable = whole.where(applicable(scene, whole.queries))
    if not len(usable):
        raise RarsError(f"{scene.name}: no {settings.split} query names a constraint to look for.")
    measured = ambiguity(scene.tree, project(scene.tree, usable.relevance("linear")))
    drawn = predictions.stratified(
        predictions.strata(measured, usable.counts), settings.queries, settings.seed
    )
    chosen = np.zeros(len(usable), dtype=bool)
    chosen[drawn] = True
    sample = usable.where(chosen)
    parents = at_parents(scene, sample, advance)
    return SceneAlignment(
        queries=len(whole),
        applicable=len(usable),
        sampled=len(sample),
        ambiguous=len(np.unique(parents.row)),
        parents=parents,
        compared=_compared(parents, settings),
    )


def applicable(scene: Scene, queries: Ints) -> Bools:
    """Whether each query (a row number) names a constraint: A(q) is not empty."""
    index, locales = scene.retriever.index.evidence, scene.dataset.query_locales
    texts = texts_of(scene.dataset, queries)
    asked = (
        index.read(text, language=language_of(locale) if locale else None)
        for text, locale in zip(texts, (locales[row] for row in queries.tolist()), strict=True)
    )
    return np.array([bool(one.constraints) for one in asked], dtype=bool)


def at_parents(scene: Scene, sample: Population, advance: Advance | None = None) -> Parents:
    """The measures at every ambiguous parent of a sample's queries; rows count the sample's queries."""
    tree = scene.tree
    depths = min(DEPTHS, tree.depth)
    retriever = scene.retriever
    if not np.array_equal(retriever.tree.order, tree.order):
        raise RarsError(f"{scene.name}: the catalogue has changed since the run was made.")
    asked = queries_of(retriever, scene.dataset, sample.queries, 1, RULE)
    parts = []
    for start in range(0, len(sample), _PART):
        own = np.zeros(len(sample), dtype=bool)
        own[start : start + _PART] = True
        projection = project(tree, sample.where(own).relevance("linear"))
        places = [Places(one.row, one.node) for one in projection.levels[:depths]]
        found = choices(retriever, asked[start : start + _PART], places)
        part = predictions.measured(tree, projection, found, depths)
        parts.append(replace(part, row=part.row + start))
        if advance:
            advance(min(start + _PART, len(sample)), len(sample))
    return Parents.joined(parts)


def corrected(found: Mapping[str, SceneAlignment]) -> dict[str, SceneAlignment]:
    """The same with p-values corrected over the scenes and depths of each measure."""
    made = {name: dict(one.compared) for name, one in found.items()}
    for measure in MEASURES:
        keys = [(name, key) for name, one in made.items() for key in one if key[0] == measure]
        adjusted = holm([made[name][key].p for name, key in keys])
        for (name, key), p in zip(keys, adjusted, strict=True):
            made[name][key] = replace(made[name][key], p_holm=float(p))
    return {name: replace(one, compared=made[name]) for name, one in found.items()}


STUDY = Study(
    name="alignment",
    title="Whether evidence brings predictions at branching prefixes closer to relevance",
    run=run,
    settings=AlignmentSettings,
    trains=("rars",),
)


def _compared(parents: Parents, settings: AlignmentSettings) -> dict[tuple[str, int], Compared]:
    found = {}
    for depth in np.unique(parents.depth).tolist():
        one = by_query(parents, depth)
        better = np.stack([one.reduction, one.gain], axis=1)
        intervals = estimates(better, draws=settings.draws, seed=settings.seed)
        p = sign_test(better, draws=settings.draws, seed=settings.seed)
        for at, (measure, values) in enumerate(zip(MEASURES, (one.js, one.support), strict=True)):
            plain, scored = values.mean(axis=0)
            found[measure, depth] = Compared(
                len(one.rows), float(plain), float(scored), intervals[at], float(p[at])
            )
    return {key: found[key] for measure in MEASURES for key in found if key[0] == measure}


def _regressions(scenes: Sequence[SceneAlignment]) -> tuple[Coefficient | None, Coefficient | None]:
    """Of baseline JS, and of its reduction; none where too few parents branch."""
    parts, locales, before = [], [], 0
    for number, one in enumerate(scenes):
        parts.append(replace(one.parents, row=one.parents.row + before))
        locales.append(np.full(len(one.parents), number))
        before += one.sampled
    parents, locale = Parents.joined(parts), np.concatenate(locales)
    try:
        return (
            predictions.regression(parents, locale, parents.js_ar),
            predictions.regression(parents, locale, parents.js_ar - parents.js_all),
        )
    except RarsError:
        return None, None


# -- telling ---------------------------------------------------------------------------------------


def improvement(
    axis: Any,
    compared: Mapping[tuple[str, int], Any],
    measure: str,
    place: int,
    scenes: int,
    scale: float,
    name: str,
) -> None:
    """Draw the improvement of one scene at every depth, with its interval."""
    known = [(depth, one) for (key, depth), one in compared.items() if key == measure]
    if not known:
        return
    shift = 0.18 * (place - (scenes - 1) / 2)
    color = figures.SERIES[place % len(figures.SERIES)]
    values = [one.improvement for _, one in known]
    means = [scale * one.mean for one in values]
    ends = [
        [scale * (one.mean - one.low) for one in values],
        [scale * (one.high - one.mean) for one in values],
    ]
    places = [depth + shift for depth, _ in known]
    axis.errorbar(places, means, ends, fmt="o", color=color, capsize=3, ms=5, label=name)
    hollow = [at for at, (_, one) in enumerate(known) if one.p_holm >= 0.05]
    if hollow:
        axis.plot([places[at] for at in hollow], [means[at] for at in hollow], "o", mfc="white",
                  mec=color, ms=5, zorder=4)  # fmt: skip


def _plain(one: SceneAlignment) -> dict[str, Any]:
    counts = {key: getattr(one, key) for key in ("queries", "applicable", "sampled", "ambiguous")}
    listed = [{"measure": m, "depth": d} | asdict(found) for (m, d), found in one.compared.items()]
    return counts | {"ambiguous_parents": len(one.parents), "comparisons": listed}


def _depths(compared: Mapping[tuple[str, int], Compared]) -> list[int]:
    return sorted({depth for _, depth in compared})


def _cells(one: Compared, js: bool) -> tuple[Cell, ...]:
    better = one.improvement
    mark: Any = "best" if one.p_holm < 0.05 else ""
    scale, digits = (1, 4) if js else (100, 2)
    low, high = (_signed(scale * end, digits) for end in (better.low, better.high))
    return (
        Cell(f"{one.queries:,}"),
        Cell(f"{scale * one.ar:.{digits}f}"),
        Cell(f"{scale * one.all:.{digits}f}"),
        Cell(f"{_signed(scale * better.mean, digits)} [{low}, {high}]", mark=mark),
    )


def _sentence(name: str, measure: str, depth: int, one: Compared) -> str:
    js = measure == "js"
    better = one.improvement
    if js:
        said = f"JS {one.ar:.4f} to {one.all:.4f}"
    else:
        said = f"Support {100 * one.ar:.1f} to {100 * one.all:.1f} %"
    p = p_value(one.p_holm)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    way = "better" if better.mean > 0 else "worse"
    clear = f"significantly {way}" if one.p_holm < 0.05 else "not significant"
    return f"{name}, L{depth}: {said} under all-level scoring, corrected {p}: {clear}."


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")
