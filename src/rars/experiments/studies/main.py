"""The controlled rows of the main table: Base and RARS under AR-only and all-level retrieval.

Both are trained at the learning rate that is best for Base; RARS is then trained at its own best one. BM25,
dense retrieval and their fusion stand beside them, under the same queries and measures.
"""

from __future__ import annotations

from rars.evaluation.report import differences, ranked, short
from rars.evaluation.tables import Block, Table
from rars.experiments.design import (
    FIVE,
    PLAIN,
    RULE_LABELS,
    Condition,
    Contrast,
    Point,
    Setting,
    Study,
)
from rars.experiments.layout import rows, values_caption
from rars.experiments.results import Results

BESIDE = {
    "bm25": "BM25",
    "dense": "Dense, zero-shot",
    "dense-tuned": "Dense, fine-tuned",
    "fusion": "BM25 + dense",
}


def conditions(setting: Setting) -> list[Condition]:
    """The systems beside, Base, RARS, and RARS at its own rate where that is another."""
    made = [
        Condition(name, label, setting.recipe(name, rate_of=None), (PLAIN,), seeded=False)
        for name, label in BESIDE.items()
    ]
    made.append(Condition("base", "Base", setting.recipe("base")))
    made.append(Condition("rars", "RARS", setting.recipe("rars")))
    if own_rate(setting):
        recipe = setting.recipe("rars", rate_of="rars")
        made.append(Condition("rars-own", "RARS at its own learning rate", recipe))
    return made


def contrasts(setting: Setting) -> list[Contrast]:
    """RARS minus Base under each rule, at Base's rate; then at RARS's own."""
    made = [
        Contrast(
            f"RARS − Base, {RULE_LABELS[rule]}",
            Point("rars", rule),
            Point("base", rule),
            FIVE,
            "matched",
        )
        for rule in RULE_LABELS
    ]
    if own_rate(setting):
        made += [
            Contrast(
                f"RARS (own rate) − Base, {RULE_LABELS[rule]}",
                Point("rars-own", rule),
                Point("base", rule),
                FIVE,
                "own rate",
            )
            for rule in RULE_LABELS
        ]
    return made


def tables(results: Results) -> list[Table]:
    """The paper's layout, then the paired differences."""
    beside = [((label,), Point(key, PLAIN)) for key, label in BESIDE.items()]
    controlled = [
        ((f"{label} / {RULE_LABELS[rule]}",), Point(key, rule))
        for rule in RULE_LABELS
        for key, label in (("base", "Base"), ("rars", "RARS"))
    ]
    blocks = [
        Block(tuple(rows(results, beside, FIVE)), "Sparse and dense retrieval"),
        Block(
            tuple(rows(results, controlled, FIVE)),
            "Controlled comparisons: training objective / retrieval rule",
        ),
    ]
    if "rars-own" in results.conditions:
        own = [
            ((f"RARS, own rate / {RULE_LABELS[rule]}",), Point("rars-own", rule))
            for rule in RULE_LABELS
        ]
        blocks.append(Block(tuple(rows(results, own, FIVE)), "RARS at its own learning rate"))
    columns = tuple(map(short, FIVE))
    marked = ranked(blocks, second=True)
    caption = values_caption(results)
    whole = Table("main", "Retrieval results", ("Model",), columns, marked, caption)
    return [whole, differences("main-differences", "Paired differences", results.deltas)]


def own_rate(setting: Setting) -> bool:
    """Whether RARS's own best rate is known and not Base's."""
    own = setting.rates.get("rars")
    return own is not None and own != setting.rates.get("base")


STUDY = Study(
    name="main",
    title="Base and RARS under AR-only and all-level retrieval, BM25 and dense beside them",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    measures=(*FIVE, "MRR@100"),
    tuned=("base", "rars"),
)
