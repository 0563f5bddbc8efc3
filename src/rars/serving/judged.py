"""What a dataset's judgments say of queries: grades of items, and the measures of an answer.

Owns: finding a judged query by its text, and measuring one ranking by item ids. Ignores who ranked. The
measures are those of ``rars.evaluation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rars.data import Dataset, Judgments
from rars.data.schema import SPLITS
from rars.evaluation.measures import MEASURES, measure
from rars.evaluation.ranking import Ranking
from rars.evaluation.truth import Truth
from rars.systems import Ranked, cleaned

NAMES = tuple(one.name for one in MEASURES)
DEEP = max(one.k for one in MEASURES)
"""Items of a ranking that the measures look at."""


@dataclass(frozen=True)
class Asked:
    """A query of the dataset; ``grades`` of the items that were judged."""

    row: int
    query_id: str
    text: str
    locale: str | None
    split: str
    judged: int
    relevant: int


class Judged:
    """The judged queries of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        judgments = dataset.judgments
        rows = np.arange(dataset.n_queries)
        # Sorted by query: the judgments of one are a range.
        self._low = np.searchsorted(judgments.query, rows)
        self._high = np.searchsorted(judgments.query, rows, side="right")
        relevant = np.append(0, np.cumsum(judgments.grade > 0))
        texts = dataset.query_texts.to_pylist()
        ids = dataset.query_ids.to_pylist()
        counts = zip(self._low.tolist(), self._high.tolist(), strict=True)
        self.queries = [
            Asked(
                row,
                ids[row],
                texts[row],
                dataset.query_locales[row],
                SPLITS[int(dataset.split[row])],
                high - low,
                int(relevant[high] - relevant[low]),
            )
            for row, (low, high) in enumerate(counts)
        ]
        self._rows: dict[str, list[int]] = {}
        for one in self.queries:
            self._rows.setdefault(cleaned(one.text), []).append(one.row)

    def ids_of(self, text: str) -> list[str]:
        """Ids of the queries with this text."""
        return [self.queries[row].query_id for row in self._rows.get(cleaned(text), ())]

    def grades(self, text: str) -> dict[str, float] | None:
        """Grades by item id; None where no judged query has this text."""
        found: dict[str, float] = {}
        for row in self._rows.get(cleaned(text), ()):
            for item, grade in self.grades_of(row).items():
                found[item] = max(grade, found.get(item, 0.0))
        return found or None

    def grades_of(self, row: int) -> dict[str, float]:
        """Grades by item id of one query of the dataset."""
        judgments = self._dataset.judgments
        inside = slice(int(self._low[row]), int(self._high[row]))
        ids = self._dataset.item_ids.take(pa.array(judgments.item[inside])).to_pylist()
        return dict(zip(ids, judgments.grade[inside].tolist(), strict=True))


def measured(grades: dict[str, float], ranked: Sequence[str], k: int) -> dict[str, float] | None:
    """The measures that the first ``k`` of a ranking decide; None where nothing is relevant."""
    if not any(grade > 0 for grade in grades.values()):
        return None
    place = {item: at for at, item in enumerate(grades)}
    items = [place.get(item, len(place) + at) for at, item in enumerate(ranked)]
    zeros = np.zeros(len(place), dtype=np.int64)
    values = np.array(list(grades.values()))
    judged = Judgments.merged(zeros, np.arange(len(place)), values)
    truth = Truth.of_judgments(judged, np.array([0]), len(place) + len(items) + 1)
    fitting = [one for one in MEASURES if one.k <= k]
    found = measure(Ranking.of([0], Ranked.of_lists([items])), truth, fitting)
    return {name: float(column[0]) for name, column in found.values.items()}
