"""Leave one depth out: what compatibility at each depth is worth to RARS, with the same trained weights."""

from __future__ import annotations

from pathlib import Path

from rars.evaluation.report import NOTHING, bounds, caption_of_tests, p_value, short, signed
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments import drawing
from rars.experiments.design import Condition, Contrast, Delta, Point, Setting, Study, mask
from rars.experiments.layout import measured
from rars.experiments.results import Results

MEASURES = ("Recall@100", "nDCG@100")


def names(depth: int) -> list[str]:
    """L1 and so on; the last is the leaf.

    >>> names(4)
    ['L1', 'L2', 'L3', 'L4 (leaf)']
    """
    return [f"L{at}" for at in range(1, depth)] + [f"L{depth} (leaf)"]


def named(name: str) -> str:
    """The contrast of a depth."""
    return f"Full − without {name}"


def conditions(setting: Setting) -> list[Condition]:
    """One trained model under depth + 1 rules."""
    depth = setting.depth
    rules = ("all", *(mask(depth, off) for off in range(1, depth + 1)))
    return [Condition("rars", "RARS", setting.recipe("rars"), rules)]


def contrasts(setting: Setting) -> list[Contrast]:
    """Full scoring minus scoring without one depth."""
    full = Point("rars", "all")
    return [
        Contrast(named(name), full, Point("rars", mask(setting.depth, off)), MEASURES, "depth")
        for off, name in enumerate(names(setting.depth), 1)
    ]


def tables(results: Results) -> list[Table]:
    """The values of every variant, and the paired differences as the paper lays them out."""
    depth = results.setting.depth
    listed = [(("Full RARS", "1" * depth), Point("rars", "all"))]
    for off, name in enumerate(names(depth), 1):
        rule = mask(depth, off)
        listed.append(((f"w/o {name}", rule), Point("rars", rule)))
    heads = ("Variant", "Mask")
    title = "Compatibility without one depth"
    values = measured(results, "depth", title, heads, listed, measures=MEASURES)
    made = [Row((name,), tuple(_cells(results, name))) for name in names(depth)]
    paired = Table(
        "depth-uncertainty",
        "What each depth is worth: full minus without it",
        ("Term",),
        ("Δ", "95 % CI", "p", "p (Holm)") * len(MEASURES),
        (Block(tuple(made)),),
        caption_of_tests(results.deltas, seeds=False),
        tuple((short(measure), 4) for measure in MEASURES),
    )
    return [values, paired]


def draw(results: Results, path: Path) -> None:
    """What is lost when a depth is taken out."""
    shown = {named(name): f"w/o {name}" for name in names(results.setting.depth)}
    label = "full scoring minus the variant"
    drawing.gains(results.deltas, shown, path, label=label, bars="interval")


def _cells(results: Results, name: str) -> list[Cell]:
    made: list[Cell] = []
    for measure in MEASURES:
        one = results.delta(named(name), measure)
        made += [NOTHING] * 4 if one is None else _four(one)
    return made


def _four(one: Delta) -> list[Cell]:
    estimate = one.estimate
    return [
        Cell(signed(estimate.mean), mark="best" if one.significant() else ""),
        Cell(bounds(estimate)),
        Cell(p_value(one.p)),
        Cell(p_value(one.p_holm)),
    ]


STUDY = Study(
    name="depth",
    title="Leave-one-depth-out compatibility of RARS, with paired intervals and p-values",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    draw=draw,
)
