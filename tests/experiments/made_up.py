"""Per-query results that nobody trained for: the statistics and tables of a study in milliseconds."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from rars.evaluation import MEASURES, PerQuery
from rars.evaluation.comparison import Scores
from rars.evaluation.stored import Files, seal
from rars.experiments.courses import MEASURED, Course
from rars.experiments.design import Point, Setting, Study
from rars.experiments.results import Results, summarise

QUERIES = np.arange(40, dtype=np.int32)


def per_query(key: str, rule: str, seed: int, lift: float = 0.0) -> PerQuery:
    """Random values between 0 and 1 that depend on the names alone."""
    random = np.random.default_rng(zlib.crc32(f"{key}/{rule}/{seed}".encode()))
    values = {m.name: np.clip(random.random(len(QUERIES)) + lift, 0, 1) for m in MEASURES}
    return PerQuery(QUERIES, values)


def found_of(study: Study, setting: Setting, *, seeds: int = 3, missing: tuple = ()) -> Results:
    """The numbers of a study with made-up results; ``missing`` are (condition, seed) that failed."""
    conditions = study.conditions(setting)
    whole = {}
    for one in conditions:
        listed = range(seeds if one.seeded else 1)
        kept = [seed for seed in listed if (one.key, seed) not in missing]
        for rule in one.rules if kept else ():
            runs = tuple(per_query(one.key, rule, seed) for seed in kept)
            whole[Point(one.key, rule)] = Scores(tuple(kept), runs, not one.seeded)
    contrasts = study.contrasts(setting)
    named = {one.system.subset for one in contrasts} - {"all"}
    parts = {name: QUERIES[at:] for at, name in enumerate(sorted(named))} or None
    made = summarise(whole, setting, conditions, contrasts, study.measures, parts)
    return replace(made, courses=courses_of(made, seeds))


def courses_of(results: Results, seeds: int) -> dict[str, dict[int, Course]]:
    """A course for each training that says how often it measures itself."""
    epochs = (1.0, 2.0, 3.0)
    return {
        key: {
            seed: Course(epochs, dict.fromkeys(MEASURED, (0.1, 0.3, 0.2 + seed / 100)))
            for seed in range(seeds)
        }
        for key, one in results.conditions.items()
        if one.recipe.generative and one.recipe.training.evaluations
    }


def seal_nothing(results: Path, split: str, rule: str) -> None:
    """Stored numbers that are whole and say nothing."""
    files = Files.of(results, split, rule)
    results.mkdir(parents=True, exist_ok=True)
    for path in (files.run, files.qrels):
        path.touch()
    seal(files, {})
