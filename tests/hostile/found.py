"""What a hunt found stays found: every case that went wrong is a file in ``found/``, tried by the tests.

Owns: those files. One holds its area and the input itself (``given``, from which the area's ``again`` makes
the case), or, where the input is no JSON, the seed and the number of the case. What is long is not stored:
``{"repeat": "ab", "times": 3}`` is ``ababab``, and ``{"join": [...]}`` puts texts together.
"""

from __future__ import annotations

import hashlib
import json
import random
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.hostile import commands, folders, queries, recipes, tables, texts, trainings
from tests.hostile.case import Case

AREAS: dict[str, ModuleType] = {
    "texts": texts,
    "tables": tables,
    "queries": queries,
    "recipes": recipes,
    "folders": folders,
    "commands": commands,
    "trainings": trainings,
}
FOLDER = Path(__file__).with_name("found")
LONGEST = 20_000
"""Characters of an input that is stored as it is."""


def keep(area: str, seed: int, number: int, case: Case, error: str) -> Path:
    """Write a case down; the same one has the same name."""
    known: dict[str, Any] = {"area": area, "error": error[:500]}
    given = None if case.given is None else json.dumps(case.given)
    if given is not None and len(given) <= LONGEST:
        known["given"] = json.loads(given)
    else:
        known |= {"seed": seed, "number": number}
    text = json.dumps(known, indent=2)
    path = FOLDER / f"{area}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    FOLDER.mkdir(exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")
    return path


def read(path: Path) -> Case:
    """The case of a file."""
    known = json.loads(path.read_text(encoding="ascii"))
    area = AREAS[known["area"]]
    if "given" in known:
        case: Case = area.again(_spelled(known["given"]))
        return case
    return next(islice(area.cases(random.Random(known["seed"])), known["number"], None))


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"repeat", "times"}:
        return value["repeat"] * value["times"]
    if value.keys() == {"join"}:
        return "".join(map(_spelled, value["join"]))
    return {key: _spelled(one) for key, one in value.items()}
