"""Does the picture of where relevance branches hang on how many positives there are, or how grades are read?

Owns: the sensitivities that the paper's text reports, each as mean refinement entropy by depth:

- two positives of every query with several, drawn ``subsamples`` times, with their weights, so that the count
  is fixed;
- binary against graded evidence on the same queries: the mean of normalised Delta_l at every depth, and the
  correlation over queries of the total entropy sum_l Delta_l(q);
- E, E + S and E + S + C of the queries with at least two Exact positives, weights renormalised;
- the mean of log |Ch(u)| at the prefixes that hold relevance: the most that Delta_l could be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from rars.analysis import figures
from rars.analysis.population import EVIDENCE, Population
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.arrays import Doubles, Ints
from rars.evaluation.report import NOTHING
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Tell
from rars.tree import Relevance, ambiguity, project

DEFINITIONS = {"exact": "E", "exact+substitute": "E + S", "linear": "E + S + C"}
_EXACT = 3.0


class SensitivitySettings(StudySettings):
    """How often two positives are drawn of every query."""

    subsamples: PositiveInt = 30


@dataclass(frozen=True, eq=False)
class SceneSensitivity:
    """One scene; lists are means over queries at depths 1..L.

    ``two``         entropy of two drawn positives, by evidence
    ``normalised``  Delta_l over its capacity, by evidence
    ``correlation`` of the total entropy under binary and graded evidence; None where it does not vary
    ``exact``       queries with at least two Exact positives
    ``kept``        their entropy by what counts as relevant
    ``capacity``    mean log branching capacity under graded evidence
    """

    queries: int
    several: int
    two: dict[str, list[float]]
    normalised: dict[str, list[float]]
    correlation: float | None
    exact: int
    kept: dict[str, list[float]]
    capacity: list[float]

    @property
    def difference(self) -> float:
        """The largest difference of mean normalised ambiguity between binary and graded, over depths."""
        one, other = (np.array(self.normalised[name]) for name in EVIDENCE)
        return float(np.abs(one - other).max())


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Every scene by name."""

    scenes: dict[str, SceneSensitivity]
    subsamples: int

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            name: asdict(one) | {"largest_normalised_difference": one.difference}
            for name, one in self.scenes.items()
        }

    @property
    def depth(self) -> int:
        """The longest identifiers of all scenes."""
        return max(len(one.capacity) for one in self.scenes.values())

    def tables(self) -> list[Table]:
        """Entropy by depth under every definition, and binary against graded evidence."""
        blocks = [
            Block(
                tuple(
                    self._row(label, [s.two[name] for s in self._all])
                    for name, label in EVIDENCE.items()
                ),
                "Two positives a query",
            ),
            Block(
                tuple(
                    self._row(label, [s.kept.get(name) for s in self._all])
                    for name, label in DEFINITIONS.items()
                ),
                "Queries with at least two Exact positives",
            ),
            Block(
                tuple(
                    self._row(label, [s.normalised[name] for s in self._all], 4)
                    for name, label in EVIDENCE.items()
                ),
                "Normalised by capacity, all queries",
            ),
            Block(
                (self._row("log capacity", [s.capacity for s in self._all]),), "Branching capacity"
            ),
        ]
        counts = "; ".join(
            f"{name}: {one.queries:,} queries, {one.several:,} with several positives, {one.exact:,} with "
            "two Exact or more"
            for name, one in self.scenes.items()
        )
        first = Table(
            "sensitivity",
            "Refinement entropy under other evidence",
            ("Evidence",),
            tuple(f"L{at + 1}" for at in range(self.depth)) * len(self.scenes),
            tuple(blocks),
            f"Means over queries in nats; two positives: {self.subsamples} subsamples. {counts}.",
            tuple((name, self.depth) for name in self.scenes),
        )
        agree = [
            Row(
                (name,),
                (
                    Cell(f"{one.difference:.4f}"),
                    NOTHING if one.correlation is None else Cell(f"{one.correlation:.4f}"),
                ),
            )
            for name, one in self.scenes.items()
        ]
        second = Table(
            "sensitivity-evidence",
            "Binary against graded evidence",
            ("Data",),
            ("largest difference", "correlation"),
            (Block(tuple(agree)),),
            "Largest difference over depths of the mean normalised ambiguity, and correlation over queries "
            "of the total entropy.",
        )
        return [first, second]

    @property
    def _all(self) -> list[SceneSensitivity]:
        return list(self.scenes.values())

    def _row(self, label: str, values: Sequence[list[float] | None], digits: int = 3) -> Row:
        cells: list[Cell] = []
        for one in values:
            known = one or []
            cells += [Cell(f"{value:.{digits}f}") for value in known]
            cells += [NOTHING] * (self.depth - len(known))
        return Row((label,), tuple(cells))

    def figures(self) -> list[Figure]:
        """Entropy by depth with two positives, and under each definition of relevance."""
        return [Figure("sensitivity", "Refinement entropy under other evidence", self._draw)]

    def _draw(self, path: Path) -> None:
        with figures.figure(path, panels=len(self.scenes), width=3.9) as axes:
            for axis, (name, one) in zip(axes, self.scenes.items(), strict=True):
                lines = {f"two positives, {EVIDENCE[k].lower()}": v for k, v in one.two.items()}
                lines |= {f"{DEFINITIONS[k]}, two Exact or more": v for k, v in one.kept.items()}
                for at, (label, values) in enumerate(lines.items()):
                    style = "o--" if at < len(one.two) else "o-"
                    place = np.arange(1, len(values) + 1)
                    axis.plot(
                        place, values, style, color=figures.SERIES[at], label=label, ms=4, lw=1.3
                    )
                axis.set(xticks=place, xticklabels=[f"L{at}" for at in place], title=name)
            axes[0].set(ylabel="refinement entropy (nats)")
            axes[-1].legend(fontsize=7, loc="upper right")

    def findings(self) -> list[str]:
        """Whether early branching persists, and how far binary and graded evidence differ."""
        said = []
        for name, one in self.scenes.items():
            two = one.two["linear"]
            top = int(np.argmax(two)) + 1
            told = "" if one.correlation is None else f" (correlation {one.correlation:.4f})"
            said.append(
                f"{name}: with two positives a query, relevance divides most at L{top} "
                f"({two[top - 1]:.3f} nats; {two[-1]:.3f} at L{len(two)}); binary and graded evidence differ "
                f"by at most {one.difference:.4f} in mean normalised ambiguity{told}."
            )
        return said


def run(scenes: Sequence[Scene], settings: SensitivitySettings, tell: Tell) -> Sensitivity:
    """Every scene."""
    found = {}
    with tell.stage("sensitivities") as advance:
        for at, scene in enumerate(scenes, 1):
            found[scene.name] = measure(scene, settings)
            advance(at, len(scenes))
    return Sensitivity(found, settings.subsamples)


def measure(scene: Scene, settings: SensitivitySettings) -> SceneSensitivity:
    """One scene."""
    people = Population.of(scene, settings)
    several = people.several()
    tree = scene.tree
    whole = {name: ambiguity(tree, project(tree, people.relevance(name))) for name in EVIDENCE}
    total = [one.entropy.sum(axis=1) for one in whole.values()]
    varied = all(one.std() > 0 for one in total)
    exact = np.bincount(people.row[people.grade >= _EXACT], minlength=len(people)) >= 2
    return SceneSensitivity(
        queries=len(people),
        several=len(several),
        two={name: _two(scene, several, name, settings) for name in EVIDENCE},
        normalised={name: one.normalised.mean(axis=0).tolist() for name, one in whole.items()},
        correlation=float(np.corrcoef(*total)[0, 1]) if varied else None,
        exact=int(exact.sum()),
        kept={
            name: _entropy(scene, chosen.row, chosen.item, chosen.weights(name))
            .mean(axis=0)
            .tolist()
            for name in DEFINITIONS
            if len(chosen := people.where(exact))
        },
        capacity=whole["linear"].capacity.mean(axis=0).tolist(),
    )


def drawn_pairs(people: Population, random: np.random.Generator) -> Ints:
    """(2 x queries,) two different positives of each query, as places in the population's pairs.

    >>> some = Population.grouped(np.array([0, 0, 1, 1, 1]), np.arange(5), np.ones(5), 2)
    >>> drawn_pairs(some, np.random.default_rng(0)).tolist()
    [1, 0, 3, 2]
    """
    order = np.lexsort((random.random(len(people.item)), people.row))
    return np.asarray(order[np.stack([people.start[:-1], people.start[:-1] + 1], axis=1)].ravel())


def _two(
    scene: Scene, people: Population, evidence: str, settings: SensitivitySettings
) -> list[float]:
    """Mean entropy by depth of two drawn positives, the same draws for every evidence."""
    if not len(people):
        return [0.0] * scene.tree.depth
    weight, row = people.weights(evidence), np.repeat(np.arange(len(people)), 2)
    total = np.zeros(scene.tree.depth)
    for at in range(settings.subsamples):
        random = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(2, at)))
        place = drawn_pairs(people, random)
        total += _entropy(scene, row, people.item[place], weight[place]).mean(axis=0)
    found: list[float] = (total / settings.subsamples).tolist()
    return found


def _entropy(scene: Scene, row: Ints, item: Ints, weight: Doubles) -> Doubles:
    return ambiguity(scene.tree, project(scene.tree, Relevance.of(row, item, weight))).entropy


STUDY = Study(
    name="sensitivity",
    title="Whether branching hangs on the number of positives or the reading of grades",
    run=run,
    settings=SensitivitySettings,
)
