"""The measures of stored TREC files, computed by ir_measures.

Owns: the call of that library. It shares no code with ``rars.evaluation.measures`` and reads nothing but the
TREC files, so agreement shows that files and numbers belong together. Grades must be whole numbers, gains
linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rars.errors import RarsError
from rars.evaluation.measures import MEASURES, Measure


def rescored(
    run: Path, qrels: Path, measures: Sequence[Measure] = MEASURES
) -> dict[str, dict[str, float]]:
    """Measure name -> query id -> value, for every query that has a relevant item."""
    import ir_measures

    for path in (run, qrels):
        if not path.exists():
            raise RarsError(f"{path} does not exist.")
    try:
        judged = list(ir_measures.read_trec_qrels(str(qrels)))
        shown = list(ir_measures.read_trec_run(str(run)))
    except ValueError as error:
        raise RarsError(f"ir_measures cannot read {run} with {qrels}: {error}.") from error
    useful = {one.query_id for one in judged if one.relevance > 0}
    names = {_outside(one): one.name for one in measures}
    values: dict[str, dict[str, float]] = {one.name: {} for one in measures}
    for metric in ir_measures.iter_calc(list(names), judged, shown):
        if metric.query_id in useful:
            values[names[metric.measure]][metric.query_id] = float(metric.value)
    return values


def rescored_means(
    run: Path, qrels: Path, measures: Sequence[Measure] = MEASURES
) -> dict[str, float]:
    """Means over the queries that have a relevant item."""
    found = rescored(run, qrels, measures)
    return {name: sum(by.values()) / max(len(by), 1) for name, by in found.items()}


def _outside(one: Measure) -> Any:
    import ir_measures

    kinds = {"Recall": ir_measures.R, "nDCG": ir_measures.nDCG, "MRR": ir_measures.RR}
    return kinds[one.kind] @ one.k
