"""The figures of the studies: gains with their uncertainty, and gains along a setting.

Owns: what is drawn. Ignores the style (``rars.analysis.figures``) and where numbers come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rars.analysis import figures
from rars.evaluation import Estimate
from rars.experiments.courses import MEASURED, Course
from rars.experiments.design import Delta
from rars.experiments.results import named

_BARS = {"sd": "bars: one sample SD over seeds", "interval": "bars: 95 % interval over queries"}
COLORS = (figures.BLUE, figures.ORANGE, figures.GREEN)


@dataclass(frozen=True)
class Panel:
    """Differences to Base at the levels of one setting.

    ``ticks`` name the levels, ``reference`` is the index of the recipe's own; ``series`` maps a measure to
    one difference per level, None where there is none.
    """

    title: str
    head: str
    ticks: Sequence[str]
    reference: int
    series: Mapping[str, Sequence[Delta | None]]


def gains(
    deltas: Sequence[Delta],
    names: Mapping[str, str],
    path: Path,
    *,
    label: str,
    bars: Literal["sd", "interval"] = "sd",
) -> None:
    """One panel per measure, one row per contrast: a diamond with a bar, and a dot for every seed.

    ``names`` are the contrasts to show, by name, with the label of their row.
    """
    measures = list(dict.fromkeys(one.measure for one in deltas))
    height = 1.5 + 0.42 * len(names)
    with figures.figure(path, panels=max(1, len(measures)), width=4.6, height=height) as axes:
        for axis, measure in zip(axes, measures, strict=False):
            axis.axvline(0, color=figures.GREY, lw=1)
            for at, name in enumerate(names):
                one = named(deltas, name, measure)
                if one is not None:
                    _diamond(axis, one, at, bars)
            axis.set(yticks=range(len(names)), yticklabels=list(names.values()))
            axis.set(ylim=(len(names) - 0.5, -0.5))
            axis.set_xlabel(f"{label} (points)\n{_BARS[bars]}; dots: seeds", fontsize=9)
            axis.tick_params(axis="y", labelleft=axis is axes[0], left=False)
            axis.locator_params(axis="x", nbins=6)
            axis.grid(axis="x", color="#E5E7EB")
            axis.grid(visible=False, axis="y")
            axis.set_title(measure)


def standings(blocks: Mapping[str, Mapping[str, Mapping[str, Estimate]]], path: Path) -> None:
    """One panel per measure, one row per system, in the order given: its value with the 95 % interval.

    ``blocks`` maps the title of a block to its systems, and each of these to its measures.
    """
    listed = [(title, name) for title, systems in blocks.items() for name in systems]
    measures = list(next((each for one in blocks.values() for each in one.values()), {}))
    height = 1.2 + 0.24 * len(listed)
    with figures.figure(path, panels=max(1, len(measures)), width=4.6, height=height) as axes:
        for axis, measure in zip(axes, measures, strict=False):
            for color, (title, systems) in zip(figures.SERIES, blocks.items(), strict=False):
                found = [
                    (listed.index((title, name)), one[measure]) for name, one in systems.items()
                ]
                ends = [
                    [100 * (one.mean - one.low) for _, one in found],
                    [100 * (one.high - one.mean) for _, one in found],
                ]
                means, places = [100 * one.mean for _, one in found], [at for at, _ in found]
                axis.errorbar(means, places, xerr=ends, fmt="o", color=color, ms=5, label=title)
            axis.set(yticks=range(len(listed)), yticklabels=[name for _, name in listed])
            axis.set(ylim=(len(listed) - 0.5, -0.5), xlabel="% (bars: 95 % interval over queries)")
            axis.set_xlim(left=0)
            axis.tick_params(axis="y", labelleft=axis is axes[0], left=False)
            axis.grid(visible=False, axis="y")
            axis.set_title(measure)
        axes[-1].legend(fontsize=8, loc="best")


def sweeps(panels: Sequence[Panel], path: Path) -> None:
    """One panel per setting: the gain over Base with its 95 % interval; zero is Base itself."""
    width = 3.6 if len(panels) > 1 else 5.2
    with figures.figure(path, panels=len(panels), width=width, height=3.4) as axes:
        for axis, panel in zip(axes, panels, strict=True):
            axis.axhline(0, color=figures.GREY, lw=1)
            axis.axvline(panel.reference, color=figures.GREY, lw=1, ls="--")
            for (measure, line), color, shift in zip(
                panel.series.items(), COLORS, (-0.06, 0.06, 0.0), strict=False
            ):
                _line(axis, line, measure, color, shift)
            axis.set(xticks=range(len(panel.ticks)), xlabel=panel.head.rstrip(":"))
            axis.set_xticklabels(panel.ticks, fontsize=8)
            axis.set_title(panel.title)
        axes[0].set(ylabel="gain over Base (points)")
        axes[0].legend(fontsize=8)


def courses(listed: Mapping[str, Mapping[int, Course]], path: Path) -> None:
    """One panel per measure, one line per label: validation quality over the epochs.

    A line is the mean over seeds at the epochs that all of them measured; its band reaches from the lowest
    seed to the highest.
    """
    with figures.figure(path, panels=len(MEASURED), width=5.0, height=3.6) as axes:
        for axis, measure in zip(axes, MEASURED, strict=True):
            for at, (label, by_seed) in enumerate(listed.items()):
                color = figures.SERIES[at % len(figures.SERIES)]
                style = ("-", "--", ":")[at // len(figures.SERIES) % 3]
                _course(axis, list(by_seed.values()), measure, label, color, style)
            axis.set(xlabel="epoch", title=f"validation {measure} (%)")
        if listed:
            axes[0].legend(fontsize=8)


def _course(
    axis: Any, runs: Sequence[Course], measure: str, label: str, color: str, style: str
) -> None:
    common = sorted(set.intersection(*(set(one.epochs) for one in runs)))
    rows = [dict(zip(one.epochs, one.values[measure], strict=True)) for one in runs]
    points = [[100 * row[epoch] for row in rows] for epoch in common]
    means = [sum(values) / len(values) for values in points]
    axis.plot(common, means, style, marker="o", ms=3, color=color, label=label)
    if len(runs) > 1:
        low, high = [min(values) for values in points], [max(values) for values in points]
        axis.fill_between(common, low, high, color=color, alpha=0.15, lw=0)


def _line(axis: Any, line: Sequence[Delta | None], measure: str, color: str, shift: float) -> None:
    known = [(at + shift, one.estimate) for at, one in enumerate(line) if one is not None]
    if not known:
        return
    places, means = [at for at, _ in known], [100 * one.mean for _, one in known]
    low = [100 * (one.mean - one.low) for _, one in known]
    high = [100 * (one.high - one.mean) for _, one in known]
    axis.errorbar(places, means, [low, high], fmt="o-", color=color, ms=4, capsize=2, label=measure)


def _diamond(axis: Any, one: Delta, at: int, bars: str) -> None:
    color = figures.BLUE if one.estimate.mean >= 0 else figures.RED
    mean = 100 * one.estimate.mean
    if bars == "interval":
        ends = [[mean - 100 * one.estimate.low], [100 * one.estimate.high - mean]]
        axis.errorbar([mean], [at], xerr=ends, fmt="none", color=color, capsize=3)
    elif one.seeds.sd is not None:
        axis.errorbar([mean], [at], xerr=[100 * one.seeds.sd], fmt="none", color=color, capsize=3)
    axis.plot([100 * value for value in one.per_seed], [at] * len(one.per_seed), ".",
              color=figures.GREY, ms=4, alpha=0.7)  # fmt: skip
    axis.plot([mean], [at], "D", color=color, ms=7, mec="white")
