"""NQ320K: Base and RARS on all test queries, on those whose page was seen in training, and on the others."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.report import differences, ranked, short
from rars.evaluation.tables import Block, Row, Table
from rars.experiments.design import RULE_LABELS, Condition, Contrast, Ints, Point, Setting, Study
from rars.experiments.layout import cell, values_caption
from rars.experiments.results import Results

MEASURES = ("Recall@10", "Recall@100", "MRR@100")
SUBSETS = {"all": "Full test", "seen": "Seen test", "unseen": "Unseen test"}
ROWS = (("base", "Base"), ("rars", "RARS"))


def conditions(setting: Setting) -> list[Condition]:
    """The matched pair."""
    return [Condition(key, label, setting.recipe(key)) for key, label in ROWS]


def contrasts(setting: Setting) -> list[Contrast]:
    """RARS minus Base under each rule on each part; the tests of one part are one family."""
    return [
        Contrast(
            f"RARS − Base, {RULE_LABELS[rule]}, {title.lower()}",
            Point("rars", rule, part),
            Point("base", rule, part),
            MEASURES,
            part,
        )
        for part, title in SUBSETS.items()
        for rule in RULE_LABELS
    ]


def tables(results: Results) -> list[Table]:
    """Three measures on three parts, and the tests."""
    made = [
        Row(
            (f"{label} / {RULE_LABELS[rule]}",),
            tuple(cell(results, Point(key, rule, part), m) for part in SUBSETS for m in MEASURES),
        )
        for rule in RULE_LABELS
        for key, label in ROWS
    ]
    counts = ", ".join(f"{results.counts[part]:,} {part}" for part in SUBSETS if part != "all")
    table = Table(
        "nq320k",
        "Retrieval on NQ320K",
        ("Method",),
        tuple(map(short, MEASURES)) * len(SUBSETS),
        ranked([Block(tuple(made))], second=True),
        f"{values_caption(results)} Queries: {counts}. MRR: MRR@100.",
        tuple((title, len(MEASURES)) for title in SUBSETS.values()),
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


STUDY = Study(
    name="nq320k",
    title="Base and RARS on NQ320K: full, seen and unseen test queries",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    measures=(*MEASURES, "nDCG@10"),
    subsets=subsets,
)
