"""Open any trained run for search.

Owns: which kind of system a run is. Each kind brings libraries of its own: only those that are needed are
imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rars.errors import RarsError
from rars.runs import Run
from rars.systems import System

if TYPE_CHECKING:
    from rars.search.precision import Precision


def open_system(
    folder: str | Path,
    *,
    version: str | None = None,
    verify: bool = True,
    precision: Precision = "float32",
    device: str = "cpu",
) -> System:
    """Any trained run; what only a generative one has is refused for others."""
    if Run.open(folder).recipe().generative:
        from rars.search.retriever import Retriever

        return Retriever.load(
            folder, version=version, verify=verify, precision=precision, device=device
        )
    for option, given in (
        ("version", version is not None),
        ("precision", precision != "float32"),
        ("device", device != "cpu"),
    ):
        if given:
            raise RarsError(
                f"--{option}: {folder} is no generative retriever and has no use for it."
            )
    from rars.baselines.running import Baseline

    return Baseline.load(folder, verify=verify)
