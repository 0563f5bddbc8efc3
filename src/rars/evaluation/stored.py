"""Evaluations that stay on disk: the run file, the qrels and the numbers beside each other.

Owns: ``results/SPLIT-RULE.run``, ``results/SPLIT.qrels`` and ``results/SPLIT-RULE.json`` of a run folder, and
checking that they still belong together. Anybody can score the files with another tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from rars import artifacts
from rars.baselines import Ranked
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation.measures import PerQuery, measure
from rars.evaluation.outside import rescored_means
from rars.evaluation.ranking import Ranking, texts_of
from rars.evaluation.statistics import estimates
from rars.evaluation.trec import read_run, write_qrels, write_run
from rars.evaluation.truth import Truth

DEPTH = 100


class Ranks(Protocol):
    """Anything that ranks items for texts under a named rule."""

    def rank_many(self, texts: Any, k: int = ..., *, rule: Any = ..., advance: Any = ...) -> Any:
        """Catalogue rows and scores of each text, best first."""


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


def evaluate(
    system: Ranks, ids: pa.Array, dataset: Dataset, split: str, rule: str, *, advance: Any = None
) -> tuple[Ranking, PerQuery]:
    """Rank every query of a split that has a positive item, and measure it.

    ``ids`` are those of the system's catalogue, which may have changed since: items that the dataset does
    not know keep their place in no list, because nobody judged them.
    """
    truth = Truth.of(dataset, split)
    texts = texts_of(dataset, truth.queries)
    ranked = system.rank_many(texts, DEPTH, rule=rule, advance=advance)
    place = pc.fill_null(pc.index_in(ids, dataset.item_ids), -1).to_numpy(zero_copy_only=False)
    items = [place[rows] for rows, _ in ranked]
    scores = [values[known >= 0] for (_, values), known in zip(ranked, items, strict=True)]
    items = [known[known >= 0] for known in items]
    ranking = Ranking.of(truth.queries, Ranked.of_lists(items, scores))
    return ranking, measure(ranking, truth)


def store(
    files: Files, ranking: Ranking, found: PerQuery, dataset: Dataset, split: str, **facts: Any
) -> dict[str, Any]:
    """Write the three files; returns what is in the third."""
    files.run.parent.mkdir(parents=True, exist_ok=True)
    write_run(files.run, ranking, dataset)
    write_qrels(files.qrels, dataset.judged(split), dataset)
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
        "digests": {path.name: artifacts.digest_file(path) for path in (files.run, files.qrels)},
    }
    artifacts.write_json(files.numbers, numbers)
    return numbers


def stored(files: Files, dataset: Dataset, split: str, **facts: Any) -> PerQuery | None:
    """A stored evaluation, measured again from its run file; None where it is absent or of other facts."""
    if not files.numbers.exists():
        return None
    numbers = artifacts.read_json(files.numbers)
    if any(numbers.get(key) != value for key, value in facts.items()):
        return None
    return measure(read_run(files.run, dataset), Truth.of(dataset, split))


def verify(files: Files, tolerance: float = 1e-6) -> dict[str, float]:
    """Check the digests, and score the files with an outside tool; a difference is an error."""
    numbers = artifacts.read_json(files.numbers)
    for path in (files.run, files.qrels):
        if not path.exists() or artifacts.digest_file(path) != numbers["digests"][path.name]:
            raise RarsError(f"{path} is not the file that {files.numbers.name} was computed from.")
    outside = rescored_means(files.run, files.qrels)
    for name, value in outside.items():
        known = numbers["measures"][name]["mean"]
        if abs(known - value) > tolerance:
            raise RarsError(
                f"{files.numbers} says {name} = {known:.6f}, but the files give {value:.6f}."
            )
    return outside
