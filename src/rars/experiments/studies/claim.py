"""The paper's claim where it should show most: RARS minus Base by how relevance divides for a query.

All test queries, those with one relevant item (where the tree loss has nothing to say that a full identifier
does not), and the others in quarters by their refinement entropy, Delta(q) = sum over depths of
H(Z_l | Z_{l-1}, q) (Eq. ambiguity): the entropy of relevance over identifiers. Runs are those of ``main``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from rars.data import Dataset
from rars.evaluation.report import differences
from rars.evaluation.tables import Table
from rars.experiments import drawing
from rars.experiments.design import (
    FIVE,
    RULE_LABELS,
    Condition,
    Contrast,
    Ints,
    Point,
    Setting,
    Study,
    against,
)
from rars.experiments.layout import measured
from rars.experiments.results import Results
from rars.tree import PrefixTree, Relevance, ambiguity, project

MODELS = {"base": "Base", "rars": "RARS"}
ONE = "one relevant item"
QUARTERS = ("least divided quarter", "second quarter", "third quarter", "most divided quarter")
PARTS = ("all", ONE, *QUARTERS)


def conditions(setting: Setting) -> list[Condition]:
    """Base and RARS, at Base's rate."""
    return [Condition(name, label, setting.recipe(name)) for name, label in MODELS.items()]


def contrasts(setting: Setting) -> list[Contrast]:
    """RARS minus Base under both rules: on all queries, and on each part of them (families of their own)."""
    base, rars = conditions(setting)
    made = against(base, [rars])
    for part in PARTS[1:]:
        for one in against(base, [rars], subset=part):
            made.append(replace(one, family=f"parts, {one.family}"))
    return made


def on_tree(dataset: Dataset, tree: PrefixTree) -> dict[str, Ints]:
    """Test queries with one relevant item, and the others in quarters by refinement entropy."""
    relevance = Relevance.of(*dataset.positives("test"))
    queries = np.asarray(relevance.queries, dtype=np.int32)
    count = np.bincount(relevance.row)
    entropy = ambiguity(tree, project(tree, relevance)).entropy.sum(axis=1)
    several = np.flatnonzero(count > 1)
    # Equal entropies keep the order of the queries, so quarters are equally large.
    ordered = several[np.argsort(entropy[several], kind="stable")]
    quarters = np.array_split(ordered, len(QUARTERS))
    made = {name: np.sort(queries[rows]) for name, rows in zip(QUARTERS, quarters, strict=True)}
    return {ONE: queries[count == 1], **made}


def tables(results: Results) -> list[Table]:
    """Base and RARS on all queries under each rule, then the differences on all and on each part."""
    made = [
        measured(
            results,
            f"claim-{rule}",
            f"Base and RARS, {label}",
            ("Training",),
            [((name,), Point(key, rule)) for key, name in MODELS.items()],
            rule=rule,
        )
        for rule, label in RULE_LABELS.items()
    ]
    counts = ", ".join(
        f"{part} {results.counts[part]:,}" for part in PARTS if part in results.counts
    )
    title = f"RARS minus Base by how relevance divides (queries: {counts})"
    return [*made, differences("claim-differences", title, results.deltas)]


def draw(results: Results, path: Path) -> None:
    """The gain on all queries and on each part, AR-only retrieval, with 95 % intervals over queries."""
    shown = [one for one in results.deltas if one.contrast.system.rule == "ar"]
    names = {one.contrast.name: _label(one.contrast.system.subset, results) for one in shown}
    drawing.gains(shown, names, path, label="RARS minus Base, AR only", bars="interval")


def _label(part: str, results: Results) -> str:
    return f"{'all queries' if part == 'all' else part} ({results.counts[part]:,})"


STUDY = Study(
    name="claim",
    title="RARS minus Base, on all queries and by how relevance divides for a query",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    measures=(*FIVE, "MRR@100"),
    draw=draw,
    tuned=("base",),
    on_tree=on_tree,
)
