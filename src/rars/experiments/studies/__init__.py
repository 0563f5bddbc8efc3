"""All experiments by name: one small file each.

A study's file owns what is compared (conditions, contrasts) and how its tables and figure look. It ignores
how runs are made and tested.
"""

from __future__ import annotations

from rars.errors import RarsError
from rars.experiments.design import Study
from rars.experiments.studies import (
    claim,
    demo,
    depth,
    geometry,
    learning_rate,
    main,
    masks,
    nq320k,
    objectives,
    parts,
    positives,
    practical,
    regime,
    rivals,
    sensitivity,
)

STUDIES: dict[str, Study] = {
    "main": main.STUDY,
    "objectives": objectives.STUDY,
    "masks": masks.STUDY,
    "geometry": geometry.STUDY,
    "positives": positives.STUDY,
    "tree-weight": sensitivity.TREE_WEIGHT,
    "siblings": sensitivity.SIBLINGS,
    "temperature": sensitivity.TEMPERATURE,
    "head-rank": sensitivity.HEAD_RANK,
    "hyperparameters": sensitivity.ALL,
    "depth": depth.STUDY,
    "nq320k": nq320k.STUDY,
    "learning-rate": learning_rate.STUDY,
    "claim": claim.STUDY,
    "regime": regime.STUDY,
    "practical": practical.STUDY,
    "rivals": rivals.STUDY,
    "parts": parts.STUDY,
    "demo": demo.STUDY,
}
"""In the order in which a reader of the paper meets them; those from ``learning-rate`` on are not in it."""


def study(name: str) -> Study:
    """The experiment of this name."""
    if name not in STUDIES:
        raise RarsError(f"There is no experiment {name!r}; choose one of {', '.join(STUDIES)}.")
    return STUDIES[name]
