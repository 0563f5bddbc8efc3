"""Numbers of runs that outlive the runs: the per-query measures of a cell, a few kilobytes each.

Owns: ``FOLDER/RUN/SPLIT-RULE.parquet``, one row a query and one column a measure, and ``course.json``, what
the training measured of itself on its way. A run is named by the
digest of its data and recipe, so numbers found under its name are its own, wherever it was trained: a table
can be made in several sittings, on several machines, or from a repository that holds no weights. Ignores
statistics.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rars import artifacts
from rars.errors import RarsError
from rars.evaluation import PerQuery
from rars.experiments.courses import Course

_QUERY, _COURSE = "query", "course.json"
_COUNTS = ("left_out", "unanswered")


@dataclass(frozen=True)
class Kept:
    """A folder of numbers; None keeps and finds nothing."""

    folder: Path | None = None

    def find(self, run: str, split: str, rule: str) -> PerQuery | None:
        """The measures of a run, where they were kept."""
        path = self._path(run, split, rule)
        if path is None or not path.exists():
            return None
        try:
            table = pq.read_table(path)
            counts = {key: int((table.schema.metadata or {})[key.encode()]) for key in _COUNTS}
            queries = table.column(_QUERY).to_numpy().astype(np.int32)
            names = [name for name in table.column_names if name != _QUERY]
            values = {name: table.column(name).to_numpy().astype(np.float64) for name in names}
        except (OSError, pa.ArrowException, KeyError, ValueError) as error:
            raise RarsError(f"{path} does not hold the measures of a run.") from error
        if not names or not all(np.isfinite(column).all() for column in values.values()):
            raise RarsError(f"{path} does not hold the measures of a run.")
        return PerQuery(queries, values, **counts)

    def put(self, run: str, split: str, rule: str, found: PerQuery) -> None:
        """Keep the measures of a run, unless they are there already."""
        path = self._path(run, split, rule)
        if path is None or path.exists():
            return
        columns = {_QUERY: pa.array(found.queries)}
        columns |= {name: pa.array(values) for name, values in found.values.items()}
        counts = {key: str(getattr(found, key)) for key in _COUNTS}
        sink = io.BytesIO()
        pq.write_table(pa.table(columns).replace_schema_metadata(counts), sink, compression="zstd")
        artifacts.write_bytes(path, sink.getvalue())

    def find_course(self, run: str) -> Course | None:
        """How a run's training went, where that was kept."""
        path = None if self.folder is None else self.folder / run / _COURSE
        if path is None or not path.exists():
            return None
        try:
            return Course.of_dict(artifacts.read_json(path))
        except (KeyError, TypeError, ValueError) as error:
            raise RarsError(f"{path} does not hold the course of a training.") from error

    def put_course(self, run: str, found: Course) -> None:
        """Keep how a run's training went, unless it is there already."""
        if self.folder is not None and not (path := self.folder / run / _COURSE).exists():
            artifacts.write_json(path, found.as_dict())

    def _path(self, run: str, split: str, rule: str) -> Path | None:
        return None if self.folder is None else self.folder / run / f"{split}-{rule}.parquet"


NOWHERE = Kept()
"""Nothing is kept, and nothing found."""
