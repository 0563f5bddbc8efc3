"""Where rars keeps what it can make again.

Owns: the cache folder. Ignores what is in it.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$RARS_CACHE``, or ``rars`` in the user's cache folder."""
    chosen = os.environ.get("RARS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rars"
