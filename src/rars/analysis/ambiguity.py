"""Where relevance branches on the way down the identifiers, for any dataset and tree.

Owns: the paper's table "Relevance ambiguity across SID resolutions (a)" and the left panel of its evidence
figure. The quantities themselves are in ``rars.tree.ambiguity``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rars.analysis import figures
from rars.data import Dataset
from rars.errors import RarsError
from rars.tree import Ambiguity, PrefixTree, Relevance, ambiguity, project


@dataclass(frozen=True)
class DepthRow:
    """Query means at one depth; shares are fractions of one."""

    depth: int
    entropy: float
    ambiguous_queries: float
    ambiguous_mass: float
    normalised_entropy: float
    sampling_variance: float
    capacity: float
    allocation: float


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of one split: means per depth, and every query's own measures."""

    split: str
    preset: str
    n_queries: int
    n_multi_positive: int
    mean_depth: float
    rows: tuple[DepthRow, ...]
    measured: Ambiguity


def profile(
    dataset: Dataset,
    tree: PrefixTree,
    split: str,
    preset: str = "linear",
    *,
    eligible: bool = False,
) -> Profile:
    """Measure how the relevance of a split's queries divides at every refinement.

    ``eligible`` leaves out queries that the dataset does not call eligible.
    """
    query, item, rho = dataset.positives(split, preset)
    if eligible:
        kept = dataset.eligible[query]
        query, item, rho = query[kept], item[kept], rho[kept]
    relevance = Relevance.of(query, item, rho)
    if not len(relevance.queries):
        raise RarsError(
            f"The split {split!r} of {dataset.where} has no query with a positive item."
        )
    measured = ambiguity(tree, project(tree, relevance))
    some = measured.branches.any(axis=1)
    share = measured.allocation[some].mean(axis=0) if some.any() else np.zeros(tree.depth)
    columns = (
        measured.entropy.mean(axis=0),
        measured.branches.mean(axis=0),
        measured.mass.mean(axis=0),
        measured.normalised.mean(axis=0),
        measured.variance.mean(axis=0),
        measured.capacity.mean(axis=0),
        share,
    )
    rows = (
        DepthRow(depth, *map(float, values))
        for depth, values in enumerate(zip(*columns, strict=True), start=1)
    )
    return Profile(
        split=split,
        preset=preset,
        n_queries=len(relevance.queries),
        n_multi_positive=int((np.bincount(relevance.row) > 1).sum()),
        mean_depth=float(measured.mean_depth[some].mean()) if some.any() else float("nan"),
        rows=tuple(rows),
        measured=measured,
    )


def draw(found: Profile, path: Path) -> None:
    """Ambiguity by SID depth: how many queries branch, and how much relevance divides there."""
    depths = [f"L{row.depth}" for row in found.rows]
    place = np.arange(len(depths))
    with figures.figure(path, panels=2) as (left, right):
        bars = (
            (
                "queries that branch",
                figures.BLUE,
                [100 * r.ambiguous_queries for r in found.rows],
                -0.2,
            ),
            ("relevance mass", figures.ORANGE, [100 * r.ambiguous_mass for r in found.rows], 0.2),
        )
        for label, color, heights, shift in bars:
            drawn = left.bar(place + shift, heights, 0.38, label=label, color=color)
            left.bar_label(drawn, fmt="%.0f", padding=2, fontsize=8)
        left.set(xticks=place, xticklabels=depths, ylim=(0, 108), ylabel="% ambiguous")
        left.set_title("How often relevance divides")
        left.legend(loc="upper right", fontsize=8)
        drawn = right.bar(place, [r.entropy for r in found.rows], 0.55, color=figures.GREEN)
        right.bar_label(drawn, fmt="%.2f", padding=2, fontsize=8)
        right.plot(
            place,
            [r.capacity for r in found.rows],
            "o--",
            color=figures.GREY,
            label="largest possible",
        )
        right.set(xticks=place, xticklabels=depths, ylabel="refinement entropy (nats)")
        right.set_title("How much it divides")
        right.legend(loc="upper right", fontsize=8)
