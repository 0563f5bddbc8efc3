"""All studies of relevance on a tree, by name: one file each, and one line here."""

from __future__ import annotations

from rars.analysis import (
    alignment,
    cases,
    coverage,
    heterogeneity,
    hierarchy,
    replication,
    resolution,
    sensitivity,
)
from rars.analysis.evidence import result as evidence
from rars.analysis.study import Study
from rars.errors import RarsError

STUDIES: dict[str, Study] = {
    "ambiguity": resolution.STUDY,
    "hierarchy": hierarchy.STUDY,
    "heterogeneity": heterogeneity.STUDY,
    "replication": replication.STUDY,
    "sensitivity": sensitivity.STUDY,
    "evidence": evidence.STUDY,
    "alignment": alignment.STUDY,
    "coverage": coverage.STUDY,
    "cases": cases.STUDY,
}
"""In the order in which a reader of the paper meets them."""


def study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise RarsError(f"There is no study {name!r}; choose one of {', '.join(STUDIES)}.")
    return STUDIES[name]
