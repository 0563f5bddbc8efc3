"""Numbers of runs that outlive the runs: the per-query measures of a cell, a few kilobytes each.

Owns: ``FOLDER/RUN/SPLIT-RULE.parquet``, one row a query and one column a measure, and ``course.json``, what
the training measured of itself on its way. A run is named by the digest of its data and recipe, so numbers
found under its name are its own, wherever it was trained: a table can be made in several sittings, on several
machines, or from a repository that holds no weights. ``run.json`` says what was named: a setting that is new
since then changes the name of the same run, and its numbers are found by what they were made from, read as
the settings are now. Ignores statistics.
"""

from __future__ import annotations

import io
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rars import disk
from rars.config import Recipe
from rars.errors import RarsError
from rars.evaluation import PerQuery
from rars.experiments.courses import Course
from rars.experiments.tasks import SHORT

_QUERY, _COURSE, _RUN = "query", "course.json", "run.json"
_COUNTS = ("left_out", "unanswered")


def run_name(data: str, recipe: Recipe) -> str:
    """What a run of a recipe on a dataset (its digest) is called."""
    return f"{recipe.name}-{disk.digest_json([data, recipe.model_dump(mode='json')])[:SHORT]}"


@dataclass(frozen=True)
class Kept:
    """A folder of numbers; None keeps and finds nothing."""

    folder: Path | None = None

    def find(self, run: str, split: str, rule: str) -> PerQuery | None:
        """The measures of a run, where they were kept."""
        path = self._path(run, f"{split}-{rule}.parquet")
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
        path = self._path(run, f"{split}-{rule}.parquet")
        if path is None or path.exists():
            return
        columns = {_QUERY: pa.array(found.queries)}
        columns |= {name: pa.array(values) for name, values in found.values.items()}
        counts = {key: str(getattr(found, key)) for key in _COUNTS}
        sink = io.BytesIO()
        pq.write_table(pa.table(columns).replace_schema_metadata(counts), sink, compression="zstd")
        disk.write_bytes(path, sink.getvalue())

    def find_course(self, run: str) -> Course | None:
        """How a run's training went, where that was kept."""
        path = self._path(run, _COURSE)
        if path is None or not path.exists():
            return None
        try:
            return Course.of_dict(disk.read_json(path))
        except (KeyError, TypeError, ValueError) as error:
            raise RarsError(f"{path} does not hold the course of a training.") from error

    def put_course(self, run: str, found: Course) -> None:
        """Keep how a run's training went, unless it is there already."""
        path = self._path(run, _COURSE)
        if path is not None and not path.exists():
            disk.write_json(path, found.as_dict())

    def describe(self, data: str, recipe: Recipe) -> None:
        """Say what a run was made from, beside its numbers."""
        path = self._path(run_name(data, recipe), _RUN)
        if path is not None and path.parent.exists() and not path.exists():
            disk.write_json(path, {"data": data, "recipe": recipe.to_toml()})

    def _path(self, run: str, file: str) -> Path | None:
        if self.folder is None:
            return None
        own = self.folder / run
        return (own if own.exists() else self.folder / self._earlier.get(run, run)) / file

    @cached_property
    def _earlier(self) -> dict[str, str]:
        """The names that runs have now, and those under which their numbers are."""
        found = {}
        for path in sorted(self.folder.glob(f"*/{_RUN}")) if self.folder is not None else ():
            try:
                told = disk.read_json(path)
                recipe = Recipe.of(tomllib.loads(told["recipe"]))
                found[run_name(str(told["data"]), recipe)] = path.parent.name
            except (RarsError, KeyError, TypeError, ValueError):
                continue  # of settings that are no more: nobody asks for it
        return found


NOWHERE = Kept()
"""Nothing is kept, and nothing found."""
