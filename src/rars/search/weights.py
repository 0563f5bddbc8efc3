"""The settings of the rule ``hybrid`` that were chosen for a model.

Owns: the file they are kept in, beside the versions of the index: they hold for every version of the
catalogue, as long as the model stays. Ignores how they are chosen (``rars.search.tuning``).
"""

from __future__ import annotations

from typing import Any

from rars import disk
from rars.errors import RarsError
from rars.runs import Run
from rars.search.index import home
from rars.search.rules import HybridSettings

FILE = "hybrid.json"


def chosen(run: Run, model: str) -> HybridSettings | None:
    """The settings chosen for a model (its digest), if any were."""
    path = home(run) / FILE
    if not path.exists():
        return None
    found = disk.read_json(path)
    if not isinstance(found, dict) or found.get("model") != model:
        return None
    try:
        return HybridSettings.model_validate(found["settings"])
    except (KeyError, ValueError) as error:
        raise RarsError(f"{path} does not hold the settings of the rule hybrid.") from error


def keep(run: Run, model: str, settings: HybridSettings, **facts: Any) -> None:
    """Use these settings from now on; ``facts`` say where they come from."""
    told = {"model": model, "settings": settings.model_dump(), **facts}
    disk.write_json(home(run) / FILE, told)
