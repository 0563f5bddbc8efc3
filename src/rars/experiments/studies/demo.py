"""What ``rars demo`` compares: Base and RARS with one seed under three retrieval rules, and BM25.

One seed at the size's own learning rate: enough to see the parts at work, not enough to conclude. ``main``
is the controlled comparison. Batches are of whole queries, which takes a sixth of the time that pairs take.
"""

from __future__ import annotations

from rars.evaluation.report import differences, ranked, short
from rars.evaluation.tables import Block, Table
from rars.experiments.design import FIVE, PLAIN, PRIMARY, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import rows, values_caption
from rars.experiments.results import Results

RULE_LABELS = {"ar": "AR only", "all": "all levels", "hybrid": "hybrid"}
MODELS = {"base": "Base", "rars": "RARS"}


def conditions(setting: Setting) -> list[Condition]:
    """BM25, Base and RARS."""
    made = [Condition("bm25", "BM25", setting.recipe("bm25"), (PLAIN,), seeded=False)]
    return made + [
        Condition(
            name, label, setting.recipe(name, "training.batching=queries"), tuple(RULE_LABELS)
        )
        for name, label in MODELS.items()
    ]


def contrasts(setting: Setting) -> list[Contrast]:
    """What the objective brings, what evidence brings, and both against BM25."""
    rars = {rule: Point("rars", rule) for rule in RULE_LABELS}
    pairs = [
        ("RARS − Base, AR only", rars["ar"], Point("base", "ar")),
        ("RARS: all levels − AR only", rars["all"], rars["ar"]),
        ("RARS: hybrid − all levels", rars["hybrid"], rars["all"]),
        ("RARS, hybrid − BM25", rars["hybrid"], Point("bm25", PLAIN)),
    ]
    return [Contrast(name, system, reference, PRIMARY) for name, system, reference in pairs]


def tables(results: Results) -> list[Table]:
    """All systems by measure, then the differences."""
    listed = [(("BM25", ""), Point("bm25", PLAIN))]
    blocks = [Block(tuple(rows(results, listed, FIVE)))]
    for key, label in MODELS.items():
        points = [((label, name), Point(key, rule)) for rule, name in RULE_LABELS.items()]
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


STUDY = Study(
    name="demo",
    title="Base and RARS on the bundled shop, BM25 beside them",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    tuned=(),
)
