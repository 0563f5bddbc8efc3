"""What ``rars demo`` compares: Base and RARS with one seed under three rules, BM25, and ``practical``.

One seed at the size's own learning rate: enough to see the parts at work, not enough to conclude. ``main``
is the controlled comparison. Batches are of whole queries, which takes a sixth of the time that pairs take,
and ``practical``, the recipe for one's own catalogue, is trained for three epochs of its eight.
"""

from __future__ import annotations

from pathlib import Path

from rars.evaluation.report import differences, ranked, short
from rars.evaluation.tables import Block, Table
from rars.experiments import drawing
from rars.experiments.design import FIVE, PLAIN, PRIMARY, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import rows, values_caption
from rars.experiments.results import Results

RULE_LABELS = {"ar": "AR only", "all": "all levels", "hybrid": "hybrid"}
MODELS = {"base": "Base", "rars": "RARS"}
OWN, OWN_LABEL, OWN_RULES = "practical", "Practical", ("ar", "hybrid")

MEASUREMENTS = 5
"""Of Base and RARS on validation queries, on their way."""

_EPOCHS = "training.epochs"


def conditions(setting: Setting) -> list[Condition]:
    """BM25; what takes longest; Base and RARS."""
    asked = any(change.partition("=")[0].strip() == _EPOCHS for change in setting.changes)
    own = setting.recipe(OWN, *(() if asked else (f"{_EPOCHS}=3",)))
    made = [
        Condition("bm25", "BM25", setting.recipe("bm25"), (PLAIN,), seeded=False),
        Condition(OWN, OWN_LABEL, own, OWN_RULES),
    ]
    changes = ("training.batching=queries", f"training.evaluations={MEASUREMENTS}")
    return made + [
        Condition(name, label, setting.recipe(name, *changes), tuple(RULE_LABELS))
        for name, label in MODELS.items()
    ]


def contrasts(setting: Setting) -> list[Contrast]:
    """What the objective brings, what evidence brings, and systems against BM25."""
    rars = {rule: Point("rars", rule) for rule in RULE_LABELS}
    pairs = [
        ("RARS − Base, AR only", rars["ar"], Point("base", "ar")),
        ("RARS: all levels − AR only", rars["all"], rars["ar"]),
        ("RARS: hybrid − all levels", rars["hybrid"], rars["all"]),
        ("RARS, hybrid − BM25", rars["hybrid"], Point("bm25", PLAIN)),
        ("Practical, hybrid − BM25", Point(OWN, "hybrid"), Point("bm25", PLAIN)),
    ]
    return [Contrast(name, system, reference, PRIMARY) for name, system, reference in pairs]


def tables(results: Results) -> list[Table]:
    """All systems by measure, then the differences."""
    listed = [(("BM25", ""), Point("bm25", PLAIN))]
    blocks = [Block(tuple(rows(results, listed, FIVE)))]
    shown = {**{key: tuple(RULE_LABELS) for key in MODELS}, OWN: OWN_RULES}
    labels = {**MODELS, OWN: OWN_LABEL}
    for key, rules in shown.items():
        points = [((labels[key], RULE_LABELS[rule]), Point(key, rule)) for rule in rules]
        blocks.append(Block(tuple(rows(results, points, FIVE))))
    columns = tuple(map(short, FIVE))
    whole = Table(
        "demo",
        "What each system finds",
        ("System", "Rule"),
        columns,
        ranked(blocks),
        values_caption(results),
    )
    return [whole, differences("demo-differences", "What makes the difference", results.deltas)]


def draw(results: Results, path: Path) -> None:
    """What the models find of validation queries while they learn (AR only)."""
    drawing.courses(results.labelled_courses, path)


STUDY = Study(
    name="demo",
    title="Base and RARS on the bundled shop, BM25 and the recipe for your own catalogue beside them",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    draw=draw,
    tuned=(),
)
