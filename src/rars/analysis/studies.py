"""All studies of relevance on a tree, by name: one file each, and one line here."""

from __future__ import annotations

from rars.analysis import hierarchy, resolution
from rars.analysis.study import Study
from rars.errors import RarsError

STUDIES: dict[str, Study] = {
    "ambiguity": resolution.STUDY,
    "hierarchy": hierarchy.STUDY,
}
"""In the order in which a reader of the paper meets them."""


def study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise RarsError(f"There is no study {name!r}; choose one of {', '.join(STUDIES)}.")
    return STUDIES[name]
