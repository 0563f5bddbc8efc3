"""Evaluation: rankings and judgments as files, measures per query, intervals and tests, tables."""

from __future__ import annotations

from rars.evaluation.comparison import Comparison, Difference, compare
from rars.evaluation.measures import MEASURES, Measure, PerQuery, measure, quality
from rars.evaluation.outside import rescored, rescored_means
from rars.evaluation.prefix_coverage import coverage
from rars.evaluation.ranking import Ranking, identifier_ranking, queries_of, rank_split
from rars.evaluation.statistics import (
    Estimate,
    Seeds,
    estimates,
    holm,
    seed_differences,
    seed_summary,
    sign_test,
)
from rars.evaluation.trec import read_qrels, read_run, write_qrels, write_run, write_run_of
from rars.evaluation.truth import Truth

__all__ = [
    "MEASURES",
    "Comparison",
    "Difference",
    "Estimate",
    "Measure",
    "PerQuery",
    "Ranking",
    "Seeds",
    "Truth",
    "compare",
    "coverage",
    "estimates",
    "holm",
    "identifier_ranking",
    "measure",
    "quality",
    "queries_of",
    "rank_split",
    "read_qrels",
    "read_run",
    "rescored",
    "rescored_means",
    "seed_differences",
    "seed_summary",
    "sign_test",
    "write_qrels",
    "write_run",
    "write_run_of",
]
