"""All experiments by name."""

from __future__ import annotations

from rars.errors import RarsError
from rars.experiments import (
    depth,
    geometry,
    learning_rate,
    main,
    masks,
    nq320k,
    objectives,
    positives,
    practical,
    sensitivity,
)
from rars.experiments.design import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        main.STUDY,
        objectives.STUDY,
        masks.STUDY,
        geometry.STUDY,
        positives.STUDY,
        *sensitivity.STUDIES,
        depth.STUDY,
        nq320k.STUDY,
        learning_rate.STUDY,
        practical.STUDY,
    )
}
"""In the order in which a reader of the paper meets them."""


def study(name: str) -> Study:
    """The experiment of this name."""
    if name not in STUDIES:
        raise RarsError(f"There is no experiment {name!r}; choose one of {', '.join(STUDIES)}.")
    return STUDIES[name]
