"""Turned vectors of a catalogue: in memory where they fit easily, else in a file.

Owns: where they are. Ignores the maps (``maps``), which turn them row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rars import artifacts, disk
from rars.arrays import Points
from rars.errors import RarsError
from rars.identifiers.maps import ROWS, Maps
from rars.places import cache_folder
from rars.scale.shards import spans

KIND = "turned vectors"
EASILY = 2**30
"""Bytes that may be held in memory."""


def turned_items(
    vectors: Points, maps: Maps, source: Sequence[str], *, cache: Path | None = None
) -> Points:
    """The vectors of items through their map, (n, dim); ``source`` says whose vectors they are."""
    if vectors.nbytes <= EASILY:
        return maps.items(vectors)
    digest = disk.digest_json([*source, maps.digest])
    folder = (cache or cache_folder()) / "turned" / digest[:32]
    try:
        return artifacts.opening(folder, kind=KIND).array("vectors")
    except RarsError:  # absent, or damaged: computed again
        pass
    with artifacts.writing(folder, kind=KIND) as draft:
        turned = draft.map_array("vectors", np.float32, vectors.shape)
        for start, stop in spans(len(vectors), ROWS):
            turned[start:stop] = maps.items(vectors[start:stop])
        turned.flush()
    return artifacts.opening(folder, kind=KIND, verify=False).array("vectors")
