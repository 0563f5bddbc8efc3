"""NQ320K on all test queries, on those whose page was seen in training, and on the others.

TIGER, MERGE, and CaLIR and RARS, which share their weights and differ by the retrieval rule alone, as in the
paper. Training with the tree loss stands below, which the paper does not show here.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.report import NOTHING, differences, ranked, short, signed
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments.design import (
    RULE_LABELS,
    Condition,
    Contrast,
    Ints,
    Point,
    Setting,
    Study,
)
from rars.experiments.layout import cell, lacking_caption, values_caption, weights
from rars.experiments.results import Results

SUBSETS = {"all": "Full test", "seen": "Seen test", "unseen": "Unseen test"}
MEASURES = ("Recall@10", "Recall@100", "MRR@100")
OTHERS = {"tiger": "TIGER", "merge": "MERGE"}
ROWS = {
    "TIGER": Point("tiger", "ar"),
    "MERGE": Point("merge", "ar"),
    "CaLIR": Point("base", "ar"),
    "RARS": Point("base", "all"),
}
TREE = {f"RARS training / {RULE_LABELS[rule]}": Point("rars", rule) for rule in RULE_LABELS}


def conditions(setting: Setting) -> list[Condition]:
    """TIGER and MERGE by likelihood; Base, whose weights CaLIR and RARS share, and RARS's training."""
    made = [
        Condition(name, label, setting.recipe(name), ("ar",))
        for name, label in OTHERS.items()
        if setting.asked(name)
    ]
    if setting.asked("base"):
        made.append(Condition("base", "CaLIR and RARS (Base)", setting.recipe("base")))
    if setting.asked("rars"):
        made.append(Condition("rars", "RARS training", setting.recipe("rars")))
    return made


def contrasts(setting: Setting) -> list[Contrast]:
    """RARS minus every row above it, on each part; then the training alone; each part is a family."""
    return [
        Contrast(
            f"{name}, {title.lower()}",
            system._replace(subset=part),
            reference._replace(subset=part),
            MEASURES,
            part,
        )
        for part, title in SUBSETS.items()
        for name, system, reference in _compared()
    ]


def tables(results: Results) -> list[Table]:
    """Three measures on three parts with the gain over the best of the others, and the tests."""
    whole = ranked([Block(tuple(_rows(results, ROWS)))], second=True)[0]
    counts = ", ".join(f"{results.counts[part]:,} {part}" for part in SUBSETS if part != "all")
    blocks = [
        whole,
        Block((_gain(results),)),
        Block(tuple(_rows(results, TREE)), "With the tree loss"),
    ]
    table = Table(
        "nq320k",
        "Retrieval on NQ320K",
        ("Method", "Backbone and weights"),
        tuple(map(short, MEASURES)) * len(SUBSETS),
        tuple(block for block in blocks if block.rows),
        f"{values_caption(results)} Queries: {counts}. MRR: MRR@100. CaLIR and RARS share their weights. "
        f"Δ: RARS minus the best of the rows above, in points.{lacking_caption(results)}",
        tuple((title, len(MEASURES)) for title in SUBSETS.values()),
        described=1,
    )
    return [table, differences("nq320k-differences", "Paired differences", results.deltas)]


def subsets(dataset: Dataset) -> dict[str, Ints]:
    """Row numbers of seen and unseen queries, from the column ``partition`` of the queries."""
    if "partition" not in dataset.query_store.names:
        raise RarsError(
            f"The queries of {dataset.where} have no column partition; "
            "make the dataset by rars data nq320k."
        )
    column = dataset.queries(["partition"])["partition"]
    return {
        part: np.flatnonzero(
            pc.fill_null(pc.equal(column, part), False).to_numpy(zero_copy_only=False)
        ).astype(np.int32)
        for part in SUBSETS
        if part != "all"
    }


def _rows(results: Results, listed: dict[str, Point]) -> list[Row]:
    return [
        Row(
            (label, weights(results.conditions[point.key].recipe)),
            tuple(
                cell(results, point._replace(subset=part), m) for part in SUBSETS for m in MEASURES
            ),
        )
        for label, point in listed.items()
        if point.key in results.conditions
    ]


def _gain(results: Results) -> Row:
    """RARS minus the best of the other rows, column by column."""
    cells = []
    for part in SUBSETS:
        for measure in MEASURES:
            found = {
                label: results.scores[at].summary(measure).mean
                for label, point in ROWS.items()
                if (at := point._replace(subset=part)) in results.scores
            }
            own = found.pop("RARS", None)
            if own is None or not found:
                cells.append(NOTHING)
            else:
                cells.append(Cell(signed(own - max(found.values()))))
    return Row(("Improv. (Δ)", ""), tuple(cells))


def _compared() -> list[tuple[str, Point, Point]]:
    """What is tested: the name, the system and the reference."""
    made = [
        (f"RARS − {label}", ROWS["RARS"], point) for label, point in ROWS.items() if label != "RARS"
    ]
    made += [
        (f"RARS training − Base, {name}", Point("rars", rule), Point("base", rule))
        for rule, name in RULE_LABELS.items()
    ]
    return made


STUDY = Study(
    name="nq320k",
    title="TIGER, MERGE, CaLIR and RARS on NQ320K: full, seen and unseen test queries",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    measures=(*MEASURES, "nDCG@10"),
    subsets=subsets,
    systems=(*OTHERS, "base", "rars"),
)
