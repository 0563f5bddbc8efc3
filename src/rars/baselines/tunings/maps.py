"""Two linear maps on top of frozen vectors of any embedder, one for queries and one for items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars.baselines.dense import Dense, DenseSettings
from rars.baselines.tuning import Tuning
from rars.config import NoSettings
from rars.data import Dataset
from rars.progress import Advance

if TYPE_CHECKING:
    from rars.identifiers.towers import Held


def _learn(
    settings: DenseSettings,
    dataset: Dataset,
    folder: Path,
    held: Held,
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> dict[str, Any]:
    from rars.identifiers.fitting import ResidualMaps
    from rars.identifiers.towers import tune

    towers = ResidualMaps.of(dataset, settings.opened(), advance=advance)
    report = tune(towers, dataset, settings, held, seed=seed, advance=advance)
    towers.save(folder)
    return report


def _open(
    settings: DenseSettings, dataset: Dataset, folder: Path, *, advance: Advance | None = None
) -> Dense:
    from rars.baselines.maps import mapped_dense

    return mapped_dense(dataset, settings.opened(), folder, advance=advance)


TUNING = Tuning(
    "two linear maps over frozen vectors of any embedder",
    NoSettings,
    _open,
    _learn,
    frozen=True,
    trains="maps over {} vectors",
    defaults={"similarity": "cosine"},
)
