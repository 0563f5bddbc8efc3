"""How well systems answer the judged queries of a dataset, worked out beside the searches of people.

Owns: tables of measures by (system, version, rule, split), filled a few queries at a time when nothing else
waits. Ignores how a query is answered: a function is given.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from rars.serving.judged import Asked

Key = tuple[str, str | None, str, str]
Measured = dict[str, float] | None
Few = Callable[[Key, Sequence[Asked]], Awaitable[list[Measured]]]

_FEW = 16
_TABLES = 16
"""Tables that are kept, the latest asked for."""


@dataclass(eq=False)
class Table:
    """The measures of some queries, by row of the dataset; ``total`` are to be had."""

    total: int
    values: dict[int, dict[str, float]] = field(default_factory=dict)
    looked: int = 0
    task: asyncio.Task[None] | None = None
    problem: Exception | None = None

    @property
    def complete(self) -> bool:
        """Whether every query was measured."""
        return self.looked >= self.total

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        return 1.0 if not self.total else self.looked / self.total


class Tables:
    """All tables that were asked for lately."""

    def __init__(self, measure: Few) -> None:
        self._measure = measure
        self._tables: OrderedDict[Key, Table] = OrderedDict()

    async def of(self, key: Key, queries: Sequence[Asked], patience: float) -> Table:
        """The table of a key, as far as it is after waiting a moment."""
        table = self._tables.get(key)
        if table is None or table.problem is not None:
            table = self._tables[key] = Table(len(queries))
            table.task = asyncio.create_task(self._fill(key, table, queries))
        self._tables.move_to_end(key)
        while len(self._tables) > _TABLES:
            _, old = self._tables.popitem(last=False)
            if old.task is not None:
                old.task.cancel()
        if table.task is not None and not table.complete:
            await asyncio.wait([table.task], timeout=patience)
        if table.problem is not None:
            raise table.problem
        return table

    async def _fill(self, key: Key, table: Table, queries: Sequence[Asked]) -> None:
        try:
            for start in range(0, len(queries), _FEW):
                few = queries[start : start + _FEW]
                for one, values in zip(few, await self._measure(key, few), strict=True):
                    if values is not None:
                        table.values[one.row] = values
                table.looked += len(few)
        except Exception as error:
            table.problem = error

    def close(self) -> None:
        """Stop measuring."""
        for table in self._tables.values():
            if table.task is not None:
                table.task.cancel()
