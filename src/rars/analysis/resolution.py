"""Where relevance branches, for one or several datasets side by side.

Owns: the paper's table "Relevance ambiguity across SID resolutions (a)" in its layout of one group of
columns per locale, with the left panel of its evidence figure. The quantities: ``rars.analysis.ambiguity``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rars.analysis import figures
from rars.analysis.ambiguity import Profile, profile
from rars.analysis.study import Figure, Scene, Study, StudySettings
from rars.evaluation.report import NOTHING
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.progress import Tell


class AmbiguitySettings(StudySettings):
    """How grades are read."""

    relevance: str = "linear"


@dataclass(frozen=True, eq=False)
class Resolution:
    """The profile of every scene, by name."""

    profiles: dict[str, Profile]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            name: {
                "queries": found.n_queries,
                "queries_with_several_positives": found.n_multi_positive,
                "mean_depth": found.mean_depth,
                "depths": [asdict(row) for row in found.rows],
            }
            for name, found in self.profiles.items()
        }

    @property
    def depth(self) -> int:
        """The longest identifiers of all scenes."""
        return max(len(found.rows) for found in self.profiles.values())

    def tables(self) -> list[Table]:
        """Entropy, queries that branch and relevance mass there, by depth."""
        rows = [
            Row(
                (f"L{at + 1}",),
                tuple(cell for one in self.profiles.values() for cell in _three(one, at)),
            )
            for at in range(self.depth)
        ]
        counts = ", ".join(f"{one.n_queries:,} {name}" for name, one in self.profiles.items())
        return [
            Table(
                "ambiguity",
                "Relevance ambiguity by depth",
                ("Depth",),
                ("Δ", "Q (%)", "M (%)") * len(self.profiles),
                (Block(tuple(rows)),),
                f"Δ: mean refinement entropy in nats; Q: queries that branch; M: relevance mass at prefixes "
                f"with several relevant children. Queries: {counts}.",
                tuple((name, 3) for name in self.profiles),
            )
        ]

    def figures(self) -> list[Figure]:
        """Queries that branch, by depth."""
        return [Figure("ambiguity", "Ambiguity by depth", self._draw)]

    def findings(self) -> list[str]:
        """Where most of the entropy is."""
        said = []
        for name, found in self.profiles.items():
            top = max(found.rows, key=lambda row: row.entropy)
            last = found.rows[-1]
            said.append(
                f"{name}: relevance divides most at L{top.depth} ({top.entropy:.3f} nats, in "
                f"{100 * top.ambiguous_queries:.1f} % of queries), and in "
                f"{100 * last.ambiguous_queries:.1f} % of queries at L{last.depth}; "
                f"entropy-weighted depth {found.mean_depth:.3f}."
            )
        return said

    def _draw(self, path: Path) -> None:
        place = np.arange(self.depth)
        width = 0.8 / len(self.profiles)
        with figures.figure(path, panels=1, width=5) as (axis,):
            for at, (name, found) in enumerate(self.profiles.items()):
                heights = [100 * row.ambiguous_queries for row in found.rows]
                shift = (at - (len(self.profiles) - 1) / 2) * width
                color = figures.SERIES[at % len(figures.SERIES)]
                drawn = axis.bar(
                    place[: len(heights)] + shift, heights, 0.92 * width, label=name, color=color
                )
                axis.bar_label(drawn, fmt="%.0f", padding=2, fontsize=7)
            axis.set(xticks=place, xticklabels=[f"L{at + 1}" for at in place], ylim=(0, 108))
            axis.set(ylabel="% of queries that branch", title="Ambiguity by depth")
            axis.legend(fontsize=8, loc="upper right")


def run(scenes: Sequence[Scene], settings: AmbiguitySettings, tell: Tell) -> Resolution:
    """Profile every scene."""
    found = {}
    with tell.stage("ambiguity") as advance:
        for at, scene in enumerate(scenes, 1):
            found[scene.name] = profile(
                scene.dataset,
                scene.tree,
                settings.split,
                settings.relevance,
                eligible=settings.eligible,
            )
            advance(at, len(scenes))
    return Resolution(found)


STUDY = Study(
    name="ambiguity",
    title="Where relevance branches on the way down the identifiers",
    run=run,
    settings=AmbiguitySettings,
)


def _three(found: Profile, at: int) -> tuple[Cell, ...]:
    if at >= len(found.rows):
        return (NOTHING,) * 3
    row = found.rows[at]
    shares = (row.ambiguous_queries, row.ambiguous_mass)
    return (Cell(f"{row.entropy:.3f}"), *(Cell(f"{100 * one:.1f}") for one in shares))
