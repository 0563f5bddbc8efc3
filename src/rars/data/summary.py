"""What a dataset holds, counted.

Owns: the counts that ``rars data check`` prints and their names. Ignores whether the data are sound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.data import columns
from rars.data.dataset import Judgments
from rars.data.schema import LABEL_GRADES, SPLITS

_MANY = 12  # more different grades than this are counted as zero or not


@dataclass(frozen=True)
class Summary:
    """Counts of one dataset; ``positives`` describes judged queries (grade above 0)."""

    items: int
    items_with_category: int
    items_without_text: int
    category_depths: Mapping[int, int]
    queries: Mapping[str, int]
    queries_without_positive: int
    judgments: int
    judgments_by_grade: Mapping[str, int]
    positives_per_query: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """The counts as plain values."""
        return asdict(self)


def summarise(
    items: Iterable[pa.RecordBatch],
    split: npt.NDArray[np.integer[Any]],
    judgments: Judgments,
    grades: str,
) -> Summary:
    """Count; ``items`` come in batches with the columns ``text`` and ``category`` where present."""
    n_items = without_text = 0
    depths: Counter[int] = Counter()
    for batch in items:
        n_items += batch.num_rows
        without_text += _without_text(batch)
        depths.update(_depths(batch))
    without_category = depths.pop(0, 0)
    positives = np.bincount(judgments.query[judgments.grade > 0], minlength=len(split))
    return Summary(
        items=n_items,
        items_with_category=n_items - without_category,
        items_without_text=without_text,
        category_depths=dict(sorted(depths.items())),
        queries={name: int(np.sum(split == i)) for i, name in enumerate(SPLITS)},
        queries_without_positive=int(np.sum(positives == 0)),
        judgments=len(judgments),
        judgments_by_grade=_by_grade(judgments.grade, grades),
        positives_per_query=_spread(positives[positives > 0]),
    )


def _without_text(batch: pa.RecordBatch) -> int:
    if "text" not in batch.schema.names:
        return int(batch.num_rows)
    return int(columns.mask(columns.is_empty(batch["text"])).sum())


def _depths(batch: pa.RecordBatch) -> dict[int, int]:
    if "category" not in batch.schema.names:
        return {0: batch.num_rows}
    lengths = pc.fill_null(pc.list_value_length(batch["category"]), 0)
    counts = pc.value_counts(lengths).to_pylist()
    return {one["values"]: one["counts"] for one in counts}


def _by_grade(grade: npt.NDArray[np.float32], grades: str) -> dict[str, int]:
    values, counts = np.unique(grade, return_counts=True)
    if grades == "labels":
        letters = {number: letter for letter, number in LABEL_GRADES.items()}
        found = {
            letters.get(float(v), f"{v:g}"): int(n) for v, n in zip(values, counts, strict=True)
        }
        return {letter: found.pop(letter, 0) for letter in LABEL_GRADES} | found
    if len(values) > _MANY:
        return {"0": int(np.sum(grade == 0)), "above 0": int(np.sum(grade > 0))}
    return {f"{v:g}": int(n) for v, n in zip(values[::-1], counts[::-1], strict=True)}


def _spread(positives: npt.NDArray[Any]) -> dict[str, float]:
    if not len(positives):
        return {"mean": 0.0, "median": 0.0, "max": 0.0}
    return {
        "mean": round(float(positives.mean()), 3),
        "median": float(np.median(positives)),
        "max": float(positives.max()),
    }
