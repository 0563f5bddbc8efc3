"""The evidence design: assignments x masks x weights x replicates, averaged within each query.

Owns: which identifiers and which masks every replicate sees, and the arrays that all displays are made of.
Masks and reassignments are drawn from states of their own; masks are the same for every assignment and
weight. Ignores statistics and layout.

Expected coverage at equal budgets: with C_h the supported items under assignment h and B = min_h C_h,
drawing B items at random from the supported ones covers R_h B / C_h of the withheld mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt, model_validator

from rars.analysis import assignments
from rars.analysis.evidence.masks import KINDS, masks
from rars.analysis.population import Population
from rars.analysis.study import Scene, StudySettings
from rars.arrays import Doubles
from rars.errors import RarsError
from rars.progress import Advance
from rars.tree import PrefixTree

ASSIGNMENTS = {"semantic": "Semantic", "first code": "Within-L1", "global": "Global"}
WEIGHTS = ("linear", "binary", "exponential")
MEASURES = ("tv", "js", "missing", "coverage", "support", "false", "matched", "budget")
"""Those of ``rars.analysis.evidence.kernel``, then coverage at equal budgets, and the budget."""
_MEASURED = 6
_MASKS, _SHUFFLES = 3, 4
"""Keys of random states."""


class EvidenceSettings(StudySettings):
    """Retention levels and replicates; by default all queries of the split, whatever a protocol evaluates."""

    eligible: bool = False
    retention: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0)
    at: float = Field(0.25, gt=0, lt=1)
    """The retention of the comparisons; one of the levels."""
    replicates: PositiveInt = 20
    draws: PositiveInt = 4000
    randomisations: PositiveInt = 10_000
    trusted: float = Field(0.1, gt=0, lt=1)
    """Targets are called trustworthy where no more of the relevance mass than this is falsely resolved."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        levels = self.retention
        if any(not 0 < one <= 1 for one in levels) or list(levels) != sorted(set(levels)):
            raise ValueError("retention must be growing shares above 0 and at most 1")
        if self.at not in levels:
            raise ValueError(f"at = {self.at:g} is none of the levels of retention")
        return self


@dataclass(frozen=True, eq=False)
class Design:
    """What the design found of one scene, averaged over replicates.

    ``values``      (assignments, n, masks, weights, L + 1, measures); the last depth is the single item
    ``replicates``  (replicates, assignments, n, L, 2) TV and coverage of each, uniform and linear at ``at``
    ``people``      the queries, with at least two positives
    ``kept``        (masks,) mean share of positives that is kept
    """

    settings: EvidenceSettings
    people: Population
    source: int
    single: int
    items: int
    values: Doubles
    replicates: Doubles
    kept: Doubles

    @property
    def depth(self) -> int:
        """L."""
        return int(self.values.shape[-2]) - 1

    @property
    def main(self) -> int:
        """The mask of the comparisons: uniform at ``at``."""
        return self.settings.retention.index(self.settings.at)

    def mask(self, kind: str) -> int:
        """The number of a kind of mask at ``at``."""
        if kind == "uniform":
            return self.main
        return len(self.settings.retention) + list(KINDS).index(kind) - 1

    def per_query(
        self,
        measure: str,
        *,
        assignment: str = "semantic",
        mask: int | None = None,
        weight: str = "linear",
    ) -> Doubles:
        """(n, L + 1) a measure of every query at every depth and at item level."""
        found: Doubles = self.values[
            list(ASSIGNMENTS).index(assignment),
            :,
            self.main if mask is None else mask,
            WEIGHTS.index(weight),
            :,
            MEASURES.index(measure),
        ]
        return found

    def mean(
        self,
        measure: str,
        *,
        assignment: str = "semantic",
        mask: int | None = None,
        weight: str = "linear",
    ) -> Doubles:
        """(L + 1,) its mean over queries."""
        one = self.per_query(measure, assignment=assignment, mask=mask, weight=weight)
        return np.asarray(one.mean(axis=0))


def run_design(scene: Scene, settings: EvidenceSettings, advance: Advance) -> Design:
    """All replicates of one scene."""
    everyone = Population.of(scene, settings)
    if not len(everyone.several()):
        raise RarsError(f"{scene.name}: no {settings.split} query has two positives or more.")
    return designed(scene.tree, everyone, settings, advance)


def designed(
    tree: PrefixTree, everyone: Population, settings: EvidenceSettings, advance: Advance
) -> Design:
    """All replicates of a population on a tree."""
    assignments.kernels()
    from rars.analysis.evidence.kernel import measured

    people = everyone.several()
    nodes = assignments.nodes_of(tree)
    sizes = sizes_of(tree)
    mass = np.stack([_normalised(people, weight) for weight in WEIGHTS])
    own = tree.positions[people.item]
    levels = len(settings.retention)
    n, n_masks, depth = len(people), levels + len(KINDS) - 1, tree.depth
    values = np.zeros((len(ASSIGNMENTS), n, n_masks, len(WEIGHTS), depth + 1, len(MEASURES)))
    found = np.empty((len(ASSIGNMENTS), n, n_masks, len(WEIGHTS), depth + 1, _MEASURED))
    replicates = np.empty((settings.replicates, len(ASSIGNMENTS), n, depth, 2))
    main = settings.retention.index(settings.at)
    groups = {
        "global": np.zeros(tree.n_items, dtype=np.int64),
        "first code": nodes[tree.positions, 0].astype(np.int64),
    }
    draws = {name: assignments.Draws.of(tree, one, people.item) for name, one in groups.items()}
    for at in range(settings.replicates):
        key = np.random.SeedSequence(settings.seed, spawn_key=(_MASKS, at))
        keep = masks(
            people, nodes[own], settings.retention, settings.at, np.random.default_rng(key)
        )
        for number, name in enumerate(ASSIGNMENTS):
            slot = own
            if name in draws:
                state = assignments.states(settings.seed, _SHUFFLES, number, at, count=1)[0]
                slot = draws[name].slots(state)[draws[name].members(people.item)]
            measured(slot, people.start, mass, keep, nodes, sizes, found[number])
        values[..., :_MEASURED] += found
        _add_matched(found, values)
        replicates[at] = found[:, :, main, 0, :depth][..., [0, 3]]
        advance(at + 1, settings.replicates)
    values /= settings.replicates
    return Design(
        settings,
        people,
        everyone.source,
        int((everyone.counts == 1).sum()),
        tree.n_items,
        values,
        replicates,
        _shares(people, keep),
    )


def sizes_of(tree: PrefixTree) -> npt.NDArray[np.int32]:
    """(slots, L) how many items are below the prefix of each slot at depths 1..L."""
    nodes = assignments.nodes_of(tree)
    columns = [np.bincount(nodes[:, depth])[nodes[:, depth]] for depth in range(tree.depth)]
    return np.stack(columns, axis=1).astype(np.int32)


def _normalised(people: Population, weight: str) -> Doubles:
    rho = people.weights(weight)
    return np.asarray(rho / np.repeat(np.add.reduceat(rho, people.start[:-1]), people.counts))


def _add_matched(found: Doubles, values: Doubles) -> None:
    """Coverage at equal budgets, and the budget."""
    support = found[..., MEASURES.index("support")]
    budget = support.min(axis=0)
    values[..., MEASURES.index("matched")] += (
        found[..., MEASURES.index("coverage")] * budget / support
    )
    values[..., MEASURES.index("budget")] += budget


def _shares(people: Population, keep: npt.NDArray[np.bool_]) -> Doubles:
    """(masks,) the mean over queries of the share that is kept."""
    kept = np.add.reduceat(keep, people.start[:-1], axis=1, dtype=np.int64)
    return np.asarray((kept / people.counts).mean(axis=1))
