"""One experiment on several datasets: each by itself, then their tables side by side as the paper's locales.

Owns: the order of the datasets, and what ends up in ``HOME/NAME/`` beside the folder of each dataset. Ignores
how one dataset's experiment is made (``rars.experiments.order``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import disk
from rars.evaluation import tables
from rars.experiments import order, page
from rars.experiments.order import Order, Outcome, Say
from rars.experiments.processes import Failure, Watch


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcome of each dataset by its name, and all of them together."""

    folder: Path
    parts: Mapping[str, Outcome]
    tables: list[tables.Table]
    findings: list[str]
    failures: list[Failure]
    payload: dict[str, Any]

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables."""
        return tables.html(*self.tables)


def conduct(
    orders: Sequence[Order], *, watch: Watch | None = None, say: Say | None = None
) -> Outcomes:
    """Make the experiment on every dataset in turn, and write the tables of all."""
    speak = say or (lambda text: None)
    parts: dict[str, Outcome] = {}
    for one in orders:
        speak(f"{one.part}: {one.dataset.where}")
        parts[one.part] = order.conduct(one, watch=watch, say=say)
    folder = orders[0].folder.parent
    made = joined({name: part.tables for name, part in parts.items()})
    payload = _payload(parts)
    disk.write_json(folder / "results.json", payload)
    text = [f"# {payload['title']}", "", *(tables.markdown(table) + "\n" for table in made)]
    disk.write_text(folder / "table.md", "\n".join(text))
    disk.write_text(folder / "table.tex", "\n".join(map(tables.latex, made)))
    drawn = [part.folder / "figure.png" for part in parts.values()]
    pictures = [path for path in drawn if path.exists()]
    failures = [one for part in parts.values() for one in part.failures]
    missing = [
        f"{name}, {one}"
        for name, part in parts.items()
        for one in (*map(str, part.failures), *part.results.lacking_sentences)
    ]
    html = page.report(payload, made, pictures, [], None, missing)
    disk.write_text(folder / "report.html", html)
    return Outcomes(folder, parts, made, payload["findings"], failures, payload)


def planned(orders: Sequence[Order]) -> dict[str, Any]:
    """What would be run on each dataset."""
    found = {one.part: order.planned(one) for one in orders}
    cells = [
        cell | {"name": f"{part}, {cell['name']}"}
        for part, payload in found.items()
        for cell in payload["cells"]
    ]
    return next(iter(found.values())) | {"cells": cells}


def joined(parts: Mapping[str, Sequence[tables.Table]]) -> list[tables.Table]:
    """The tables of several datasets, those of one key together."""
    keyed: dict[str, dict[str, tables.Table]] = {}
    for name, listed in parts.items():
        for table in listed:
            keyed.setdefault(table.key, {})[name] = table
    return [tables.together(named) for named in keyed.values()]


def _payload(parts: Mapping[str, Outcome]) -> dict[str, Any]:
    """What all have in common, and each by its name."""
    each = {name: part.payload for name, part in parts.items()}
    first = next(iter(each.values()))
    common = ("experiment", "title", "rars", "size", "changes", "systems", "seeds")
    return {
        **{key: first[key] for key in common},
        "data": {
            "name": ", ".join(each),
            "digest": ", ".join(one["data"]["digest"] for one in each.values()),
            "items": sum(one["data"]["items"] for one in each.values()),
        },
        "learning_rate_given": first["learning_rate_given"],
        "queries": {"all": sum(one["queries"].get("all", 0) for one in each.values())},
        "runs": [
            run | {"label": f"{name}, {run['label']}"}
            for name, one in each.items()
            for run in one["runs"]
        ],
        "seconds": round(sum(one["seconds"] for one in each.values()), 1),
        "findings": [f"{name}: {one}" for name, part in parts.items() for one in part.findings],
        "datasets": each,
    }
