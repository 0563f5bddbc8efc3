"""The evidence study: its tables in the paper's layout, its findings, and what they mean for an engineer.

Owns: the displays of the design. Holm's correction covers the primary family (TV reduction and coverage gain
of semantic against global, every depth, every scene) and, as a family of its own, coverage at equal budgets
against within-L1. Ignores how numbers came about (``summary``) and how figures look (``drawing``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rars.analysis.evidence import drawing
from rars.analysis.evidence.design import ASSIGNMENTS, EvidenceSettings, run_design
from rars.analysis.evidence.masks import KINDS
from rars.analysis.evidence.summary import SceneEvidence, Tested, Trust, summary
from rars.analysis.study import Figure, Scene, Study
from rars.evaluation.report import NOTHING, p_value
from rars.evaluation.statistics import holm
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Tell

Corrected = dict[tuple[str, str, int], float]
"""By scene, measure and depth."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Every scene by name, and the corrected p of every test."""

    scenes: dict[str, SceneEvidence]
    corrected: Corrected
    settings: EvidenceSettings

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values; coverage at full retention does not exist and is left out."""
        made = {name: asdict(one) for name, one in self.scenes.items()}
        for (name, measure, depth), p in self.corrected.items():
            for one in made[name][measure]:
                if one["depth"] == depth:
                    one["p_holm"] = p
        return made

    def tables(self) -> list[Table]:
        """Recovery, population, primary comparisons, strata, full reference, and the curve of trust."""
        return [
            self._sparse(),
            self._population(),
            self._primary(),
            self._strata(),
            self._reference(),
            self._trust(),
        ]

    @property
    def _share(self) -> str:
        return f"{100 * self.settings.at:g} %"

    def _row(self, label: str, value: Callable[[SceneEvidence], Cell]) -> Row:
        return Row((label,), tuple(value(one) for one in self.scenes.values()))

    def _sparse(self) -> Table:
        deepest = min(3, max(one.depth for one in self.scenes.values()))
        matched = [
            self._row(f"L{depth}: {ASSIGNMENTS[name]}", _at("matched", name, depth, 100, 2))
            for depth in range(2, deepest + 1)
            for name in ("semantic", "first code")
        ]
        kinds = [self._row(label, _missingness(kind)) for kind, label in KINDS.items()]
        limits = [
            self._row("False resolution at L1", _at("false", "semantic", 1, 100, 1)),
            self._row("Unobserved mass at the leaves", _at("missing", "semantic", -1, 100, 1)),
        ]
        return Table(
            "evidence",
            f"Relevance recovery at {self._share} retention",
            ("Evidence control",),
            tuple(self.scenes),
            (
                Block(tuple(matched), "(a) Coverage at equal candidate counts (%)"),
                Block(tuple(kinds), "(b) Missingness: mean target TV over depths"),
                Block(tuple(limits), "(c) Resolution limits (%)"),
            ),
            f"Linear weights, {self.settings.replicates} replicates. Equal counts: the smallest supported "
            f"set of the three assignments, for each query and replicate. {self._matched_tests()}",
        )

    def _matched_tests(self) -> str:
        p = [value for (_, measure, _), value in self.corrected.items() if measure == "matched"]
        if not p:
            return ""
        return (
            f"Semantic minus within-L1: largest corrected p {_equals(max(p))} "
            f"(Holm over {len(p)} tests)."
        )

    def _population(self) -> Table:
        rows = []
        for name, one in self.scenes.items():
            counts = (one.source, one.multi, one.single, one.none, one.items)
            cells = [Cell(f"{count:,}") for count in counts]
            cells += [
                Cell(f"{one.median:g}"),
                Cell(f"{one.kept:.2f}"),
                Cell(f"{100 * one.share:.1f}"),
            ]
            rows.append(Row((name,), tuple(cells)))
        heads = ("Source", "Multi-pos.", "Single-pos.", "No positive", "Catalog", "Median n")
        return Table(
            "evidence-population",
            "Population of the evidence study",
            ("Data",),
            (*heads, "Retained", "Actual (%)"),
            (Block(tuple(rows)),),
            "All queries with at least two positives in the catalogue. Retained and actual: mean count and "
            f"mean share that is kept at the nominal {self._share}.",
        )

    def _primary(self) -> Table:
        blocks = []
        for name, one in self.scenes.items():
            rows = []
            for tv, gain in zip(one.tv_reduction, one.coverage_gain, strict=True):
                cells = [*self._tested(name, "tv_reduction", tv, 1)]
                cells += self._tested(name, "coverage_gain", gain, 100)
                rows.append(Row((name, f"L{tv.depth}"), tuple(cells)))
            blocks.append(Block(tuple(rows)))
        tests = sum(measure != "matched" for _, measure, _ in self.corrected)
        return Table(
            "evidence-primary",
            "Semantic against global identifiers",
            ("Data", "Depth"),
            ("TV reduction [95 % CI]", "p (Holm)", "Coverage gain (pp) [95 % CI]", "p (Holm)"),
            tuple(blocks),
            f"Linear weights, uniform masks, {self._share} retention; positive values favour semantic "
            f"identifiers. Crossed query-and-replicate bootstrap, {self.settings.draws:,} draws; paired sign "
            f"randomisation over queries, {self.settings.randomisations:,} draws; Holm over {tests} tests.",
        )

    def _tested(self, name: str, measure: str, one: Tested, scale: float) -> list[Cell]:
        value = one.estimate
        mean, low, high = (
            f"{scale * v:.4f}".replace("-", "−") for v in (value.mean, value.low, value.high)
        )
        p = self.corrected[name, measure, one.depth]
        return [Cell(f"{mean} [{low}, {high}]"), Cell(p_value(p), mark="best" if p < 0.05 else "")]

    def _strata(self) -> Table:
        depth = max(one.depth for one in self.scenes.values())
        covered = min(2, depth)
        blocks = []
        for name, one in self.scenes.items():
            rows = []
            for part in one.strata:
                cells = [Cell(f"{part.queries:,}")]
                cells += _padded([f"{value:.3f}" for value in part.tv], depth)
                cells += _padded(
                    [f"{100 * value:.2f}" for value in part.coverage[:covered]], covered
                )
                rows.append(Row((name, part.label), tuple(cells)))
            blocks.append(Block(tuple(rows)))
        heads = (
            "Queries",
            *(f"TV L{at + 1}" for at in range(depth)),
            *(f"Cov. L{at + 1}" for at in range(covered)),
        )
        return Table(
            "evidence-strata",
            "Evidence recovery by number of positives",
            ("Data", "n"),
            heads,
            tuple(blocks),
            f"Semantic identifiers, uniform masks, linear weights, {self._share} retention; coverage in % of "
            "the withheld relevance mass.",
        )

    def _reference(self) -> Table:
        depth = max(one.depth for one in self.scenes.values())
        blocks = []
        for name, one in self.scenes.items():
            rows = []
            for key, label in ASSIGNMENTS.items():
                tv = one.means["tv"][key][: one.depth]
                cells = _padded([f"{value:.4f}" for value in tv], depth)
                cells.append(Cell(f"{100 * one.means['coverage'][key][0]:.2f}"))
                cells.append(Cell(f"{100 * one.means['support'][key][0] / one.items:.2f}"))
                rows.append(Row((name if key == "semantic" else "", label), tuple(cells)))
            blocks.append(Block(tuple(rows)))
        return Table(
            "evidence-reference",
            f"Target error and L1 support at {self._share} retention",
            ("Data", "Assignment"),
            (*(f"L{at + 1}" for at in range(depth)), "Coverage", "Expansion"),
            tuple(blocks),
            "Coverage: withheld mass in supported L1 groups; expansion: share of the catalogue in them, both "
            "in %. Semantic and within-L1 identifiers agree at L1 by construction.",
            (("Target TV", depth), ("L1 support (%)", 2)),
        )

    def _trust(self) -> Table:
        blocks = []
        for name, one in self.scenes.items():
            rows = []
            for at, reached in enumerate(one.trust):
                cells = [Cell(f"{100 * point.false[at].mean:.1f}") for point in one.curve]
                cells += _reached(reached, one.curve[0].retention)
                rows.append(Row((name, f"L{reached.depth}"), tuple(cells)))
            blocks.append(Block(tuple(rows)))
        levels = [f"{100 * one:g} %" for one in self.settings.retention]
        trusted = f"{100 * self.settings.trusted:g} %"
        return Table(
            "evidence-trust",
            "How many judgments make targets trustworthy",
            ("Data", "Depth"),
            (*levels, "retention (%)", "positives", "more"),
            tuple(blocks),
            "Relevance mass (%) at prefixes that divide but look resolved, by retention of the judged "
            f"positives; then the retention at which it is no more than {trusted}, positives a query there, "
            f"and how many more those are than at {self._share} retention. All judged positives are the "
            "reference: what nobody judged is not counted. A prefix with nothing kept is unobserved, not "
            "falsely resolved: few judgments make deep prefixes look trustworthy.",
            (("False resolution (%)", len(levels)), (f"At most {trusted}", 3)),
        )

    def figures(self) -> list[Figure]:
        """Sparsity over scenes, coverage by depth and against cost, certainty, and the curve of trust."""
        return drawing.figures_of(self.scenes, self.settings)

    def findings(self) -> list[str]:
        """What the semantic identifiers recover, what sparse judgments hide, and what would help."""
        return [sentence for name, one in self.scenes.items() for sentence in self._said(name, one)]

    def _said(self, name: str, one: SceneEvidence) -> list[str]:
        top = one.means["false"]["semantic"][0]
        gone = one.means["missing"]["semantic"][one.depth - 1]
        said = [
            f"{name}: with {self._share} of the positives, {100 * top:.1f} % of queries look resolved at L1 "
            f"though their relevance divides there, and {100 * gone:.1f} % of the relevance mass at "
            f"L{one.depth} has no support."
        ]
        for tested in one.matched:
            values = [
                one.means["matched"][key][tested.depth - 1] for key in ("semantic", "first code")
            ]
            p = self.corrected[name, "matched", tested.depth]
            clear = "" if p < 0.05 else ", which is not significant"
            said.append(
                f"{name}: with equally many candidates at L{tested.depth}, semantic identifiers cover "
                f"{100 * values[0]:.2f} % of the withheld relevance, within-L1 ones {100 * values[1]:.2f} % "
                f"(corrected p {_equals(p)}){clear}."
            )
        first = one.trust[0]
        if first.retention is not None and first.kept is not None and first.more is not None:
            said.append(
                f"{name}: false resolution at L1 falls to {100 * self.settings.trusted:g} % at "
                f"{100 * first.retention:.0f} % retention, {first.kept:.1f} positives a query: "
                f"{abs(first.more):.1f} {'more' if first.more >= 0 else 'fewer'} than at {self._share}."
            )
        return said


def run(scenes: Sequence[Scene], settings: EvidenceSettings, tell: Tell) -> Evidence:
    """Every scene, and the corrections over all of them."""
    found = {}
    for scene in scenes:
        with tell.stage(f"{scene.name}: replicates") as advance:
            found[scene.name] = summary(run_design(scene, settings, advance))
    return Evidence(found, corrected(found), settings)


def corrected(scenes: dict[str, SceneEvidence]) -> Corrected:
    """Holm's correction of both families."""
    made: Corrected = {}
    for family in (("tv_reduction", "coverage_gain"), ("matched",)):
        listed = [
            ((name, measure, tested.depth), tested.p)
            for name, one in scenes.items()
            for measure in family
            for tested in getattr(one, measure)
        ]
        raised = holm([p for _, p in listed])
        made |= {key: float(p) for (key, _), p in zip(listed, raised, strict=True)}
    return made


STUDY = Study(
    name="evidence",
    title="What a part of the judgments hides, and how many would be enough",
    run=run,
    settings=EvidenceSettings,
)


def _at(
    measure: str, assignment: str, depth: int, scale: float, digits: int
) -> Callable[[SceneEvidence], Cell]:
    """A mean at a depth counted from 1; -1 is the leaves."""

    def cell(one: SceneEvidence) -> Cell:
        at = one.depth if depth < 0 else depth
        if at > one.depth:
            return NOTHING
        return Cell(f"{scale * one.means[measure][assignment][at - 1]:.{digits}f}")

    return cell


def _reached(one: Trust, least: float) -> list[Cell]:
    """Retention, positives and how many more; what the first level reaches already is only bounded."""
    if one.retention is None or one.kept is None or one.more is None:
        return [NOTHING] * 3
    if one.retention <= least:
        return [Cell(f"≤{100 * least:g}"), Cell(f"≤{one.kept:.1f}"), NOTHING]
    more = f"{one.more:+.1f}".replace("-", "−")
    return [Cell(f"{100 * one.retention:.0f}"), Cell(f"{one.kept:.1f}"), Cell(more)]


def _missingness(kind: str) -> Callable[[SceneEvidence], Cell]:
    return lambda one: Cell(f"{one.kinds[kind].mean:.3f}")


def _padded(texts: list[str], width: int) -> list[Cell]:
    return [*map(Cell, texts), *[NOTHING] * (width - len(texts))]


def _equals(p: float) -> str:
    return p_value(p) if p < 0.001 else f"= {p_value(p)}"
