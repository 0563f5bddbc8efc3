"""Facets: how often each value of a column occurs among some items.

Owns: counting. Ignores which items: those of an answer, all that a query's restrictions leave
(``rars.search.restrictions.matching``), or the whole catalogue.

The count of a value is how many of the items a filter ``column = value`` takes. So an item of several values
counts for each, and a category counts what is below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rars.arrays import Ints
from rars.errors import RarsError
from rars.search.columns import SEPARATOR, Column, Kind
from rars.search.store import ItemStore


@dataclass(frozen=True)
class Facet:
    """The values of one column.

    ``values``       the most frequent ones and their counts; equal counts in the order of the values
    ``others``       the counts of all further values together
    ``missing``      how many items have no value
    ``low``, ``high``  the smallest and largest, of numbers and times
    """

    name: str
    kind: Kind
    values: tuple[tuple[Any, int], ...]
    others: int
    missing: int
    low: Any = None
    high: Any = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        listed = [{"value": value, "count": count} for value, count in self.values]
        return {**vars(self), "values": listed}


def count(
    store: ItemStore, names: Sequence[str], rows: Ints | None = None, *, limit: int = 10
) -> list[Facet]:
    """Count the values of named columns and attributes over ``rows`` of the catalogue; None for all.

    A wrong name is one sentence.
    """
    if limit < 0:
        raise RarsError(f"A facet lists 0 values or more, not {limit}.")
    every = np.arange(len(store)) if rows is None else np.asarray(rows, dtype=np.int64)
    return [_counted(name, store.columns.named(name), every, limit) for name in names]


def _counted(name: str, column: Column, rows: Ints, limit: int) -> Facet:
    at, owner = rows, rows
    if column.owner is not None:
        marks = np.zeros(column.items, dtype=bool)
        marks[rows] = True
        at = np.flatnonzero(marks[column.owner])
        owner = column.owner[at]
    missing = len(rows) - int(column.filled()[rows].sum())
    if column.textual:
        codes = column.codes[at].astype(np.int64)
        owner, codes = owner[codes > 0], codes[codes > 0] - 1
        counts = np.bincount(_once(owner, codes, column), minlength=len(column.folded))
        seen = np.flatnonzero(counts)
        labels = [column.labels[code].as_py() for code in seen.tolist()]
        found = zip(labels, counts[seen].tolist(), strict=True)
        if column.kind == "path":
            found = zip(*_with_those_above(found), strict=True)
        return _facet(name, column, found, limit, missing)
    there = np.ones(len(at), dtype=bool) if column.there is None else column.there[at]
    at, owner = at[there], owner[there]
    if column.kind == "other":
        return Facet(name, column.kind, (), len(rows) - missing, missing)
    distinct, codes = np.unique(column.numbers[at], return_inverse=True)
    counts = np.bincount(_once(owner, codes, column), minlength=len(distinct))
    values = column.written(distinct)
    ends = (values[0], values[-1]) if values and column.kind != "truth" else (None, None)
    return _facet(name, column, zip(values, counts.tolist(), strict=True), limit, missing, *ends)


def _once(owner: Ints, codes: Ints, column: Column) -> Ints:
    """A value that an item has twice counts once."""
    if column.owner is None:
        return codes
    return np.asarray(np.unique(np.stack([owner, codes]), axis=1)[1])


def _with_those_above(found: Iterable[tuple[str, int]]) -> tuple[list[str], list[int]]:
    """Counts of category paths, and of every category above them."""
    total: dict[str, int] = {}
    for path, number in found:
        parts = path.split(SEPARATOR)
        for depth in range(1, len(parts) + 1):
            above = SEPARATOR.join(parts[:depth])
            total[above] = total.get(above, 0) + number
    return list(total), list(total.values())


def _facet(
    name: str,
    column: Column,
    found: Iterable[tuple[Any, int]],
    limit: int,
    missing: int,
    low: Any = None,
    high: Any = None,
) -> Facet:
    ordered = sorted(found, key=lambda one: (-one[1], one[0]))
    others = sum(number for _, number in ordered[limit:])
    return Facet(name, column.kind, tuple(ordered[:limit]), others, missing, low, high)
