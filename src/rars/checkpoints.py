"""Where a pretrained model lies.

Owns: reading a name as a folder, a hub name, or the model inside an installed package. Ignores what loads it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from rars.errors import RarsError


def located(name: str) -> str:
    """A folder or hub name as given; ``package:NAME`` is the ``model`` folder of an installed package."""
    kind, _, package = name.partition(":")
    if kind != "package":
        return name
    found = importlib.util.find_spec(package) if package.isidentifier() else None
    if found is None or not found.submodule_search_locations:
        raise RarsError(f"The package {package!r}, which should hold a model, is not installed.")
    return str(Path(found.submodule_search_locations[0]) / "model")
