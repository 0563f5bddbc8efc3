"""The figures of the evidence study.

Owns: what is drawn. Ignores the style (``rars.analysis.figures``) and where numbers come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from rars.analysis import figures
from rars.analysis.evidence.design import ASSIGNMENTS, EvidenceSettings
from rars.analysis.evidence.summary import SceneEvidence
from rars.analysis.study import Figure

Scenes = Mapping[str, SceneEvidence]
_COLORS = dict(zip(ASSIGNMENTS, (figures.ORANGE, figures.BLUE, figures.GREY), strict=True))
_SHAPES = "os^Dvp*X"


def figures_of(scenes: Scenes, settings: EvidenceSettings) -> list[Figure]:
    """All of them, in the paper's order; the last is the engineer's."""
    share = f"{100 * settings.at:g} % retention"
    return [
        Figure("sparsity", "Evidence sparsity, averaged over the data", partial(sparsity, scenes)),
        Figure(
            "coverage",
            f"Coverage of withheld relevance by depth at {share}",
            partial(coverage, scenes),
        ),
        Figure(
            "cost", f"Withheld coverage and catalogue expansion at {share}", partial(cost, scenes)
        ),
        Figure("certainty", "Apparent resolution and missing support", partial(certainty, scenes)),
        Figure(
            "trust",
            "False resolution by judged positives a query",
            partial(trust, scenes, settings.trusted),
        ),
    ]


def sparsity(scenes: Scenes, path: Path) -> None:
    """False resolution at L1 and missing support at the leaves; bars span the scenes."""
    levels = [100 * point.retention for point in next(iter(scenes.values())).curve]
    lines = {
        "falsely resolved at L1": [
            [100 * point.false[0].mean for point in one.curve] for one in scenes.values()
        ],
        "unobserved mass at the leaves": [
            [100 * point.missing[-1] for point in one.curve] for one in scenes.values()
        ],
    }
    with figures.figure(path, panels=1, width=4.6) as (axis,):
        for at, (label, rows) in enumerate(lines.items()):
            table = np.array(rows)
            mean = table.mean(axis=0)
            ends = np.maximum(0.0, [mean - table.min(axis=0), table.max(axis=0) - mean])
            color, shape = figures.SERIES[at], _SHAPES[at]
            axis.errorbar(
                levels, mean, ends, fmt=f"{shape}-", color=color, capsize=3, label=label, ms=5
            )
        axis.set(xticks=levels, xlabel="retained positives (%)", ylabel="%", ylim=(-3, 103))
        axis.set(title="Evidence sparsity")
        axis.legend(fontsize=8, loc="upper right")


def coverage(scenes: Scenes, path: Path) -> None:
    """Withheld mass in supported groups, by depth and assignment."""
    with figures.figure(path, panels=len(scenes), width=3.7) as axes:
        for axis, (name, one) in zip(axes, scenes.items(), strict=True):
            place = np.arange(one.depth)
            for at, (key, label) in enumerate(ASSIGNMENTS.items()):
                values = one.coverage[key]
                means = [100 * value.mean for value in values]
                ends = [
                    [100 * (value.mean - value.low) for value in values],
                    [100 * (value.high - value.mean) for value in values],
                ]
                shift = place + (at - 1) * 0.27
                drawn = axis.bar(
                    shift, means, 0.25, yerr=ends, color=_COLORS[key], label=label, capsize=2
                )
                axis.bar_label(drawn, fmt="%.1f", fontsize=6, padding=2)
            axis.set(xticks=place, xticklabels=[f"L{at + 1}" for at in place], title=name)
        axes[0].set(ylabel="withheld relevance covered (%)")
        axes[-1].legend(fontsize=8, loc="upper right")


def cost(scenes: Scenes, path: Path) -> None:
    """Coverage against the share of the catalogue that is supported, from L1 to the leaves."""
    with figures.figure(path, panels=len(scenes), width=3.7) as axes:
        for axis, (name, one) in zip(axes, scenes.items(), strict=True):
            for key, label in ASSIGNMENTS.items():
                wide = 100 * np.array(one.means["support"][key][: one.depth]) / one.items
                high = 100 * np.array(one.means["coverage"][key][: one.depth])
                axis.plot(wide, high, "-", color=_COLORS[key], label=label, lw=1.2)
                for depth in range(one.depth):
                    shape = _SHAPES[depth % len(_SHAPES)]
                    axis.plot(wide[depth], high[depth], shape, color=_COLORS[key], ms=6)
                    if key == "semantic":
                        place, shift = (wide[depth], high[depth]), (-4, 7)
                        axis.annotate(
                            f"L{depth + 1}",
                            place,
                            shift,
                            textcoords="offset points",
                            ha="right",
                            fontsize=8,
                        )
            axis.set(xscale="log", xlabel="catalogue expansion (%)", title=name)
        axes[0].set(ylabel="withheld relevance covered (%)")
        axes[0].legend(fontsize=8, loc="upper left")


def certainty(scenes: Scenes, path: Path) -> None:
    """Depth by retention: falsely resolved mass above, missing support below."""
    with figures.figure(path, panels=len(scenes), width=3.5, height=2.4, rows=2) as axes:
        for column, (name, one) in enumerate(scenes.items()):
            false = [[100 * value.mean for value in point.false] for point in one.curve]
            missing = [[100 * value for value in point.missing] for point in one.curve]
            for row, (values, title) in enumerate(
                ((false, "falsely resolved"), (missing, "unobserved"))
            ):
                axis = axes[row][column]
                table = np.array(values).T
                axis.imshow(table, cmap="Blues", vmin=0, vmax=100, aspect="auto")
                for (depth, level), value in np.ndenumerate(table):
                    ink = "white" if value > 55 else "black"
                    axis.text(
                        level,
                        depth,
                        f"{value:.0f}",
                        ha="center",
                        va="center",
                        color=ink,
                        fontsize=9,
                    )
                ticks = [f"{100 * point.retention:g}" for point in one.curve]
                axis.set(xticks=range(len(ticks)), xticklabels=ticks, yticks=range(one.depth))
                axis.set(yticklabels=[f"L{at + 1}" for at in range(one.depth)])
                axis.set_title(f"{name}: {title} (%)", fontsize=10)
                axis.grid(visible=False)
                if row:
                    axis.set(xlabel="retained positives (%)")


def trust(scenes: Scenes, trusted: float, path: Path) -> None:
    """False resolution against how many positives a query keeps, with the trusted share."""
    with figures.figure(path, panels=len(scenes), width=3.7) as axes:
        for axis, (name, one) in zip(axes, scenes.items(), strict=True):
            kept = [point.kept for point in one.curve]
            for depth in range(one.depth):
                values = [point.false[depth] for point in one.curve]
                means = [100 * value.mean for value in values]
                color = figures.SERIES[depth % len(figures.SERIES)]
                axis.plot(kept, means, "o-", color=color, label=f"L{depth + 1}", ms=4)
                low, high = (
                    [100 * getattr(value, end) for value in values] for end in ("low", "high")
                )
                axis.fill_between(kept, low, high, color=color, alpha=0.15, lw=0)
            axis.axhline(100 * trusted, color=figures.GREY, ls="--", lw=1)
            axis.set(xlabel="judged positives a query", title=name)
        axes[0].set(ylabel="falsely resolved relevance (%)")
        axes[-1].legend(fontsize=8, loc="upper right")
