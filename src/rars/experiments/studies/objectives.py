"""Five training objectives under one retrieval rule, and what each gains over grouped soft targets.

Matched base: complete identifiers, each its own target. Grouped: the same, weighted by relevance mass.
AR-decoder soft target: local distributions on the decoder. Sampled tree and RARS: the same head on the query
representation, with drawn and with explicit targets.
"""

from __future__ import annotations

from pathlib import Path

from rars.evaluation.report import differences
from rars.evaluation.tables import Table
from rars.experiments import drawing
from rars.experiments.design import (
    FIVE,
    RULE_LABELS,
    Condition,
    Contrast,
    Point,
    Setting,
    Study,
    against,
)
from rars.experiments.layout import measured
from rars.experiments.results import Results

LABELS = {
    "base": "Matched base",
    "decoder-soft": "AR-decoder soft target",
    "grouped": "Grouped soft target",
    "sampled-tree": "Sampled tree",
    "rars": "RARS",
}


def conditions(setting: Setting) -> list[Condition]:
    """One condition per objective; everything else is equal."""
    return [Condition(name, label, setting.recipe(name)) for name, label in LABELS.items()]


def contrasts(setting: Setting) -> list[Contrast]:
    """Each objective minus grouped soft targets."""
    listed = {one.key: one for one in conditions(setting)}
    grouped = listed.pop("grouped")
    return against(grouped, listed.values(), rules=("all", "ar"))


def tables(results: Results) -> list[Table]:
    """All objectives under all-level retrieval as in the paper, AR-only beside it, then the differences."""
    made = [
        measured(
            results,
            f"objectives-{rule}",
            f"Training objectives, {RULE_LABELS[rule]}",
            ("Training objective",),
            [((label,), Point(key, rule)) for key, label in LABELS.items()],
            rule=rule,
        )
        for rule in ("all", "ar")
    ]
    title = "Paired differences to grouped soft targets"
    return [*made, differences("objectives-differences", title, results.deltas)]


def draw(results: Results, path: Path) -> None:
    """Gains over grouped soft targets: mean and sample standard deviation of the within-seed differences."""
    shown = [one for one in results.deltas if one.contrast.family == "all"]
    names = {one.contrast.name: results.label(one.contrast.system.key) for one in shown}
    drawing.gains(shown, names, path, label="gain over grouped soft targets")


STUDY = Study(
    name="objectives",
    title="Five training objectives, and their paired differences to grouped soft targets",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    measures=(*FIVE, "MRR@100"),
    draw=draw,
)
