"""Reading judgments as TREC keeps them: query, a number that nobody reads, item, grade, one judgment a line.

Owns: such a file as a table of our own columns, values as text. Ignores what they mean.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from rars.data.problems import Problems
from rars.data.tables import Meter, Source, open_bytes

_COLUMNS = {"query_id": 0, "item_id": 2, "grade": 3}
_VALUES = 4
_ESCAPED = re.compile("[\udc80-\udcff]")


def read_qrels(path: Path, problems: Problems, *, meter: Meter | None = None) -> Source | None:
    """The judgments of a file without a header; None if it holds no line at all."""
    kept: list[list[str]] = []
    lines: list[int] = []
    before = len(problems)
    with open_bytes(path, meter) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape")
        for line, said in enumerate(text, 1):
            values = said.split()
            if _ESCAPED.search(said):
                problems.add(path, "broken encoding: not UTF-8", row=line)
            elif len(values) == _VALUES:
                kept.append(values)
                lines.append(line)
            elif values:
                message = f"{len(values)} values where qrels have {_VALUES}: query, 0, item, grade"
                problems.add(path, message, row=line)
    if not kept:
        return None
    columns = list(zip(*kept, strict=True))
    table = pa.table({name: pa.array(columns[at]) for name, at in _COLUMNS.items()})
    numbers = np.array(lines, np.int64)
    return Source(path, table, whole=len(problems) == before, lines=lambda: numbers)
