"""The report of an experiment: tables, figures, findings, what was run and what failed, in one HTML file.

Owns: what goes into the report; ``templates/report.html`` is its look. It needs no network, follows the
reader's light or dark setting, and prints well. Ignores how numbers were computed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rars.evaluation.markup import templates
from rars.evaluation.tables import Table
from rars.experiments import learning_rate
from rars.experiments.findings import BETTER, WORSE
from rars.experiments.learning_rate import Curve

_KINDS = {BETTER: "better", WORSE: "worse"}


def report(
    payload: Mapping[str, Any],
    tables: Sequence[Table],
    pictures: Sequence[Path],
    curves: Sequence[Curve],
    tuning: Path | None,
    failures: Sequence[str],
) -> str:
    """The whole page."""
    page = templates("rars.experiments", "rars.evaluation").get_template("report.html")
    return page.render(
        payload=payload,
        facts=_facts(payload),
        tables=tables,
        pictures=[_encoded(path) for path in pictures],
        findings=[_parted(one) for one in payload["findings"]],
        rates=learning_rate.table(curves) if curves else None,
        notes=learning_rate.notes(curves),
        tuning=_encoded(tuning) if tuning else "",
        failures=failures,
    )


def _facts(payload: Mapping[str, Any]) -> dict[str, Any]:
    data, asked = payload["data"], payload["queries"].get("all")
    return {
        "experiment": payload["experiment"],
        "dataset": f"{data['name']}, {data['items']:,} items",
        **({"test queries": f"{asked:,}"} if asked else {}),
        "size": payload["size"],
        "seeds": payload["seeds"],
        "rars": payload["rars"],
        **({"changed settings": ", ".join(payload["changes"])} if payload["changes"] else {}),
    }


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _parted(sentence: str) -> tuple[str, str, str, str]:
    """What stands before the verdict, the verdict, how it is coloured, and what stands after."""
    for verdict, kind in _KINDS.items():
        before, found, after = sentence.rpartition(verdict)
        if found:
            return before, verdict, kind, after
    return sentence, "", "", ""
