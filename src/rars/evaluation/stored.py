"""Evaluations that stay on disk: the run file, the qrels and the numbers beside each other.

Owns: ``results/SPLIT-RULE.run``, ``results/SPLIT.qrels`` and ``results/SPLIT-RULE.json`` of a run folder, and
checking that they are what was stored: the numbers carry a digest of themselves and of the two other files.
Anybody can score the files with another tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from rars import disk, locks
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.measures import PerQuery, measure
from rars.evaluation.outside import rescored_means
from rars.evaluation.ranking import Ranking, queries_of
from rars.evaluation.statistics import estimates
from rars.evaluation.trec import read_run, write_qrels, write_run
from rars.evaluation.truth import Truth
from rars.progress import Advance
from rars.systems import Ranked, System, rank

DEPTH = 100


@dataclass(frozen=True)
class Files:
    """Where one evaluation is kept."""

    run: Path
    qrels: Path
    numbers: Path

    @classmethod
    def of(cls, results: Path, split: str, rule: str) -> Files:
        """The three paths of a split and a rule."""
        name = f"{split}-{rule}"
        return cls(results / f"{name}.run", results / f"{split}.qrels", results / f"{name}.json")


def evaluated(
    system: System,
    results: Path,
    dataset: Dataset,
    split: str,
    rule: str | None = None,
    *,
    eligible: bool = False,
    folder: Path | None = None,
    say: Callable[[str], None] | None = None,
    advance: Advance | None = None,
) -> tuple[PerQuery, dict[str, Any]]:
    """One evaluation of a system and its numbers; from ``results`` where it is there, of the same facts.

    ``eligible``  leaves out the queries that the dataset does not call eligible
    ``folder``    whose lock is held while something is computed and stored
    ``say``       hears of stored files that are not what they were
    """
    facts = system.facts(rule)
    part = f"{split}-eligible" if eligible else split
    files = Files.of(results, part, str(facts["rule"]))
    truth = Truth.of(dataset, split, eligible=eligible)
    known = stored(files, dataset, truth, **facts)
    if known is not None:
        return known, disk.read_json(files.numbers)
    with locks.held(folder or results):
        if say is not None and files.numbers.exists() and (why := damage(files)) is not None:
            say(f"{why} It is computed again.")
        ranking, found = evaluate(system, dataset, truth, rule, advance=advance)
        return found, store(files, ranking, found, dataset, part, **facts)


def evaluate(
    system: System,
    dataset: Dataset,
    truth: Truth,
    rule: str | None = None,
    *,
    advance: Advance | None = None,
) -> tuple[Ranking, PerQuery]:
    """Rank every query that has something to find, and measure it.

    The system's catalogue may have changed since: items that the dataset does not know keep their place in no
    list, because nobody judged them.
    """
    queries = queries_of(system, dataset, truth.queries, DEPTH, rule)
    ranked = rank(system, queries, advance=advance)
    place = pc.fill_null(pc.index_in(system.catalogue.ids, dataset.item_ids), -1)
    rows = np.asarray(place.to_numpy(zero_copy_only=False), dtype=np.int32)[ranked.items]
    ranking = Ranking.of(
        truth.queries, Ranked(ranked.pointers, rows, ranked.scores).where(rows >= 0)
    )
    return ranking, measure(ranking, truth)


def store(
    files: Files, ranking: Ranking, found: PerQuery, dataset: Dataset, split: str, **facts: Any
) -> dict[str, Any]:
    """Write the three files; returns what is in the third."""
    write_run(files.run, ranking, dataset)
    judged = dataset.judgments
    write_qrels(files.qrels, judged.where(np.isin(judged.query, found.queries)), dataset)
    intervals = estimates(found.matrix())
    numbers = {
        **facts,
        "split": split,
        "queries": len(found),
        "left_out": found.left_out,
        "measures": {
            name: {"mean": one.mean, "low": one.low, "high": one.high}
            for name, one in zip(found.names, intervals, strict=True)
        },
    }
    return seal(files, numbers)


def seal(files: Files, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Write numbers of a run file and qrels that are there, with the digests that ``damage`` asks for."""
    digests = {path.name: disk.digest_file(path) for path in (files.run, files.qrels)}
    sealed = {**numbers, "digests": digests}
    sealed["digest"] = disk.digest_json(sealed)
    disk.write_json(files.numbers, sealed)
    return sealed


def damage(files: Files) -> str | None:
    """What is wrong with stored numbers and the files they were computed from; None where nothing is."""
    try:
        numbers = disk.read_json(files.numbers)
    except RarsError as error:
        return str(error)
    if not isinstance(numbers, dict) or not isinstance(numbers.get("digests"), dict):
        return f"{files.numbers} does not hold the numbers of an evaluation."
    said = numbers.pop("digest", None)
    if disk.digest_json(numbers) != said:
        return f"{files.numbers} has changed since it was written: its digest does not match."
    for path in (files.run, files.qrels):
        if not path.is_file() or disk.digest_file(path) != numbers["digests"].get(path.name):
            return f"{path} is not the file that {files.numbers.name} was computed from."
    return None


def stored(files: Files, dataset: Dataset, truth: Truth, **facts: Any) -> PerQuery | None:
    """A stored evaluation, measured again from its run file; None where it is absent, of other facts, or not
    as it was stored.
    """
    if not files.numbers.exists() or damage(files) is not None:
        return None
    numbers = disk.read_json(files.numbers)
    if any(numbers.get(key) != value for key, value in facts.items()):
        return None
    return measure(read_run(files.run, dataset), truth)


def verify(
    files: Files, dataset: Dataset | None = None, tolerance: float = 1e-6
) -> dict[str, float]:
    """Check the digests, and score the files with an outside tool; a difference is an error.

    With the ``dataset``, means and intervals are computed again from the run file too.
    """
    if (why := damage(files)) is not None:
        raise RarsError(why)
    numbers = disk.read_json(files.numbers)
    outside = rescored_means(files.run, files.qrels)
    stated = [(name, "mean", value) for name, value in outside.items()]
    if dataset is not None:
        split, eligible = (
            numbers["split"].removesuffix("-eligible"),
            "-eligible" in numbers["split"],
        )
        found = measure(read_run(files.run, dataset), Truth.of(dataset, split, eligible=eligible))
        for name, one in zip(found.names, estimates(found.matrix()), strict=True):
            stated += [(name, "mean", one.mean), (name, "low", one.low), (name, "high", one.high)]
    for name, end, value in stated:
        known = numbers["measures"].get(name, {}).get(end, float("nan"))
        if not abs(known - value) <= tolerance:
            what = name if end == "mean" else f"the {end} end of {name}"
            raise RarsError(
                f"{files.numbers} says {what} = {known:.6f}, but the files give {value:.6f}."
            )
    return outside
