"""Base and RARS under four depth masks, and the ordered decomposition of the total gain.

L_F - B_AR = (L_AR - B_AR) + (L_F - L_AR): first the training objective changes under AR-only retrieval, then
compatibility is added to the RARS model. B and L are Base and RARS, AR and F the masks 0000 and 1111.
"""

from __future__ import annotations

from rars.evaluation.report import differences, ranked, short
from rars.evaluation.tables import Block, Row, Table
from rars.experiments.design import PRIMARY, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import cell, values_caption
from rars.experiments.results import Results

TOTAL, TRAINING, RETRIEVAL = (
    "Total gain: RARS all levels − Base AR only",
    "= training: RARS − Base, AR only",
    "+ retrieval: RARS all levels − RARS AR only",
)


def masks(depth: int) -> dict[str, tuple[str, str]]:
    """Rule -> (name, mask) for identifiers of this many codes.

    >>> masks(4)["1110"]
    ('Intermediate only', '1110')
    """
    leaf, inner = "0" * (depth - 1) + "1", "1" * (depth - 1) + "0"
    return {
        "ar": ("AR only", "0" * depth),
        leaf: ("Leaf only", leaf),
        inner: ("Intermediate only", inner),
        "all": ("All levels", "1" * depth),
    }


def conditions(setting: Setting) -> list[Condition]:
    """The runs of the main table, measured under two more rules."""
    rules = tuple(masks(setting.depth))
    return [
        Condition("base", "Base", setting.recipe("base"), rules),
        Condition("rars", "RARS", setting.recipe("rars"), rules),
    ]


def contrasts(setting: Setting) -> list[Contrast]:
    """The three terms of the decomposition, and RARS minus Base under each mask."""
    base, rars, full = Point("base", "ar"), Point("rars", "ar"), Point("rars", "all")
    steps = ((TOTAL, full, base), (TRAINING, rars, base), (RETRIEVAL, full, rars))
    made = [Contrast(name, a, b, PRIMARY, "decomposition") for name, a, b in steps]
    return made + [
        Contrast(f"RARS − Base, {mask}", Point("rars", rule), Point("base", rule), PRIMARY, "masks")
        for rule, (_, mask) in masks(setting.depth).items()
    ]


def tables(results: Results) -> list[Table]:
    """The paper's table of masks, the decomposition, and the training contrast under each mask."""
    made = []
    for rule, (name, mask) in masks(results.setting.depth).items():
        cells = [cell(results, Point(key, rule), m) for key in ("base", "rars") for m in PRIMARY]
        made.append(Row((name, mask), tuple(cells)))
    columns = tuple(short(measure) for _ in range(2) for measure in PRIMARY)
    table = Table(
        "masks",
        "Training objectives under four retrieval settings",
        ("Retrieval rule", "Mask"),
        columns,
        ranked([Block(tuple(made))]),
        values_caption(results) + " Masks: active compatibility terms from L1 to the leaf.",
        (("Base", 2), ("RARS", 2)),
    )
    parts = [one for one in results.deltas if one.contrast.family == "decomposition"]
    under = [one for one in results.deltas if one.contrast.family == "masks"]
    return [
        table,
        differences("decomposition", "Ordered decomposition of the gain", parts),
        differences("masks-differences", "RARS minus Base under each mask", under),
    ]


STUDY = Study(
    name="masks",
    title="Base and RARS with compatibility at no, the last, the inner and all depths",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
)
